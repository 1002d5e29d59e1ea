/** A working folder for a test, with its tools, and the artifacts of one conversation. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemTimer } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { memoryArtifacts, standInContext } from '../../src/testing/tool-context.ts'
import { artifacts, prepareCall, runCall, type Tool, type ToolContext } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'

export interface Box {
  /** Holds the working folder, and whatever is outside of it. */
  readonly base: string
  readonly root: string
  readonly context: ToolContext
  readonly tool: (name: string) => Tool
  /** Checks the arguments and runs the call, as a turn does: `status: output`, or `status: error`. */
  readonly call: (name: string, args: JsonObject) => Promise<string>
}

/** Removed when the test has finished. */
export async function box(): Promise<Box> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-toolbox-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'root')
  mkdirSync(root)
  return boxAt(base, root)
}

async function boxAt(base: string, root: string): Promise<Box> {
  const tools = await loadTools({ cwd: root })
  const context = standInContext({ artifacts: artifacts(memoryArtifacts()) })
  let calls = 0
  const call = async (name: string, args: JsonObject): Promise<string> => {
    calls += 1
    const callId = `call_${calls}`
    const prepared = await prepareCall({ callId, tool: name, args }, tools)
    if (!prepared.ok) return `refused: ${JSON.stringify(prepared)}`
    const own = { ...context, callId, idempotencyKey: callId }
    const end = await runCall({
      tool: prepared.tool,
      input: prepared.input,
      context: own,
      timer: systemTimer,
    })
    if (end.kind !== 'settled') return end.kind
    const { error } = end.output as { readonly error?: string }
    return `${end.status}: ${typeof end.output === 'string' ? end.output : (error ?? JSON.stringify(end.output))}`
  }
  const tool = (name: string): Tool => tools.find((each) => each.name === name) as Tool
  return { base, root, context, tool, call }
}
