/**
 * One model call, with its retries and fallbacks. Every attempt is in the journal: an attempt that fails ends with a
 * durable `model.end` that says why and what is tried next, before it is tried.
 */
import { debugThrown } from '../base/index.ts'
import type { ModelError } from '../hook/index.ts'
import type { Batch } from '../loop/index.ts'
import { dataOf, isLarge } from '../loop/index.ts'
import {
  filesIn,
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
  HoldfastError,
  type JsonObject,
  type Message,
  quote,
} from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { NO_MODEL, notAsked, requestSettings, stepAfter } from './asking.ts'
import { isWatched } from './context.ts'
import type { ModelSource } from './definition.ts'
import { endTurn } from './ending.ts'
import { hearPerson } from './grounding.ts'
import { groundingContext } from './grounding-context.ts'
import { configuredPrompt, groundingBlocks, withRules } from './grounding-prompt.ts'
import { runPhase } from './hooks.ts'
import { lastOf } from './last-of.ts'
import { limitReached } from './limits.ts'
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
import type { Play } from './play.ts'
import { changed } from './prompt-edit.ts'
import { redactDeltas } from './redact-deltas.ts'
import { goesOnWithout, refusedBy, sayRefused, warnIfBeyond } from './refused-files.ts'
import { makeRoom } from './summary.ts'
import { type WireIds, wireIds } from './wire-ids.ts'

/** One attempt. What comes after one that failed is in the session, so a retry holds after a crash and a pause too. */
export async function* think(play: Play): AsyncGenerator<Batch, void> {
  takeSteering(play)
  if (isAtLimit(play)) {
    yield* endByLimit(play)
    return
  }
  // Whoever has none of these does not wait for them.
  if (isWatched(play.scope.definition)) yield* makeRoom(play)
  if (play.scope.definition.grounding.entities.size > 0) await hearPerson(play)
  if (!play.hooks.isEmpty) yield* beforeModel(play)
  if (play.open.stop !== undefined || play.signal.aborted) return
  if (isSilent(play)) {
    await endTurn(play, 'failed', { error: NOTHING_TO_SAY })
    return
  }
  yield* waitToRetry(play)
  if (play.signal.aborted) return
  const { index, attempt } = nextAttempt(play)
  const { models } = play.scope.definition
  const source = models[index]
  if (source === undefined) throw noModel()
  const early = yield* lookUpEarly(play)
  const iteration = play.open.iteration + 1
  play.draft.say('model.start', { model: source.name, iteration, ...(attempt === 1 ? {} : { attempt }) })
  yield* play.commit('model')
  // Hooks are told of what was said before the model is.
  if (!play.hooks.has('afterUserInput', 'beforeLlm')) yield* hearSteering(play)
  const reply = await askModel(play, source, early ?? (await lookUp(play)))
  if (!(reply instanceof ModelFailure)) yield* takeReply(play, reply)
  else if (play.signal.aborted) sayAborted(play, source, reply)
  else {
    const goesOn = await goesOnWithout(play, reply)
    const isFinal = index + 1 >= models.length
    const isAgain = goesOn || (isFinal && (await canMakeRoom(play, reply)))
    const step = isAgain ? AGAIN : stepAfter(reply, source, attempt)
    const isLast = step.next === 'fallback' && isFinal
    const { next } = isLast ? { next: 'fail' } : step
    sayFailed(play, source, { failure: reply, step: isLast ? { next } : step })
    if (goesOn) sayRefused(play, source, reply)
    const { kind, message } = reply
    yield* tellFailed(play, {
      message: play.secrets.ended(message),
      model: source.name,
      kind,
      next,
      cause: reply.cause ?? reply,
    })
    if (isLast) {
      debugThrown(`The model ${source.name}`, reply)
      play.failedBy(reply.cause ?? reply)
      await endTurn(play, 'failed', { error: errorOf(play, reply) })
    }
  }
}

/** Without what was refused, or was too much, the request is another one. */
const AGAIN = { next: 'retry', waitMs: 0 } as const

/** Which model is asked, and for which time. Models may have changed since the last attempt; then those are asked. */
function nextAttempt(play: Play): { readonly index: number; readonly attempt: number } {
  const { retry } = play.open
  const { models } = play.scope.definition
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
async function* waitToRetry(play: Play): AsyncGenerator<Batch, void> {
  const { timer, clock, leave } = play.scope
  const left = (play.open.retry?.until ?? 0) - clock.now()
  if (left <= 0) return
  if (!play.draft.isEmpty) yield* play.commit('wait')
  await timer.wait(left, { signal: leave === undefined ? play.stop : AbortSignal.any([play.stop, leave]) })
  // A driver that wants to let go does so here: the next attempt is not begun.
  if (leave?.aborted && !play.stop.aborted) yield* play.commit('wait')
}

const NOTHING_TO_SAY = {
  code: 'nothing-to-say',
  message: 'Nothing was said that a model could answer. Say something first.',
}

function isSilent({ session: { window } }: Play): boolean {
  return window.messages === 0 && window.summary === undefined
}

/** What was said to the running turn is heard before the model is asked again. */
function takeSteering(play: Play): void {
  for (const entry of play.inbox) {
    if (entry.key !== undefined && isSteering(entry)) play.draft.say('take', { as: 'message' }, [entry.key])
  }
}

/** What the receipt of the last batch has shown is heard too: the model has not been asked yet. */
function* hearSteering(play: Play): Generator<Batch, void> {
  while (hasSteering(play)) {
    takeSteering(play)
    yield* play.commit('model')
  }
}

function isAtLimit(play: Play): boolean {
  const { iterations = 1 } = play.limits
  return play.open.iteration >= iterations || limitReached(play) !== undefined
}

async function* endByLimit(play: Play): AsyncGenerator<Batch, void> {
  const { iterations = 1 } = play.limits
  const reached = limitReached(play)
  if (reached !== undefined) {
    yield* finishAtLimit(play, reached)
    return
  }
  const message = `The model was asked ${play.open.iteration} times and still wants to go on; the limit is ${iterations}.`
  play.draft.say('warning', { code: 'max-iterations', message })
  yield* finish(play, 'max-iterations', { limit: 'iterations', message })
}

interface Configured {
  readonly tools: readonly Tool[]
  readonly system: string | undefined
}

/** What may fail is looked up before the model call begins: it is no failure of the model. */
async function* lookUpEarly(play: Play): AsyncGenerator<Batch, Configured | undefined> {
  const { lookups } = play.scope.definition
  if (lookups === 'never' || (lookups === 'once' && play.isLookedUp)) return undefined
  // A function may take its time, and results of tools do not wait for it.
  if (play.draft.hasNews) yield* play.commit('on')
  return lookUp(play)
}

/** Credentials are here once the start of the turn is durable. */
async function lookUp(play: Play): Promise<Configured> {
  const [tools, system] = await Promise.all([play.tools(), configuredPrompt(play)])
  return { tools, system }
}

async function askModel(
  play: Play,
  source: ModelSource,
  { tools, system: own }: Configured,
): Promise<ModelReply | ModelFailure> {
  const { scope } = play
  let wire: WireIds | undefined
  try {
    const model = await play.within(source.resolve())
    checkChoice(source, tools)
    const { prompt } = play.open
    const readsData = model.capabilities?.structuredContext === true
    const system = prompt?.system ?? (readsData ? own : withRules(play, own))
    const messages = await shownMessages(play, source, model)
    if (messages === undefined) return lostEdit()
    wire = await wireIds(play, { readsData })
    const blocks = readsData ? undefined : await groundingBlocks(play, wire.blocks)
    if (messages.every(isBlank)) return silence()
    const parts: PromptParts = {
      ...(system === undefined ? {} : { system }),
      messages: wire.messages(messages),
      tools: specs(tools, readsData ? undefined : wire, prompt?.tools),
      ...(blocks === undefined ? {} : { blocks }),
    }
    const sent = await fittingMessages(play, source, parts)
    const safe = redactDeltas(play.secrets, ({ type, ...data }) => scope.emit(type, data))
    const deltas = wire.deltas(safe.push)
    const end = (): void => {
      deltas.end()
      safe.end()
    }
    const request: ModelRequest = {
      model,
      ...parts,
      messages: blocks === undefined ? sent : [...sent, { role: 'user', content: blocks }],
      ...requestSettings(source),
      ...(readsData ? { displays: await displays(play), ...(await groundingContext(play, tools)) } : {}),
      signal: play.stop,
      ids: scope.ids,
      timer: scope.timer,
      onDelta: deltas.push,
    }
    const asked = { request, source, parts: { ...parts, messages: sent } }
    return wire.reply(await askForReply(play, asked).finally(end))
  } catch (error) {
    // It was passed on to somebody else: whatever went wrong here is nobody's business any more.
    if (play.stop.aborted && !play.signal.aborted) await scope.mayAct()
    return error instanceof ModelFailure ? (wire?.failure(error) ?? error) : notAsked(error, play.secrets)
  }
}

/** The messages as hooks want them, without files that the model would refuse. Undefined if an edit does not fit. */
async function shownMessages(
  play: Play,
  source: ModelSource,
  { provider }: LanguageModel,
): Promise<readonly Message[] | undefined> {
  const { view } = play.scope
  const edited = changed(await view.messages(), play.open.prompt?.messages)
  if (edited === undefined || filesIn(edited).length === 0) return edited
  const refused = refusedBy(await view.window(), source.name)
  const shown = shownFiles(edited, { provider, refused })
  await warnIfBeyond(play, source, shown)
  return shown.messages
}

interface Asked {
  readonly request: ModelRequest
  readonly source: ModelSource
  readonly parts: PromptParts
}

/** Rejects with the failure, once it is known whether files are to blame for it. */
async function askForReply(play: Play, { request, source, parts }: Asked): Promise<ModelReply> {
  try {
    return await streamModel(request)
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error
    const makesRoomFirst = isHalfFull(source, parts) && (await canMakeRoom(play, error))
    const isFirst = overflowsIn(await play.scope.view.window(), play.open.turn) === 0
    if (makesRoomFirst && isFirst) throw await withLength(error, parts)
    throw await withLength(await withRefusedFiles(request, error), parts)
  }
}

async function displays(play: Play): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>()
  for (const entry of await play.scope.view.window()) {
    if (entry.type !== 'tool.end') continue
    const { callId, display } = dataOf(entry, 'tool.end')
    if (display !== undefined) told.set(callId, display)
  }
  return told
}

async function* takeReply(
  play: Play,
  { content, finish: why, model, usage }: ModelReply,
): AsyncGenerator<Batch, void> {
  const known = play.secrets.isEmpty ? content : await withKnownTools(play, content)
  play.draft.say('model.end', { content: known, finish: why, model, usage })
  if (why === 'length')
    play.draft.say('warning', {
      code: 'length',
      message: 'The reply was cut off: it reached the most tokens that a reply may have.',
    })
  // It may have to be cut, and its calls with it.
  if (isLarge(content)) yield* play.commit('on')
}

/** An entry keeps the names of tools as they are; what is no name of a tool may be a secret. */
async function withKnownTools(
  play: Play,
  content: readonly AssistantPart[],
): Promise<readonly AssistantPart[]> {
  const tools = await play.tools()
  return content.map((part) =>
    part.type !== 'tool-call' || tools.some(({ name }) => name === part.tool)
      ? part
      : { ...part, tool: play.redacted(part.tool) },
  )
}

export function hasSteering(play: Play): boolean {
  return play.inbox.some(isSteering)
}

function isSteering(entry: Entry): boolean {
  return entry.type === 'input' && (dataOf(entry, 'input').steer ?? false)
}

async function* tellFailed(play: Play, failure: Omit<ModelError, 'source'>): AsyncGenerator<Batch, void> {
  const error: ModelError = { source: 'model', ...failure }
  yield* runPhase(play, 'onError', () => ({ base, stop }) => ({ ...base, stop, error }))
}

/** Whoever was to go on after a failed call may have gone before it told anybody, or before it ended the turn. */
export async function* goOnAfterFailure(play: Play): AsyncGenerator<Batch, void> {
  const { error = {}, model = '' } = lastOf(await play.scope.view.window(), 'model.end')?.data ?? {}
  const { message, kind, next } = error as { message: string; kind: string; next: string }
  yield* tellFailed(play, { message, model, kind, next })
  if (play.open.retry === undefined) await endTurn(play, 'failed', { error: { code: 'model', ...error } })
  else if (play.open.stop === undefined) yield* think(play)
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
  const error: JsonObject = { ...failureData(play, failure), ...step }
  play.draft.say('model.end', { content: [], finish: 'error', model: name, usage: failure.usage, error })
}

function errorOf(play: Play, failure: ModelFailure): JsonObject {
  const { cause } = failure
  const code = HoldfastError.is(cause) ? cause.code : 'model'
  const known =
    cause === NOTHING_TO_SAY || cause === NO_ROOM ? (cause as { readonly code: string }) : { code }
  return { ...known, ...failureData(play, failure) }
}

/** The message was shortened before anybody here saw it. */
function failureData(play: Play, failure: ModelFailure): JsonObject {
  return { ...failure.toData(), message: play.secrets.ended(failure.message) }
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
