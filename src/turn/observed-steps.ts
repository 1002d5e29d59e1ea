/** Model calls and tools as observers see them. */
import type { ObservedRequest, ObservedStep } from '../loop/index.ts'
import { type ModelReply, type ModelRequest, streamModel } from '../model/index.ts'
import { defined, type JsonObject } from '../protocol/index.ts'
import { type CallEnd, type CallRun, runCall } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'
import type { TurnRun } from './turn-run.ts'

export function observedModel(run: TurnRun, source: ModelSource, request: ModelRequest): Promise<ModelReply> {
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
    get request() {
      return observedRequest(run, request)
    },
  }
}

/** A system prompt, made by a function of the program, may contain a secret that no entry does (R19). */
function observedRequest(
  run: TurnRun,
  { system, messages, tools, settings: all }: ModelRequest,
): ObservedRequest {
  const { headers: _, providerOptions: __, ...settings } = all
  const request: ObservedRequest = { ...defined({ system }), messages, tools, settings }
  return run.redacted(request as unknown as JsonObject) as unknown as ObservedRequest
}

export function observedCall(run: TurnRun, one: CallRun): Promise<CallEnd> {
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
