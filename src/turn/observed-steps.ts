/** Model calls and tools as observers see them. */
import type { ObservedRequest, ObservedStep } from '../loop/index.ts'
import { type ModelOptions, type ModelReply, type ModelRequest, streamModel } from '../model/index.ts'
import { defined, type Json } from '../protocol/index.ts'
import { type CallEnd, type CallRun, runCall } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'
import type { TurnRun } from './turn-run.ts'

export function observedModel(run: TurnRun, source: ModelSource, request: ModelRequest): Promise<ModelReply> {
  if (run.scope.telemetry === undefined) return streamModel(request)
  return run.observed(
    () => modelStep(run, source, request),
    () => streamModel(request),
  )
}

function modelStep(run: TurnRun, { name }: ModelSource, request: ModelRequest): ObservedStep {
  const { turn, iteration } = run.open
  const { model } = request
  return {
    kind: 'model',
    turn,
    iteration,
    model: name,
    provider: model.provider,
    modelId: model.modelId,
    request: observedRequest(run, request),
  }
}

/**
 * The request without secrets (R19): a system prompt, made by a function of the program, may contain one that no entry
 * does. Messages are redacted when an observer reads them: they may be long, and most observers do not.
 */
function observedRequest(run: TurnRun, request: ModelRequest): ObservedRequest {
  const { system, messages, tools } = request
  const settings = withoutKeys(request.settings)
  const safe = <T>(value: T): T => run.redacted(value as Json) as T
  return {
    ...defined({ system: safe(system) }),
    get messages() {
      return safe(messages)
    },
    get tools() {
      return safe(tools)
    },
    settings: safe(settings),
  }
}

/** A key or a password may be too short to be redacted. */
function withoutKeys(settings: ModelOptions): ObservedRequest['settings'] {
  const { headers: _, providerOptions: __, apiKey: ___, baseURL, ...rest } = settings
  return { ...rest, ...defined({ baseURL: baseURL?.replace(/^(\w+:\/\/)[^/?#]*@/, '$1') }) }
}

export function observedCall(run: TurnRun, one: CallRun): Promise<CallEnd> {
  if (run.scope.telemetry === undefined) return runCall(one)
  const { tool, context } = one
  const { turn, callId } = context
  const step = (): ObservedStep => ({
    kind: 'tool',
    turn,
    callId,
    name: tool.name,
    description: tool.description,
    args: run.redacted(run.call(callId)?.args ?? null),
  })
  return run.observed(step, () => runCall(one))
}
