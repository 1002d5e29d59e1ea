/** Reads the tasks of one caller with one agent from the journal. Changes nothing. */
import type { Host } from '../../host/index.ts'
import { type ContextKey, type Entry, HoldfastError } from '../../protocol/index.ts'
import type { Caller } from '../caller.ts'
import { addEntry } from './flow-reply.ts'
import { keyOf, parseTaskId, type TaskName } from './names.ts'
import { TaskFold } from './task-fold.ts'
import type { ReadBlob } from './task-view.ts'

const PAGE = 500

export class TaskReader {
  readonly host: Host
  readonly caller: Caller
  /** The name of the agent or graph. */
  readonly agent: string
  readonly readBlob: ReadBlob

  constructor(host: Host, caller: Caller, agent: string) {
    this.host = host
    this.caller = caller
    this.agent = agent
    this.readBlob = (hash) => host.store.getBlob(caller, hash)
  }

  keyOf(contextId: string): ContextKey {
    return keyOf(this.caller, this.agent, contextId)
  }

  /** Undefined for an id that no context has: those below a conversation are the runtime's. */
  existing(contextId: string): ContextKey | undefined {
    try {
      const key = this.keyOf(contextId)
      this.host.nameOf(key.contextId)
      return key
    } catch (error) {
      if (HoldfastError.is(error, 'invalid-key') || HoldfastError.is(error, 'not-found')) return undefined
      throw error
    }
  }

  /** The task as it is now. Undefined if the caller has none of that id: whether others have one makes no difference. */
  async find(id: string): Promise<TaskFold | undefined> {
    const name = parseTaskId(id)
    return name === undefined ? undefined : this.read(name)
  }

  async read(name: TaskName): Promise<TaskFold | undefined> {
    const key = this.existing(name.contextId)
    if (key === undefined) return undefined
    const fold = new TaskFold(name)
    for (;;) {
      const entries = await this.host.store.read(key, { from: fold.last + 1, limit: PAGE })
      for (const entry of entries) await addEntry(fold, entry, { host: this.host, key })
      if (!fold.exists) return undefined
      if (fold.isEnded || entries.length < PAGE) return fold
    }
  }

  /** The message that was posted under a key, newest first; undefined if the journal does not reach back to it. */
  async findPosted(key: ContextKey, posted: string): Promise<Entry | undefined> {
    for (let to = Number.MAX_SAFE_INTEGER; to > 0; ) {
      const page = await this.host.store.read(key, { to, limit: PAGE, order: 'newest' })
      const found = page.find((entry) => entry.key === posted)
      if (found !== undefined) return found
      to = (page.at(-1)?.seq ?? 1) - 1
    }
    return undefined
  }
}
