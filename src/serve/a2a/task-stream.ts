/** The updates of a task as they happen: entries from the journal, whichever process writes them, and text as it streams. */
import type { StreamResponse } from '@a2a-js/sdk'
import type { HostEvent, HostedTurn } from '../../host/index.ts'
import { type Entry, isDelta, type TurnEvent } from '../../protocol/index.ts'
import { addEntry } from './flow-reply.ts'
import type { TaskChange, TaskFold } from './task-fold.ts'
import type { TaskReader } from './task-reader.ts'
import { replyUpdate, taskOf, updateOf } from './task-view.ts'

export interface UpdatesOptions {
  readonly signal: AbortSignal
  /** The turn of the message that was posted here: its events come without a read of the journal. */
  readonly turn?: HostedTurn | undefined
}

/**
 * The task first, after all entries that the fold has read, or after its message; then each change, until the task has
 * ended or waits. A task that waits already is followed until it waits again.
 */
export async function* taskUpdates(
  reader: TaskReader,
  fold: TaskFold,
  options: UpdatesOptions,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { host, readBlob } = reader
  const stream = new ReplyStream(fold)
  let isFirst = true
  if (fold.exists) {
    isFirst = false
    yield { payload: { $case: 'task', value: await taskOf(fold, readBlob) } }
  }
  const key = reader.keyOf(fold.name.contextId)
  for await (const event of taskEvents(reader, fold, options)) {
    if (event.type !== 'entry') {
      yield* stream.next(event)
      continue
    }
    const changes = await addEntry(fold, event.entry, { host, key })
    if (isFirst) yield { payload: { $case: 'task', value: await taskOf(fold, readBlob) } }
    else for (const change of changes) yield* stream.rest(change) ?? [await updateOf(fold, change, readBlob)]
    if (event.entry.type === 'model.start') stream.begin()
    isFirst = false
    if (changes.length > 0 && fold.isSettled) return
  }
}

/**
 * The events of the posted turn without a gap; then, if the task has not ended, those of the journal. Of a graph, those of the
 * journal alone: the events of its run have the entries of its nodes' conversations among them.
 */
async function* taskEvents(
  reader: TaskReader,
  fold: TaskFold,
  { signal, turn }: UpdatesOptions,
): AsyncGenerator<HostEvent, void, undefined> {
  const { host, agent } = reader
  if (turn !== undefined && !host.graphs.includes(agent) && !host.isFlow(agent))
    yield* turnEvents(turn, fold, signal)
  if (!signal.aborted) yield* host.events(reader.keyOf(fold.name.contextId), { since: fold.last, signal })
}

/**
 * The entry of an event that the fold reads next; undefined for any other event. `gap`: entries before it are in the journal
 * alone, such as those of others, or the beginning of a turn that was joined late.
 */
export function entryIn(event: TurnEvent, { last }: TaskFold): Entry | 'gap' | undefined {
  if (isDelta(event)) return undefined
  const { seq = 0, path } = event
  if (path !== undefined || seq <= last) return undefined
  return seq > last + 1 ? 'gap' : (event as unknown as Entry)
}

/** The events of a turn that the fold has not read, up to the first gap. */
async function* turnEvents(
  turn: HostedTurn,
  fold: TaskFold,
  signal: AbortSignal,
): AsyncGenerator<HostEvent, void, undefined> {
  const events = turn[Symbol.asyncIterator]()
  const leave = (): void => void events.return?.()
  signal.addEventListener('abort', leave, { once: true })
  try {
    for await (const event of { [Symbol.asyncIterator]: () => events }) {
      if (signal.aborted) return
      if (isDelta(event)) yield { type: 'delta', event }
      const entry = entryIn(event, fold)
      if (entry === 'gap') return
      if (entry !== undefined) yield { type: 'entry', entry }
    }
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** The reply of the model call under way, in chunks: the first replaces the text of an earlier call, others continue it. */
class ReplyStream {
  readonly #fold: TaskFold
  #sent = ''

  constructor(fold: TaskFold) {
    this.#fold = fold
  }

  *next(event: Exclude<HostEvent, { readonly type: 'entry' }>): Generator<StreamResponse> {
    const text = textIn(event, this.#fold.turn)
    if (text === undefined || text === '') return
    const append = event.type === 'delta' && this.#sent !== ''
    this.#sent = append ? this.#sent + text : text
    yield replyUpdate(this.#fold, { text, append, lastChunk: false })
  }

  begin(): void {
    this.#sent = ''
  }

  /** The rest of a reply whose beginning was sent; undefined for all other changes, which are sent whole. */
  rest(change: TaskChange): readonly StreamResponse[] | undefined {
    const sent = this.#sent
    if (change.type !== 'reply' || sent === '' || !change.text.startsWith(sent)) return undefined
    this.#sent = ''
    const { text, isLast: lastChunk } = change
    if (text === sent && !lastChunk) return []
    return [replyUpdate(this.#fold, { text: text.slice(sent.length), append: true, lastChunk })]
  }
}

function textIn(event: HostEvent, turn: number): string | undefined {
  if (event.type === 'text') return event.turn === turn ? event.text : undefined
  if (event.type !== 'delta' || event.event.type !== 'text.delta') return undefined
  const { path, turn: of, data } = event.event
  return path === undefined && of === turn ? data.text : undefined
}
