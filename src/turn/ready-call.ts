/** A call of a round that may start. */
import { isDeepStrictEqual } from 'node:util'
import type { ArgumentKeys, Call } from '../journal/index.ts'
import type { Json } from '../protocol/index.ts'
import { argumentsKey, type Tool, toJson } from '../tool/index.ts'
import type { TurnRun } from './turn-run.ts'

export interface ReadyCall extends ArgumentKeys {
  readonly call: Call
  readonly tool: Tool
  readonly input: unknown
}

/** The keys are of redacted arguments: the same in every process, without secrets. */
export function readyCall(
  run: TurnRun,
  call: Call,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
): ReadyCall {
  const keyOf = (args: Json): string => argumentsKey(tool.name, run.redacted(args))
  const argsKey = keyOf(call.args)
  const received = isDeepStrictEqual(input, call.args) ? call.args : toJson(input)
  // What is no JSON has no key: such a call is known by what the model wrote.
  const inputKey = received === call.args || received instanceof Error ? argsKey : keyOf(received)
  return { call, tool, input, argsKey, ...(inputKey === argsKey ? {} : { inputKey }) }
}

/** True if the schema makes other arguments of the call now than it did when the call was started, or asked about. */
export function isReceivedOtherwise(call: Call, { argsKey, inputKey = argsKey }: ArgumentKeys): boolean {
  const before = call.inputKey ?? call.argsKey
  return before !== undefined && before !== inputKey
}
