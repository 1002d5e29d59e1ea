/** Calls of the tools of a working folder, without a turn and without a test runner. */
import { systemTimer } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { fakeToolContext } from '../../src/testing/tool-context.ts'
import { prepareCall, runCall, type ToolContext } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'

/** Checks the arguments and runs the call, as a turn does: `status: output`, or `status: error`. */
export type Call = (tool: string, args: JsonObject) => Promise<string>

export async function callerOf(root: string, context: ToolContext = fakeToolContext()): Promise<Call> {
  const tools = await loadTools({ cwd: root })
  let calls = 0
  return async (name, args) => {
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
}
