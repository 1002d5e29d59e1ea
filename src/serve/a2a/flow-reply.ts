/** Adds entries to a task, with the reply of a flow: that is in the state which a run has reached, and in no entry. */
import type { MaybePromise } from '../../base/index.ts'
import type { Host } from '../../host/index.ts'
import type { ContextKey, Entry } from '../../protocol/index.ts'
import { hasReply } from '../turn-events.ts'
import type { TaskChange, TaskFold } from './task-fold.ts'

/** A promise only if there is a reply to read. */
export function addEntry(
  fold: TaskFold,
  entry: Entry,
  { host, key }: { readonly host: Host; readonly key: ContextKey },
): MaybePromise<readonly TaskChange[]> {
  const isEnd = entry.type === 'turn.end' && entry.turn === fold.turn && !fold.isEnded
  if (!isEnd || !hasReply(entry) || !host.isFlow(host.nameOf(key.contextId))) return fold.add(entry)
  return host.reads.reply(key, entry.seq).then((reply) => fold.add(entry, reply))
}
