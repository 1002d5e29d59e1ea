/** The updates of a task as they happen: entries from the journal, whichever process writes them, and text as it streams. */
import type { StreamResponse } from '@a2a-js/sdk'
import type { HostEvent } from '../../host/index.ts'
import { addEntry } from './flow-reply.ts'
import type { TaskChange, TaskFold } from './task-fold.ts'
import type { TaskReader } from './task-reader.ts'
import { replyUpdate, taskOf, updateOf } from './task-view.ts'

/**
 * The task first, after all entries that the fold has read, or after its message; then each change, until the task has
 * ended or waits. A task that waits already is followed until it waits again.
 */
export async function* taskUpdates(
  reader: TaskReader,
  fold: TaskFold,
  signal: AbortSignal,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { host, readBlob } = reader
  const stream = new ReplyStream(fold)
  let isFirst = true
  if (fold.exists) {
    isFirst = false
    yield { payload: { $case: 'task', value: await taskOf(fold, readBlob) } }
  }
  const key = reader.keyOf(fold.name.contextId)
  for await (const event of host.events(key, { since: fold.last, signal })) {
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
