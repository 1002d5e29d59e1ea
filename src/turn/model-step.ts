/**
 * One model call, with its retries and fallbacks. Every attempt is in the journal: an attempt that fails ends with a
 * durable `model.end` that says why and what is tried next, before it is tried.
 */
import { chain, debugThrown, isPromise, type MaybePromise } from '../base/index.ts'
import type { ModelError } from '../hook/index.ts'
import type { Batch } from '../loop/index.ts'
import { dataOf, isLarge } from '../loop/index.ts'
import {
  hasFiles,
  type LanguageModel,
  ModelFailure,
  type ModelReply,
  type ModelRequest,
  shownFiles,
  streamModel,
  type ToolSpec,
  withRefusedFiles,
} from '../model/index.ts'
import {
  type AssistantPart,
  type Entry,
  type EntryData,
  HoldfastError,
  INPUT_HOOKS,
  type JsonObject,
  type Message,
  quote,
} from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { isWatched } from './context.ts'
import type { ModelSource } from './definition.ts'
import { endTurn } from './ending.ts'
import { hearPerson } from './grounding.ts'
import { groundingContext } from './grounding-context.ts'
import { blocksMessage, configuredPrompt, withRules } from './grounding-prompt.ts'
import { runPhase } from './hooks.ts'
import { lastOf } from './last-of.ts'
import { limitReached } from './limits.ts'
import { NO_MODEL, notAsked, requestSettings, stepAfter } from './model-retry.ts'
import {
  canMakeRoom,
  fittingMessages,
  isHalfFull,
  NO_ROOM,
  overflowsIn,
  type PromptParts,
  withLength,
} from './overflow.ts'
import { beforeModel, finish, finishAtLimit } from './phases.ts'
import { changed } from './prompt-edit.ts'
import { redactDeltas } from './redact-deltas.ts'
import { goesOnWithout, refusedBy, sayRefused, warnIfBeyond } from './refused-files.ts'
import { makeRoom } from './summary.ts'
import type { TurnRun } from './turn-run.ts'
import { type WireIds, wireIds } from './wire-ids.ts'

/** One attempt. What comes after one that failed is in the session, so a retry holds after a crash and a pause too. */
export async function* runModelStep(run: TurnRun): AsyncGenerator<Batch, void> {
  takeSteering(run)
  if (isAtLimit(run)) {
    yield* endByLimit(run)
    return
  }
  // Whoever has none of these does not wait for them.
  if (isWatched(run.scope.definition)) yield* makeRoom(run)
  if (run.scope.definition.grounding.entities.size > 0) await hearPerson(run)
  if (!run.hooks.isEmpty) yield* beforeModel(run)
  if (run.open.stop !== undefined || run.signal.aborted) return
  if (isSilent(run)) {
    await endTurn(run, 'failed', { error: NOTHING_TO_SAY })
    return
  }
  if (run.open.retry?.until !== undefined) yield* waitToRetry(run)
  if (run.signal.aborted) return
  const { index, attempt } = nextAttempt(run)
  const { models } = run.scope.definition
  const source = models[index]
  if (source === undefined) throw noModel()
  const early = isLookedUpEarly(run) ? yield* lookUpEarly(run) : undefined
  const iteration = run.open.iteration + 1
  run.draft.append('model.start', { model: source.name, iteration, ...(attempt === 1 ? {} : { attempt }) })
  yield* run.commit('model')
  // Hooks are told of what was said before the model is.
  if (!run.hooks.has(...INPUT_HOOKS) && hasSteering(run)) yield* hearSteering(run)
  run.sent = undefined
  const found = early ?? lookUp(run)
  const reply = await askModel(run, source, isPromise(found) ? await found : found)
  if (!(reply instanceof ModelFailure)) {
    const { content } = reply
    takeReply(run, {
      ...reply,
      content: run.secrets.isEmpty ? content : await withKnownTools(run, content),
    })
    // It may have to be cut, and its calls with it.
    if (isLarge(reply.content)) yield* run.commit('on')
  } else if (run.signal.aborted) sayAborted(run, source, reply)
  else {
    const goesOn = await goesOnWithout(run, reply)
    const isFinal = index + 1 >= models.length
    const isAgain = goesOn || (isFinal && (await canMakeRoom(run, reply)))
    const step = isAgain ? AGAIN : stepAfter(reply, source, attempt)
    const isLast = step.next === 'fallback' && isFinal
    const { next } = isLast ? { next: 'fail' } : step
    sayFailed(run, source, { failure: reply, step: isLast ? { next } : step })
    if (goesOn) sayRefused(run, source, reply)
    const { kind, message } = reply
    yield* tellFailed(run, {
      message: run.secrets.ended(message),
      model: source.name,
      kind,
      next,
      cause: reply.cause ?? reply,
    })
    if (isLast) {
      debugThrown(`The model ${source.name}`, reply)
      run.failedBy(reply.cause ?? reply)
      await endTurn(run, 'failed', { error: errorOf(run, reply) })
    }
  }
}

/** Without what was refused, or was too much, the request is another one. */
const AGAIN = { next: 'retry', waitMs: 0 } as const

/** Which model is asked, and for which time. Models may have changed since the last attempt; then those are asked. */
function nextAttempt(run: TurnRun): { readonly index: number; readonly attempt: number } {
  const { retry } = run.open
  const { models } = run.scope.definition
  if (retry === undefined) return { index: 0, attempt: 1 }
  const { model, attempt, skipped = 0 } = retry
  const isGivenUp = attempt === 0
  const stood = isGivenUp ? skipped - 1 : skipped
  const failed = models[stood]?.name === model ? stood : models.findIndex(({ name }) => name === model)
  if (failed < 0) return { index: 0, attempt: 1 }
  if (!isGivenUp) return { index: failed, attempt }
  return { index: failed + 1 < models.length ? failed + 1 : 0, attempt: 1 }
}

/** What is left of the wait before the next attempt. */
async function* waitToRetry(run: TurnRun): AsyncGenerator<Batch, void> {
  const { timer, clock, leave } = run.scope
  const left = (run.open.retry?.until ?? 0) - clock.now()
  if (left <= 0) return
  if (!run.draft.isEmpty) yield* run.commit('wait')
  await timer.wait(left, { signal: leave === undefined ? run.stop : AbortSignal.any([run.stop, leave]) })
  // A driver that wants to let go does so here: the next attempt is not begun.
  if (leave?.aborted && !run.stop.aborted) yield* run.commit('wait')
}

const NOTHING_TO_SAY = {
  code: 'nothing-to-say',
  message: 'Nothing was said that a model could answer. Say something first.',
}

function isSilent({ session: { window } }: TurnRun): boolean {
  return window.messages === 0 && window.summary === undefined
}

/** What was said to the running turn is heard before the model is asked again. */
function takeSteering(run: TurnRun): void {
  for (const entry of run.inbox) {
    if (entry.key !== undefined && isSteering(entry)) run.draft.append('take', { as: 'message' }, [entry.key])
  }
}

/** What the receipt of the last batch has shown is heard too: the model has not been asked yet. */
function* hearSteering(run: TurnRun): Generator<Batch, void> {
  while (hasSteering(run)) {
    takeSteering(run)
    yield* run.commit('model')
  }
}

function isAtLimit(run: TurnRun): boolean {
  const { iterations = 1 } = run.limits
  return run.open.iteration >= iterations || limitReached(run) !== undefined
}

async function* endByLimit(run: TurnRun): AsyncGenerator<Batch, void> {
  const { iterations = 1 } = run.limits
  const reached = limitReached(run)
  if (reached !== undefined) {
    yield* finishAtLimit(run, reached)
    return
  }
  const message = `The model was asked ${run.open.iteration} times and still wants to go on; the limit is ${iterations}.`
  run.draft.append('warning', { code: 'max-iterations', message })
  yield* finish(run, 'max-iterations', { limit: 'iterations', message })
}

interface Configured {
  readonly tools: readonly Tool[]
  readonly system: string | undefined
}

/** What may fail is looked up before the model call begins: it is no failure of the model. */
function isLookedUpEarly(run: TurnRun): boolean {
  const { lookups } = run.scope.definition
  return lookups === 'each call' || (lookups === 'once' && !run.isLookedUp)
}

async function* lookUpEarly(run: TurnRun): AsyncGenerator<Batch, Configured> {
  // A function may take its time, and results of tools do not wait for it.
  if (run.draft.hasNews) yield* run.commit('on')
  return lookUp(run)
}

/** Credentials are here once the start of the turn is durable. */
function lookUp(run: TurnRun): MaybePromise<Configured> {
  const [tools, system] = [run.tools(), configuredPrompt(run)]
  if (!isPromise(tools) && !isPromise(system)) return { tools, system }
  return Promise.all([tools, system]).then(([found, text]) => ({ tools: found, system: text }))
}

async function askModel(
  run: TurnRun,
  source: ModelSource,
  { tools, system: own }: Configured,
): Promise<ModelReply | ModelFailure> {
  const { scope } = run
  let wire: WireIds | undefined
  try {
    const resolved = run.within(source.resolve())
    const model = isPromise(resolved) ? await resolved : resolved
    checkChoice(source, tools)
    const { prompt } = run.open
    const readsData = model.capabilities?.structuredContext === true
    const system = prompt?.system ?? (readsData ? own : withRules(run, own))
    const shown = shownMessages(run, source, model)
    const messages = isPromise(shown) ? await shown : shown
    if (messages === undefined) return lostEdit()
    const wiring = wireIds(run, { readsData })
    wire = isPromise(wiring) ? await wiring : wiring
    const hasEntities = scope.definition.grounding.entities.size > 0
    const blocks = readsData || !hasEntities ? undefined : await blocksMessage(run, wire.blocks)
    if (messages.every(isBlank)) return silence()
    const parts: PromptParts = {
      ...(system === undefined ? {} : { system }),
      messages: wire.messages(messages),
      tools: specs(tools, readsData ? undefined : wire, prompt?.tools),
      ...(blocks === undefined ? {} : { blocks: blocks.content }),
    }
    const fitting = fittingMessages(run, source, parts)
    const sent = isPromise(fitting) ? await fitting : fitting
    const safe = redactDeltas(run.secrets, ({ type, ...data }) => scope.emit(type, data))
    const deltas = wire.deltas(safe.push)
    const end = (): void => {
      deltas.end()
      safe.end()
    }
    const request: ModelRequest = {
      model,
      ...parts,
      messages: blocks === undefined ? sent : [...sent, blocks],
      ...requestSettings(source),
      ...(readsData ? { displays: await displays(run), ...(await groundingContext(run, tools)) } : {}),
      signal: run.stop,
      ids: scope.ids,
      timer: scope.timer,
      // Requests that only look for files that were refused come after the one that counts.
      record: run,
      onDelta: deltas.push,
    }
    const asked = { request, source, parts: { ...parts, messages: sent } }
    try {
      return wire.reply(await askForReply(run, asked))
    } finally {
      end()
    }
  } catch (error) {
    // It was passed on to somebody else: whatever went wrong here is nobody's business any more.
    if (run.stop.aborted && !run.signal.aborted) await scope.mayAct()
    return error instanceof ModelFailure ? (wire?.failure(error) ?? error) : notAsked(error, run.secrets)
  }
}

/** The messages as hooks want them, without files that the model would refuse. Undefined if an edit does not fit. */
function shownMessages(
  run: TurnRun,
  source: ModelSource,
  model: LanguageModel,
): MaybePromise<readonly Message[] | undefined> {
  return chain(run.scope.view.messages(), (messages) => {
    const edited = changed(messages, run.open.prompt?.messages)
    return edited === undefined || !hasFiles(edited) ? edited : withFiles(run, edited, { source, model })
  })
}

async function withFiles(
  run: TurnRun,
  edited: readonly Message[],
  { source, model: { provider } }: { readonly source: ModelSource; readonly model: LanguageModel },
): Promise<readonly Message[]> {
  const { view } = run.scope
  const refused = refusedBy(await view.window(), source.name)
  const shown = shownFiles(edited, { provider, refused })
  await warnIfBeyond(run, source, shown)
  return shown.messages
}

interface Asked {
  readonly request: ModelRequest
  readonly source: ModelSource
  readonly parts: PromptParts
}

/** Rejects with the failure, once it is known whether files are to blame for it. */
function askForReply(run: TurnRun, { request, source, parts }: Asked): Promise<ModelReply> {
  return streamModel(request).catch(async (error: unknown): Promise<never> => {
    if (!(error instanceof ModelFailure)) throw error
    const makesRoomFirst = isHalfFull(source, parts) && (await canMakeRoom(run, error))
    const isFirst = overflowsIn(await run.scope.view.window(), run.open.turn) === 0
    if (makesRoomFirst && isFirst) throw await withLength(error, parts)
    throw await withLength(await withRefusedFiles(request, error), parts)
  })
}

async function displays(run: TurnRun): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>()
  for (const entry of await run.scope.view.window()) {
    if (entry.type !== 'tool.end') continue
    const { callId, display } = dataOf(entry, 'tool.end')
    if (display !== undefined) told.set(callId, display)
  }
  return told
}

function takeReply(run: TurnRun, { content, finish: why, model, usage }: ModelReply): void {
  run.draft.append('model.end', { content, finish: why, model, usage, ...sentTo(run) })
  if (why === 'length')
    run.draft.append('warning', {
      code: 'length',
      message: 'The reply was cut off: it reached the most tokens that a reply may have.',
    })
}

/** An entry keeps the names of tools as they are; what is no name of a tool may be a secret. */
async function withKnownTools(
  run: TurnRun,
  content: readonly AssistantPart[],
): Promise<readonly AssistantPart[]> {
  const tools = await run.tools()
  return content.map((part) =>
    part.type !== 'tool-call' || tools.some(({ name }) => name === part.tool)
      ? part
      : { ...part, tool: run.redacted(part.tool) },
  )
}

export function hasSteering(run: TurnRun): boolean {
  return run.inbox.some(isSteering)
}

function isSteering(entry: Entry): boolean {
  return entry.type === 'input' && (dataOf(entry, 'input').steer ?? false)
}

async function* tellFailed(run: TurnRun, failure: Omit<ModelError, 'source'>): AsyncGenerator<Batch, void> {
  const error: ModelError = { source: 'model', ...failure }
  yield* runPhase(run, 'onError', () => () => ({ error }))
}

/** Whoever was to go on after a failed call may have gone before it told anybody, or before it ended the turn. */
export async function* goOnAfterFailure(run: TurnRun): AsyncGenerator<Batch, void> {
  const { error = {}, model = '' } = lastOf(await run.scope.view.window(), 'model.end')?.data ?? {}
  const { message, kind, next } = error as { message: string; kind: string; next: string }
  yield* tellFailed(run, { message, model, kind, next })
  if (run.open.retry === undefined) await endTurn(run, 'failed', { error: { code: 'model', ...error } })
  else if (run.open.stop === undefined) yield* runModelStep(run)
}

function sentTo({ sent }: TurnRun): Pick<EntryData['model.end'], 'sent'> {
  return sent === undefined ? {} : { sent }
}

/** What had arrived stays: the person has read it. */
function sayAborted(run: TurnRun, { name }: ModelSource, { partial, usage }: ModelFailure): void {
  run.draft.append('model.end', { content: partial, finish: 'aborted', model: name, usage, ...sentTo(run) })
}

function sayFailed(
  run: TurnRun,
  { name }: ModelSource,
  { failure, step }: { failure: ModelFailure; step: { readonly next: string; readonly waitMs?: number } },
): void {
  const error: JsonObject = { ...failureData(run, failure), ...step }
  const { usage } = failure
  run.draft.append('model.end', { content: [], finish: 'error', model: name, usage, error, ...sentTo(run) })
}

function errorOf(run: TurnRun, failure: ModelFailure): JsonObject {
  const { cause } = failure
  const code = HoldfastError.is(cause) ? cause.code : 'model'
  const known =
    cause === NOTHING_TO_SAY || cause === NO_ROOM ? (cause as { readonly code: string }) : { code }
  return { ...known, ...failureData(run, failure) }
}

/** The message was shortened before anybody here saw it. */
function failureData(run: TurnRun, failure: ModelFailure): JsonObject {
  return { ...failure.toData(), message: run.secrets.ended(failure.message) }
}

/** Prompts leave out texts of blanks, and of these messages nothing would be left. */
function isBlank({ role, content }: Message): boolean {
  if (role === 'tool') return false
  if (typeof content === 'string') return content.trim() === ''
  return content.every((part) => part.type === 'text' && part.text.trim() === '')
}

function silence(): ModelFailure {
  const { message } = NOTHING_TO_SAY
  return new ModelFailure('invalid', { message, cause: NOTHING_TO_SAY })
}

/** Not to be asked with what a hook wanted to keep from it. */
function lostEdit(): ModelFailure {
  const message = 'What a hook changed in the prompt does not fit the messages any more.'
  return new ModelFailure('invalid', { message })
}

/** A hook may take the tool away for one call; that there is no such tool at all is a mistake. */
function checkChoice({ settings: { toolChoice } }: ModelSource, tools: readonly ToolSpec[]): void {
  if (typeof toolChoice !== 'object' || tools.some(({ name }) => name === toolChoice.tool)) return
  const names = tools.map(({ name }) => name).join(', ') || 'none'
  const message = `settings.toolChoice names the tool ${quote(toolChoice.tool)}, which the agent does not have. Its tools are: ${names}.`
  throw new ModelFailure('invalid', { message })
}

/** A model that reads the marks of ids is shown the parameters as they are: no wire stands between. */
function specs(
  tools: readonly ToolSpec[],
  wire: WireIds | undefined,
  wanted: readonly string[] | undefined,
): ToolSpec[] {
  return tools
    .filter(({ name }) => wanted?.includes(name) ?? true)
    .map(({ name, description, parameters }) => ({
      name,
      description,
      parameters: wire?.parameters(parameters) ?? parameters,
    }))
}

function noModel(): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: NO_MODEL,
  })
}
