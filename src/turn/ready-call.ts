/** A call of a round that may start. */
import { isDeepStrictEqual } from 'node:util'
import { chain, type MaybePromise } from '../base/index.ts'
import type { ArgumentKeys, Call } from '../journal/index.ts'
import type { Json } from '../protocol/index.ts'
import {
  argumentsKey,
  type Prepared,
  prepareCall,
  type RequestedCall,
  shownInput,
  type Tool,
  toJson,
} from '../tool/index.ts'
import type { TurnRun } from './turn-run.ts'

export interface ReadyCall extends ArgumentKeys {
  readonly call: Call
  readonly tool: Tool
  readonly input: unknown
  /** Other inputs may have the same key: it holds more than JSON shows, such as a class instance. */
  readonly isOpaque?: boolean
}

/** The prepared call. Where a person was asked about it in this process, its input is the one they were asked about. */
export function preparedCall(
  run: TurnRun,
  call: RequestedCall,
  tools: readonly Tool[],
): MaybePromise<Prepared> {
  // Malformed arguments are quoted, in part: that part may begin or end inside a secret.
  const quotable = call.malformed === undefined ? call : { ...call, args: run.redacted(call.args) }
  return chain(run.within(prepareCall(quotable, tools)), (prepared) => {
    const kept = prepared.ok ? run.scope.callArguments.inputOf(call) : undefined
    return prepared.ok && kept !== undefined ? { ...prepared, input: kept.input } : prepared
  })
}

/** The keys are of redacted arguments: the same in every process, without secrets. */
export function readyCall(
  run: TurnRun,
  call: Call,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
): ReadyCall {
  const keyOf = (args: Json): string => argumentsKey(tool.name, run.redacted(args))
  const argsKey = keyOf(call.args)
  if (isDeepStrictEqual(input, call.args)) return { call, tool, input, argsKey }
  const json = toJson(input)
  const isJson = !(json instanceof Error) && isDeepStrictEqual(input, json)
  const inputKey = keyOf(isJson ? json : shownInput(input))
  const isOpaque = !isJson && run.scope.callArguments.inputOf(call) === undefined
  return {
    ...{ call, tool, input, argsKey },
    ...(inputKey === argsKey ? {} : { inputKey }),
    ...(isOpaque ? { isOpaque } : {}),
  }
}

/** True unless the schema makes the same of the call now as when it was started, or asked about. */
export function isReceivedOtherwise(
  call: Call,
  { argsKey, inputKey = argsKey, isOpaque = false }: Pick<ReadyCall, 'argsKey' | 'inputKey' | 'isOpaque'>,
): boolean {
  const before = call.inputKey ?? call.argsKey
  return before !== undefined && (before !== inputKey || isOpaque)
}
