/** Criteria that are declared and can be run: commands whose exit code decides, whatever a model claims. */
import { toolNode } from '../../agent/index.ts'
import type { NodeContext } from '../../graph/index.ts'
import { HoldfastError, type Json, type Message, type ToolResultPart } from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'

export interface Criterion {
  readonly name: string
  /** Runs in the working folder, as execute_command does. Exit code 0: it is met. */
  readonly command: string
}

export interface CriterionResult {
  readonly name: string
  readonly isMet: boolean
  /** The end of its output. */
  readonly output: string
}

const COMMAND = 'execute_command'
const LONGEST_OUTPUT = 2000

/** Throws if a criterion could not be run. */
export function checkCriteria(criteria: readonly Criterion[], tools: readonly Tool[]): void {
  if (criteria.length === 0) return
  const bad = criteria.find((each) => typeof each?.name !== 'string' || typeof each.command !== 'string')
  if (bad !== undefined)
    throw new HoldfastError('invalid-option', {
      message: `Each of the criteria needs a name and a command: { name: 'tests', command: 'npm test' }.`,
    })
  if (!tools.some(({ name }) => name === COMMAND))
    throw new HoldfastError('invalid-option', {
      message: `The criteria are commands, and the tools have no ${COMMAND}. Add it: loadTools({ cwd, toolIds: [..., '${COMMAND}'] }).`,
    })
}

/** Runs them in their order, under the rules of tools; each may run again after a crash. You declared them, so nobody is asked. */
export async function runCriteria(
  criteria: readonly Criterion[],
  tools: readonly Tool[],
  context: NodeContext,
): Promise<readonly CriterionResult[]> {
  const command = tools.find(({ name }) => name === COMMAND)
  if (criteria.length === 0 || command === undefined) return []
  const runner = toolNode({ tools: [{ ...command, approve: 'never', replay: 'safe' }], toolConcurrency: 1 })
  const calls = criteria.map((criterion, at) => ({
    type: 'tool-call' as const,
    callId: `${context.task}-${context.turn}-criterion-${at + 1}`,
    tool: COMMAND,
    args: { command: criterion.command },
  }))
  const messages: readonly Message[] = [
    { role: 'user', content: 'Check the criteria.', by: 'program' },
    { role: 'assistant', content: calls },
  ]
  // A turn of its own: a criterion that was cancelled says nothing, and runs again when the task is resumed.
  const results = (await context.run(`criteria-${context.turn}`, runner, messages)).flatMap((message) =>
    message.role === 'tool' ? message.content : [],
  )
  return criteria.map(({ name }, at) =>
    resultOf(
      name,
      results.find(({ callId }) => callId === calls[at]?.callId),
    ),
  )
}

function resultOf(name: string, result: ToolResultPart | undefined): CriterionResult {
  const output = textOf(result?.output ?? 'It was not run.')
  // A tool of your own may return the exit code of a command that failed, and throw nothing.
  const { exitCode = 0 } = Object(result?.output) as { readonly exitCode?: unknown }
  const isMet = result?.status === 'ok' && exitCode === 0
  return { name, isMet, output: output.slice(-LONGEST_OUTPUT).toWellFormed() }
}

/** The words of the command where there are some: a model reads them better than JSON. */
function textOf(output: Json): string {
  if (typeof output === 'string') return output
  const { stdout, stderr } = (output ?? {}) as Readonly<Record<string, unknown>>
  const words = [stdout, stderr].filter((text) => typeof text === 'string' && text.trim() !== '')
  return words.length === 0 ? JSON.stringify(output) : words.join('\n').trim()
}
