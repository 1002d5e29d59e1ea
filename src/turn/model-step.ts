/**
 * One model call, with its retries and fallbacks. Every attempt is in the journal: a failed one ends with a durable
 * `model.end` with the reason and the next step, before that is taken.
 */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import type { Batch } from '../loop/index.ts'
import { dataOf, endsTurn, isLarge } from '../loop/index.ts'
import {
  hasFiles,
  type LanguageModel,
  ModelFailure,
  type ModelReply,
  type ModelRequest,
  shownFiles,
  type ToolSpec,
  withRefusedFiles,
} from '../model/index.ts'
import { type Entry, HoldfastError, INPUT_HOOKS, type Message, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { watchesFill } from './context-fill.ts'
import type { ModelSource } from './definition.ts'
import { endTurn } from './ending.ts'
import { NOTHING_TO_SAY, runErrorHooks, takeFailure } from './failed-attempt.ts'
import { readChoices } from './grounding.ts'
import { groundingContext } from './grounding-context.ts'
import { configuredPrompt, groundingBlocks, withRules } from './grounding-prompt.ts'
import { lastOf } from './last-of.ts'
import { limitReached } from './limits.ts'
import { checkWriter, NO_MODEL, notSent } from './model-retry.ts'
import { observedModel } from './observed-steps.ts'
import { jsonRequest, withInstruction } from './output-schema.ts'
import {
  canMakeRoom,
  fittingMessages,
  isHalfFull,
  overflowsIn,
  type PromptParts,
  withLength,
} from './overflow.ts'
import { beforeModel, finish, finishAtLimit } from './phases.ts'
import { changed } from './prompt-edit.ts'
import { deltaPipe } from './redact-deltas.ts'
import { refusedBy, warnIfBeyond } from './refused-files.ts'
import { withoutSecrets } from './reply-secrets.ts'
import { makeRoom } from './summary.ts'
import { takeReply } from './take-reply.ts'
import type { TurnRun } from './turn-run.ts'
import { type WireIds, wireIds } from './wire-ids.ts'

/** Makes one attempt. The step after a failure is in the session, so a retry survives a crash and a pause. */
export async function* runModelStep(run: TurnRun): AsyncGenerator<Batch, void> {
  // At a limit, a steering message is left for the next turn: this one would not answer it.
  if (isAtLimit(run)) {
    yield* endByLimit(run)
    return
  }
  takeSteering(run)
  // Awaits only what is configured.
  if (watchesFill(run.scope.definition)) yield* makeRoom(run)
  if (run.scope.definition.grounding.entities.size > 0) await readChoices(run)
  if (!run.hooks.isEmpty) yield* beforeModel(run)
  if (run.open.stop !== undefined || run.cancelledOrTimedOut.aborted) return
  if (isSilent(run)) {
    await endTurn(run, 'failed', { error: NOTHING_TO_SAY })
    return
  }
  if (run.open.retry?.until !== undefined) yield* waitToRetry(run)
  if (run.cancelledOrTimedOut.aborted) return
  const { index, attempt } = nextAttempt(run)
  const { models } = run.scope.definition
  const source = models[index]
  if (source === undefined) throw noModel()
  const early = isLookedUpEarly(run) ? yield* lookUpEarly(run) : undefined
  const iteration = run.open.iteration + 1
  run.draft.append('model.start', { model: source.name, iteration, ...(attempt === 1 ? {} : { attempt }) })
  yield run.commit('model')
  // Hooks get a steering message before the model does.
  if (!run.hooks.has(...INPUT_HOOKS) && hasSteering(run)) yield* takeLateSteering(run)
  run.sent = undefined
  const found = early ?? lookUp(run)
  const reply = await askModel(run, source, isPromise(found) ? await found : found)
  if (!(reply instanceof ModelFailure)) {
    const { content } = reply
    takeReply(run, {
      ...reply,
      content: run.secrets.isEmpty ? content : await withoutSecrets(run, content),
    })
    // A large reply may be cut, and its calls with it.
    if (isLarge(reply.content)) yield run.commit('continue')
  } else yield* takeFailure(run, source, { failure: reply, index, attempt })
}

/** The next model and its attempt. If the models have changed since the last attempt, the current ones count. */
function nextAttempt(run: TurnRun): { readonly index: number; readonly attempt: number } {
  const { retry } = run.open
  const { models } = run.scope.definition
  if (retry === undefined) return { index: 0, attempt: 1 }
  const { model, attempt, skipped = 0 } = retry
  const isGivenUp = attempt === 0
  const failedIndex = isGivenUp ? skipped - 1 : skipped
  const failed =
    models[failedIndex]?.name === model ? failedIndex : models.findIndex(({ name }) => name === model)
  if (failed < 0) return { index: 0, attempt: 1 }
  if (!isGivenUp) return { index: failed, attempt }
  return { index: failed + 1 < models.length ? failed + 1 : 0, attempt: 1 }
}

/** Waits for the rest of the delay before the next attempt. */
async function* waitToRetry(run: TurnRun): AsyncGenerator<Batch, void> {
  const { timer, clock, stopping } = run.scope
  const left = (run.open.retry?.until ?? 0) - clock.now()
  if (left <= 0) return
  if (!run.draft.isEmpty) yield run.commit('wait')
  await timer.wait(left, {
    signal: stopping === undefined ? run.interrupted : AbortSignal.any([run.interrupted, stopping]),
  })
  // A stopping driver leaves here: the next attempt is not begun.
  if (stopping?.aborted && !run.interrupted.aborted) yield run.commit('wait')
}

function isSilent({ session: { window }, scope: { definition } }: TurnRun): boolean {
  const { history = [] } = definition.nodeTurn ?? {}
  return window.messages + history.length === 0 && window.summary === undefined
}

/** Takes steering messages before the next model call. */
function takeSteering(run: TurnRun): void {
  for (const entry of run.inbox) {
    if (entry.key !== undefined && isSteering(entry)) run.draft.append('take', { as: 'message' }, [entry.key])
  }
}

/** Takes steering messages that came with the last receipt: the model has not been asked yet. */
function* takeLateSteering(run: TurnRun): Generator<Batch, void> {
  while (hasSteering(run)) {
    takeSteering(run)
    yield run.commit('model')
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
  const message = `The model was called ${run.open.iteration} times and has not finished; the limit is ${iterations}.`
  run.draft.append('warning', { code: 'max-iterations', message })
  yield* finish(run, 'max-iterations', { limit: 'iterations', message })
}

interface Configured {
  readonly tools: readonly Tool[]
  readonly system: string | undefined
}

/** True if config functions run before `model.start`: their failure is not the model's. */
function isLookedUpEarly(run: TurnRun): boolean {
  const { lookups } = run.scope.definition
  return lookups === 'each call' || (lookups === 'once' && !run.isLookedUp)
}

async function* lookUpEarly(run: TurnRun): AsyncGenerator<Batch, Configured> {
  // A function may take time, and tool results must not wait for it.
  if (run.draft.hasNews) yield run.commit('continue')
  return lookUp(run)
}

/** Credentials are available once the start of the turn is durable. */
function lookUp(run: TurnRun): MaybePromise<Configured> {
  const { lookups, fixedTools, fixedSystem } = run.scope.definition
  // Credentials are looked up for their secrets: a model may repeat them (R19).
  if (lookups === 'never' && fixedTools !== undefined)
    return chain(run.credentials(), () => ({ tools: fixedTools, system: fixedSystem }))
  const [tools, system] = [run.tools(), configuredPrompt(run)]
  if (!isPromise(tools) && !isPromise(system)) return { tools, system }
  return Promise.all([tools, system]).then(([found, text]) => ({ tools: found, system: text }))
}

async function askModel(
  run: TurnRun,
  source: ModelSource,
  configured: Configured,
): Promise<ModelReply | ModelFailure> {
  const prepared = await prepareRequest(run, source, configured)
  if (prepared instanceof ModelFailure) return prepared
  // Checked last: the preparation may have taken time.
  const acting = run.scope.ensureLease()
  if (isPromise(acting)) await acting
  return sendRequest(run, prepared)
}

async function prepareRequest(
  run: TurnRun,
  source: ModelSource,
  { tools, system: own }: Configured,
): Promise<PreparedRequest | ModelFailure> {
  let wire: WireIds | undefined
  try {
    const resolved = source.resolve()
    const model = isPromise(resolved) ? await run.within(resolved) : resolved
    checkChoice(source, tools)
    const required = run.output()
    const output = isPromise(required) ? await required : required
    if (output !== undefined) checkWriter(model, source)
    const { prompt } = run.open
    const readsData = model.capabilities?.structuredContext === true
    const asked = prompt?.system ?? (readsData ? own : withRules(run, own))
    const system = withInstruction(asked, output, { hasTools: tools.length > 0 })
    const shown = shownMessages(run, source, model)
    const messages = isPromise(shown) ? await shown : shown
    if (messages === undefined) return lostEdit()
    const wiring = wireIds(run, { readsData, givesData: output !== undefined })
    wire = isPromise(wiring) ? await wiring : wiring
    const hasBlocks = !readsData && run.scope.definition.grounding.entities.size > 0
    const blocks = hasBlocks ? await groundingBlocks(run, wire.blocks) : undefined
    if (messages.every(isBlank)) return silence()
    const parts: PromptParts = {
      system,
      messages: wire.messages(messages),
      tools: specs(tools, readsData ? undefined : wire, prompt?.tools),
      blocks,
    }
    const fitting = fittingMessages(run, source, parts)
    const sent = isPromise(fitting) ? await fitting : fitting
    const deltas = deltaPipe(run, wire)
    const request: ModelRequest = {
      model,
      system,
      messages: blocks === undefined ? sent : [...sent, { role: 'user', content: blocks }],
      tools: parts.tools,
      ...source.request,
      ...jsonRequest(output),
      ...(readsData ? { displays: await displays(run), ...(await groundingContext(run, tools)) } : {}),
      ...portsOf(run),
      onDelta: deltas.push,
    }
    return { request, source, parts: { ...parts, messages: sent }, wire, endDeltas: deltas.end }
  } catch (error) {
    return failureOf(run, error, wire)
  }
}

async function sendRequest(run: TurnRun, prepared: PreparedRequest): Promise<ModelReply | ModelFailure> {
  const { request, source, wire, endDeltas } = prepared
  try {
    return wire.reply(await observedModel(run, source, request))
  } catch (error) {
    const why = await explained(run, prepared, error).catch((other: unknown) => other)
    return await failureOf(run, why, wire)
  } finally {
    endDeltas()
  }
}

/** The turn may be lost: then its new driver decides, and this error does not count. A store that fails is no model's fault. */
async function failureOf(run: TurnRun, error: unknown, wire: WireIds | undefined): Promise<ModelFailure> {
  if (run.interrupted.aborted && !run.cancelledOrTimedOut.aborted) await run.scope.ensureLease()
  if (HoldfastError.is(error) && !endsTurn(error)) throw error
  return error instanceof ModelFailure ? (wire?.failure(error) ?? error) : notSent(error, run.secrets)
}

/** The messages as edited by hooks, without files that the model would refuse. Undefined if an edit does not fit. */
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

function portsOf(run: TurnRun): Pick<ModelRequest, 'signal' | 'ids' | 'timer' | 'record' | 'lines'> {
  const { ids, timer, promptLines } = run.scope
  return { signal: run.interruptedOrReleased, ids, timer, record: run, lines: promptLines }
}

interface PreparedRequest {
  readonly request: ModelRequest
  readonly source: ModelSource
  readonly parts: PromptParts
  readonly wire: WireIds
  /** Emits the rest of the deltas. */
  readonly endDeltas: () => void
}

/** The failure, once it is known whether files caused it. Its probes come after the request that is recorded. */
async function explained(
  run: TurnRun,
  { request, source, parts }: PreparedRequest,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ModelFailure)) return error
  const makesRoomFirst = isHalfFull(source, parts) && (await canMakeRoom(run, error))
  const isFirst = overflowsIn(await run.scope.view.window(), run.open.turn) === 0
  return withLength(makesRoomFirst && isFirst ? error : await withRefusedFiles(request, error), parts)
}

async function displays(run: TurnRun): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const entry of await run.scope.view.window()) {
    if (entry.type !== 'tool.end') continue
    const { callId, display } = dataOf(entry, 'tool.end')
    if (display !== undefined) found.set(callId, display)
  }
  return found
}

/** True if a steering message keeps the turn going. */
export function isSteered(run: TurnRun): boolean {
  return hasSteering(run) && !isAtLimit(run)
}

function hasSteering(run: TurnRun): boolean {
  return run.inbox.some(isSteering)
}

function isSteering(entry: Entry): boolean {
  return entry.type === 'input' && (dataOf(entry, 'input').steer ?? false)
}

/** Resumes after a failed call whose hooks, or whose end of the turn, did not become durable. */
export async function* resumeAfterFailure(run: TurnRun): AsyncGenerator<Batch, void> {
  const { error = {}, model = '' } = lastOf(await run.scope.view.window(), 'model.end')?.data ?? {}
  const { message, kind, next } = error as { message: string; kind: string; next: string }
  yield* runErrorHooks(run, { message, model, kind, next })
  if (run.open.retry === undefined) await endTurn(run, 'failed', { error: { code: 'model', ...error } })
  else if (run.open.stop === undefined) yield* runModelStep(run)
}

/** True for a message that prompts leave out. */
function isBlank({ role, content }: Message): boolean {
  if (role === 'tool') return false
  if (typeof content === 'string') return content.trim() === ''
  return content.every((part) => part.type === 'text' && part.text.trim() === '')
}

function silence(): ModelFailure {
  const { message } = NOTHING_TO_SAY
  return new ModelFailure('invalid', { message, cause: NOTHING_TO_SAY })
}

/** Refuses to send what a hook wanted to remove. */
function lostEdit(): ModelFailure {
  const message =
    'The messages have changed since a beforeLlm hook edited them, so the prompt was not sent. Call executeTurn(null) to try again: the hook then edits the new messages.'
  return new ModelFailure('invalid', { message })
}

/** Throws for a chosen tool that the agent does not have; a hook may hide one for a single call. */
function checkChoice({ settings: { toolChoice } }: ModelSource, tools: readonly ToolSpec[]): void {
  if (typeof toolChoice !== 'object' || tools.some(({ name }) => name === toolChoice.tool)) return
  const names = tools.map(({ name }) => name).join(', ') || 'none'
  const message = `settings.toolChoice names the tool ${quote(toolChoice.tool)}, which the agent does not have. Its tools are: ${names}.`
  throw new ModelFailure('invalid', { message })
}

/** Tool declarations. A model that reads id marks gets the parameters unchanged, without `wire`. */
function specs(
  tools: readonly ToolSpec[],
  wire: WireIds | undefined,
  names: readonly string[] | undefined,
): ToolSpec[] {
  return tools
    .filter(({ name }) => names?.includes(name) ?? true)
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
