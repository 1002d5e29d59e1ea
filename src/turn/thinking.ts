/**
 * One model call, with its retries and fallbacks. Every attempt is in the journal: an attempt that fails ends with a
 * durable `model.end` that says why and what is tried next, before it is tried.
 */
import {
  afterFailure,
  ModelFailure,
  type ModelReply,
  type ModelRequest,
  streamModel,
  type ToolSpec,
} from '../model/index.ts'
import { HoldfastError, type JsonObject } from '../protocol/index.ts'
import type { ModelSource } from './definition.ts'
import { endTurn } from './ending.ts'
import { limitReached } from './limits.ts'
import { dataOf, type Play } from './play.ts'
import type { Batch } from './scope.ts'

const RETRIES = 2
const MAX_RETRY_WAIT_MS = 60_000

export async function* think(play: Play): AsyncGenerator<Batch, void> {
  takeSteering(play)
  if (await endedByLimit(play)) return
  const iteration = play.open.iteration + 1
  const { models } = play.scope.definition
  for (let model = 0, attempt = 1; ; attempt++) {
    const source = models[model]
    if (source === undefined) throw noModel()
    play.draft.say('model.start', { model: source.name, iteration, ...(attempt === 1 ? {} : { attempt }) })
    yield* play.commit('model')
    yield* hearSteering(play)
    const reply = await askModel(play, source)
    if (!(reply instanceof ModelFailure)) {
      await takeReply(play, reply)
      return
    }
    if (play.signal.aborted) {
      sayAborted(play, source, reply)
      return
    }
    const { retries = RETRIES, maxRetryWaitMs: maxWaitMs = MAX_RETRY_WAIT_MS } = source.settings
    const step = afterFailure(reply, { attempt, retries, maxWaitMs })
    const isLast = step.next === 'fallback' && model + 1 >= models.length
    sayFailed(play, source, { failure: reply, step: isLast ? { next: 'fail' } : step })
    if (isLast) {
      await endTurn(play, 'failed', { error: errorOf(reply) })
      return
    }
    if (step.next === 'fallback') {
      model += 1
      attempt = 0
    } else {
      yield* play.commit('wait')
      const { timer, leave } = play.scope
      const signal = leave === undefined ? play.stop : AbortSignal.any([play.stop, leave])
      await timer.wait(step.waitMs, { signal })
      if (play.signal.aborted) return
    }
  }
}

/** What was said to the running turn is heard before the model is asked again. */
function takeSteering(play: Play): void {
  for (const entry of play.inbox) {
    if (entry.type === 'input' && entry.key !== undefined && dataOf(entry, 'input').steer)
      play.draft.say('take', { as: 'message' }, [entry.key])
  }
}

/** What the receipt of the last batch has shown is heard too: the model has not been asked yet. */
function* hearSteering(play: Play): Generator<Batch, void> {
  while (hasSteering(play)) {
    takeSteering(play)
    yield* play.commit('model')
  }
}

async function endedByLimit(play: Play): Promise<boolean> {
  const { iterations = 1 } = play.limits
  const reached = limitReached(play)
  if (reached !== undefined) {
    play.draft.say('warning', { code: reached.limit, message: reached.message })
    await endTurn(play, 'limit', { limit: reached.limit })
  } else if (play.open.iteration >= iterations) {
    const message = `The model was asked ${play.open.iteration} times and still wants to go on; the limit is ${iterations}.`
    play.draft.say('warning', { code: 'max-iterations', message })
    await endTurn(play, 'max-iterations', { limit: 'iterations' })
  } else return false
  return true
}

async function askModel(play: Play, source: ModelSource): Promise<ModelReply | ModelFailure> {
  const { scope } = play
  try {
    const [model, tools, info] = await Promise.all([source.resolve(), play.tools(), play.info()])
    const system = await scope.definition.system(info)
    const { timeoutMs, prices, ...settings } = source.settings
    const request: ModelRequest = {
      model,
      ...(system === undefined ? {} : { system }),
      messages: await scope.view.messages(),
      tools: tools.map(specOf),
      settings,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(prices === undefined ? {} : { prices }),
      signal: play.stop,
      ids: scope.ids,
      timer: scope.timer,
      onDelta: ({ type, ...data }) => scope.emit(type, data),
    }
    return await streamModel(request)
  } catch (error) {
    // It was passed on to somebody else: whatever went wrong here is nobody's business any more.
    if (play.stop.aborted && !play.signal.aborted) await scope.mayAct()
    return error instanceof ModelFailure ? error : misconfigured(error)
  }
}

async function takeReply(play: Play, { content, finish, model, usage }: ModelReply): Promise<void> {
  play.draft.say('model.end', { content, finish, model, usage })
  if (finish === 'length')
    play.draft.say('warning', {
      code: 'length',
      message: 'The reply was cut off: it reached the most tokens that a reply may have.',
    })
  if (play.open.calls.length > 0 || play.signal.aborted || hasSteering(play)) return
  await endTurn(play, 'stop')
}

function hasSteering(play: Play): boolean {
  return play.inbox.some((entry) => entry.type === 'input' && dataOf(entry, 'input').steer)
}

/** What had arrived stays: the person has read it. */
function sayAborted(play: Play, { name }: ModelSource, { partial, usage }: ModelFailure): void {
  play.draft.say('model.end', { content: partial, finish: 'aborted', model: name, usage })
}

function sayFailed(
  play: Play,
  { name }: ModelSource,
  { failure, step }: { failure: ModelFailure; step: { readonly next: string; readonly waitMs?: number } },
): void {
  const error: JsonObject = { ...failure.toData(), ...step }
  play.draft.say('model.end', { content: [], finish: 'error', model: name, usage: failure.usage, error })
}

/** Models, tools and prompts are looked up here, and any of them may not be there. */
function misconfigured(error: unknown): ModelFailure {
  const message = error instanceof Error ? error.message : String(error)
  return new ModelFailure('invalid', { message, cause: error })
}

function errorOf(failure: ModelFailure): JsonObject {
  const { cause } = failure
  return { code: HoldfastError.is(cause) ? cause.code : 'model', ...failure.toData() }
}

function specOf({ name, description, parameters }: ToolSpec): ToolSpec {
  return { name, description, parameters }
}

function noModel(): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: 'There is no model to ask. Give the agent a `model`.',
  })
}
