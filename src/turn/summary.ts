/**
 * Compactions that leave a summary: a model is asked what the messages that go were about. If it fails nothing is cut, and
 * nothing is lost. Asking is no effect that anybody could notice, so whoever takes over after a crash just asks again.
 */
import { createHash } from 'node:crypto'
import type { Ids, Timer } from '../base/index.ts'
import { messageCount, type Session } from '../journal/index.ts'
import { hasNoWords, ModelFailure, type ModelReply, streamModel } from '../model/index.ts'
import {
  addUsage,
  type Entry,
  type EntryData,
  type Message,
  NO_USAGE,
  type Usage,
} from '../protocol/index.ts'
import { NO_MODEL, notAsked, requestSettings, stepAfter } from './asking.ts'
import { type Compaction, type Cut, compactEntry, compaction, cutMessages, keepOf } from './compaction.ts'
import { entriesSoFar, isDue, warnIfFull } from './context.ts'
import type { ModelSource } from './definition.ts'
import type { Play } from './play.ts'
import type { Batch } from './play-scope.ts'
import { wordsOf } from './told.ts'

export interface SummaryRequest {
  /** Whom to ask, in this order. */
  readonly models: readonly ModelSource[]
  readonly instructions?: string
  readonly signal: AbortSignal
  readonly ids: Ids
  readonly timer: Timer
}

/** The entry of a compaction, or why there is none. `usage` is what was used for nothing. */
export type Summarised =
  | { readonly entry: Compaction }
  | { readonly failure: ModelFailure; readonly usage: Usage }

/** How a window goes on after a summary. It stands where a user speaks, before what is kept. */
const OPENING = 'Summary of the conversation so far:'

const SYSTEM =
  'You write summaries of conversations between a user and an assistant that uses tools. Somebody will go on with the conversation who knows nothing but your summary.'

const TASK = `Summarise the conversation above, for whoever goes on with it. Keep: what the user wants and has decided, names, numbers and ids word for word, what was done with which result, what is still open. Leave out greetings and repetitions. Do not answer anything and do not go on with the conversation: write only the summary, in the language of the conversation.`

/** What a cut would take away, said in short, as the entry that makes the cut. Rejects only with what is not the model's. */
export async function summarise(
  window: { readonly entries: readonly Entry[]; readonly session: Session; readonly cut: Cut },
  request: SummaryRequest,
): Promise<Summarised> {
  const { entries, session, cut } = window
  const { reply, usage } = await askForSummary(toText(cutMessages(entries, session, cut)), request)
  if (reply instanceof ModelFailure) return { failure: reply, usage }
  const summary = `${OPENING}\n\n${textIn(reply)}`
  const summaryHash = createHash('sha256').update(summary).digest('hex')
  const told = { strategy: 'summary', model: reply.model, usage, summary, summaryHash } as const
  return { entry: await compactEntry(entries, cut, told) }
}

/** Before a model call of a turn: compacts if it is time, or says that it soon will be. */
export async function* makeRoom(play: Play): AsyncGenerator<Batch, void> {
  const { definition } = play.scope
  const entries = await entriesSoFar(play)
  const { compact } = definition
  const isWanted = compact?.strategy === 'summary' && isDue(definition, { entries, session: play.session })
  if (!isWanted || hasTried(play, entries)) {
    warnIfFull(play, entries)
    return
  }
  // The turn must be here to stay before anybody works for it.
  if (!play.draft.isEmpty) yield* play.commit('model')
  const summarised = await summariseWindow(play)
  if (summarised === undefined) warnIfFull(play, await entriesSoFar(play))
  else if ('entry' in summarised) play.draft.say('compact', summarised.entry)
  else if (!play.signal.aborted) play.draft.say('warning', failureWarning(play, summarised))
  if (!play.draft.isEmpty) yield* play.commit('on')
}

async function summariseWindow(play: Play): Promise<Summarised | undefined> {
  const { view, definition, ids, timer } = play.scope
  const { compact, models } = definition
  if (compact === undefined) return undefined
  const [entries, { session }] = [await view.window(), view]
  // What the turn has said so far is not what it goes on from.
  const own = saidIn(entries, session.turn)
  const keep = own + keepOf(compact, session.window.messages - own)
  const cut = compaction(entries, session, { keep })
  if (cut === undefined) return undefined
  const { model, instructions } = compact
  const summarised = await summarise(
    { entries, session, cut },
    {
      models: model === undefined ? models : [model],
      ...(instructions === undefined ? {} : { instructions }),
      signal: play.stop,
      ids,
      timer,
    },
  )
  // It was passed on to somebody else, who decides this anew.
  if (play.stop.aborted && !play.signal.aborted) await play.scope.mayAct()
  return summarised
}

function saidIn(entries: readonly Entry[], turn: number): number {
  return entries.reduce((sum, entry) => (entry.turn === turn ? sum + messageCount(entry) : sum), 0)
}

function failureWarning(
  play: Play,
  { failure, usage }: { readonly failure: ModelFailure; readonly usage: Usage },
): EntryData['warning'] {
  return { ...summaryWarning(play.secrets.ended(failure.message)), usage }
}

export function summaryWarning(why: string): EntryData['warning'] {
  const message = `The conversation was not compacted, because no summary could be had; nothing was cut. ${why}`
  return { code: 'compaction-failed', message }
}

/** Once a turn is enough: what failed, or did not help, is tried again in the next. */
function hasTried({ session }: Play, entries: readonly Entry[]): boolean {
  return entries.some(({ turn, type, data }) => {
    if (turn !== session.turn) return false
    return type === 'compact' || (type === 'warning' && data['code'] === 'compaction-failed')
  })
}

interface Asked {
  readonly reply: ModelReply | ModelFailure
  readonly usage: Usage
}

async function askForSummary(messages: readonly Message[], request: SummaryRequest): Promise<Asked> {
  let usage = NO_USAGE
  let reply: ModelReply | ModelFailure = new ModelFailure('invalid', { message: NO_MODEL })
  for (const source of request.models) {
    for (let attempt = 1; ; attempt++) {
      reply = await askOnce(source, messages, request)
      usage = addUsage(usage, reply.usage)
      if (!(reply instanceof ModelFailure) || request.signal.aborted) return { reply, usage }
      const step = stepAfter(reply, source, attempt)
      if (step.next !== 'retry') break
      await request.timer.wait(step.waitMs, { signal: request.signal })
    }
  }
  return { reply, usage }
}

async function askOnce(
  source: ModelSource,
  messages: readonly Message[],
  { instructions, signal, ids, timer }: SummaryRequest,
): Promise<ModelReply | ModelFailure> {
  const task = instructions === undefined ? TASK : `${TASK}\n\n${instructions}`
  try {
    const model = await source.resolve()
    if (hasNoWords(model)) return wordless(source)
    const reply = await streamModel({
      model,
      system: SYSTEM,
      messages: [...messages, { role: 'user', content: task }],
      tools: [],
      ...requestSettings(source),
      signal,
      ids,
      timer,
      onDelta: () => {},
    })
    return isWhole(reply) ? reply : unusable(reply)
  } catch (error) {
    return error instanceof ModelFailure ? error : notAsked(error)
  }
}

/** What it would say instead must not take the place of what was said. */
function wordless({ name }: ModelSource): ModelFailure {
  const message = `${name} cannot write summaries. Name another model for them, or compact with the strategy sliding.`
  return new ModelFailure('invalid', { message })
}

function isWhole(reply: ModelReply): boolean {
  return reply.finish !== 'length' && textIn(reply) !== ''
}

function unusable({ model, finish, usage }: ModelReply): ModelFailure {
  const what = finish === 'length' ? 'was cut off; allow it more with maxOutputTokens' : 'is empty'
  return new ModelFailure('invalid', { message: `The summary of ${model} ${what}.`, usage })
}

function textIn({ content }: ModelReply): string {
  return wordsOf(content).trim()
}

/**
 * Without calls, results, files and thoughts, but with what they were: no tools are declared to whoever writes a summary,
 * and some providers refuse calls of tools that they were not told of.
 */
function toText(messages: readonly Message[]): readonly Message[] {
  return [{ role: 'user', content: 'The conversation begins here.' }, ...messages.flatMap(asText)]
}

function asText(message: Message): readonly Message[] {
  const text =
    typeof message.content === 'string' ? message.content : message.content.map(partText).join('\n')
  if (text.trim() === '') return []
  if (message.role !== 'assistant') return [{ role: 'user', content: text }]
  return [{ role: 'assistant', content: [{ type: 'text', text }] }]
}

function partText(part: Exclude<Message['content'], string>[number]): string {
  if (part.type === 'text') return part.text
  if (part.type === 'tool-call') return `[calls ${part.tool} with ${JSON.stringify(part.args)}]`
  if (part.type === 'tool-result') return `[${part.tool}: ${part.status} ${JSON.stringify(part.output)}]`
  return part.type === 'file' ? `[file ${part.name ?? part.mediaType}]` : ''
}
