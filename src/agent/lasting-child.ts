/**
 * A conversation that several runs of a node share. Each turn names the task that it belongs to, so a task finds its own
 * turns, and ends those of a task that the graph has left behind.
 */
import { metadataOf, type TurnView } from '../drive/index.ts'
import { loadSession } from '../journal/index.ts'
import type { ContextKey, JsonObject, Usage } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { Agent } from './agent.ts'

/** Metadata of a turn: its task, and the conversation before that task. */
const TASK = '~task'
const BEFORE = '~before'

type Before = { readonly usage: Usage; readonly seq: number }

export interface Lasting {
  /** For every turn of the task. */
  readonly metadata: JsonObject
  readonly before: Before
  /** The newest turn, if it is the task's. */
  readonly lastTurn: () => Promise<TurnView | undefined>
}

interface Where {
  readonly store: Store
  readonly key: ContextKey
  readonly task: string
}

export async function enterLasting(agent: Agent, where: Where): Promise<Lasting> {
  const { store, key, task } = where
  await endOther(agent, where)
  const lastTurn = async (): Promise<TurnView | undefined> => {
    const last = await agent.lastTurn()
    return last !== undefined && (await metadataOf(last))[TASK] === task ? last : undefined
  }
  const { totals, open, seq } = await loadSession(store, key)
  const own = open === undefined ? await lastTurn() : undefined
  const metadata = open?.metadata ?? (own === undefined ? {} : await metadataOf(own))
  const before = (metadata[BEFORE] as Before | undefined) ?? { usage: totals.usage, seq }
  return { metadata: { [TASK]: task, [BEFORE]: before }, before, lastTurn }
}

/** Ends an open or waiting turn of another task: its answers would be taken for this one's. */
async function endOther(agent: Agent, { store, key, task }: Where): Promise<void> {
  const { open, parked } = await loadSession(store, key)
  if (open === undefined && parked === undefined) return
  const last = open === undefined ? await agent.lastTurn() : undefined
  const of = open === undefined ? last && (await metadataOf(last)) : open.metadata
  if (of?.[TASK] === task) return
  await agent.cancel('its caller went on')
  await agent.start()
  await agent.turn?.outcome
}
