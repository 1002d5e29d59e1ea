/** Calls of file tools that a flow makes itself, under the rules of tools: reading, listing, and saving a report. */
import { toolNode } from '../agent/index.ts'
import type { NodeContext } from '../graph/index.ts'
import type { JsonObject, ToolResultPart } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { loadTools } from '../toolbox/index.ts'

/** Tools of a folder that run without a question: the caller of the flow asked for what they do. */
export async function fileTools(cwd: string, toolIds: readonly string[]): Promise<readonly Tool[]> {
  return (await loadTools({ cwd, toolIds })).map((tool): Tool => ({ ...tool, approve: 'never' }))
}

export interface FileCalls {
  readonly tools: readonly Tool[]
  readonly calls: readonly { readonly tool: string; readonly args: JsonObject }[]
  /** Tells several rounds of one node apart. */
  readonly key?: string
}

/** Runs calls under the rules of tools. Results are in the order of the calls. */
export async function callFiles(
  context: NodeContext,
  { tools, calls, key = 'files' }: FileCalls,
): Promise<readonly (ToolResultPart | undefined)[]> {
  const parts = calls.map((call, at) => ({
    type: 'tool-call' as const,
    callId: `${context.task}-${key}-${at + 1}`,
    ...call,
  }))
  const added = await context.run(key, toolNode({ tools }), [
    { role: 'user', content: 'Look at the files.', by: 'program' },
    { role: 'assistant', content: parts },
  ])
  const results = added.flatMap((message) => (message.role === 'tool' ? message.content : []))
  return parts.map(({ callId }) => results.find((result) => result.callId === callId))
}

/** Writes a report, or throws. An earlier one is read first: a tool overwrites nothing that was not read. */
export async function saveReport(
  context: NodeContext,
  {
    tools,
    path,
    content,
  }: { readonly tools: readonly Tool[]; readonly path: string; readonly content: string },
): Promise<void> {
  await callFiles(context, { tools, calls: [{ tool: 'read_file', args: { path } }], key: 'earlier' })
  const write = { tool: 'write_to_file', args: { path, content } }
  const [written] = await callFiles(context, { tools, calls: [write] })
  if (written?.status === 'ok') return
  throw new Error(`The report cannot be written to ${path}: ${resultText(written)}`)
}

/** The text of a result, or why the call failed. */
export function resultText(result: ToolResultPart | undefined): string {
  const { output } = result ?? { output: 'It was not run.' }
  if (typeof output === 'string') return output
  const { error } = Object(output) as { readonly error?: unknown }
  return result?.status !== 'ok' && typeof error === 'string' ? error : JSON.stringify(output)
}
