/**
 * The claims of the tour, each computed from the journal and from the records that the effects keep. A claim that does not
 * hold names the finding instead.
 */
import type { Json, JsonObject } from 'holdfast'
import type { Entry, EntryData, EntryType } from 'holdfast/journal'
import type { Head } from 'holdfast/store'
import type { Order } from '../../examples/site-manager/supplier.ts'
import { INVENTED } from './rogue.ts'

export interface Claim {
  readonly holds: boolean
  /** The claim, or its negation. */
  readonly head: string
  /** The evidence. */
  readonly because: string
}

interface Found<T extends EntryType> {
  readonly seq: number
  readonly data: EntryData[T]
}

function all<T extends EntryType>(entries: readonly Entry[], type: T): readonly Found<T>[] {
  return entries
    .filter((entry) => entry.type === type)
    .map(({ seq, data }) => ({ seq, data: data as unknown as EntryData[T] }))
}

const ending = (entries: readonly Entry[], callId: string) =>
  all(entries, 'tool.end').find(({ data }) => data.callId === callId)

const beginning = (entries: readonly Entry[], callId: string) =>
  all(entries, 'tool.start').find(({ data }) => data.callId === callId)

/** The guard asked which of several things was meant, and the tool started after the answer, with that id. */
export function askedClaim(entries: readonly Entry[]): Claim {
  const asked = all(entries, 'request.start').find(({ data }) => data.from === 'grounding')
  const answered = all(entries, 'request.end').find(
    ({ data }) => data.requestId === asked?.data.requestId && data.how === 'answered',
  )
  const start = beginning(entries, asked?.data.callId ?? '')
  const grounds = all(entries, 'tool.start').flatMap(({ data }) => data.grounds ?? [])
  const ground = grounds.find(({ source }) => source === 'asked')
  const isOrdered = answered !== undefined && start !== undefined && answered.seq < start.seq
  if (asked === undefined || !isOrdered || ground === undefined)
    return { holds: false, head: 'Guessed', because: 'the person was not asked before the tool started.' }
  return {
    holds: true,
    head: 'Asked, not guessed',
    because: `entry ${asked.seq} asks, entry ${answered.seq} answers, and the tool starts after it, with ${ground.id}.`,
  }
}

function taskOf(args: Json): string {
  const { taskId } = (args ?? {}) as JsonObject
  return typeof taskId === 'string' ? taskId : ''
}

/** The invented id has a refusal in the journal, no start, and no line in the record of the tool. */
export function refusedClaim(entries: readonly Entry[], updates: readonly string[]): Claim {
  const calls = all(entries, 'model.end').flatMap(({ data }) =>
    data.content.flatMap((part) => (part.type === 'tool-call' ? [part] : [])),
  )
  const { callId = '' } = calls.find(({ args }) => taskOf(args) === INVENTED) ?? {}
  const end = ending(entries, callId)
  const runs = updates.filter((id) => id === INVENTED).length
  const isStarted = beginning(entries, callId) !== undefined
  if (end?.data.status !== 'rejected' || isStarted || runs > 0)
    return {
      holds: false,
      head: 'NOT REFUSED',
      because: `the tool was run with ${INVENTED} ${times(runs)}, by its own record; the journal says ${end?.data.status ?? 'nothing'}.`,
    }
  return {
    holds: true,
    head: 'REFUSED before execution',
    because: `entry ${end.seq} refuses the call, no entry starts it, and the tool’s own record has no ${INVENTED}.`,
  }
}

/** After the refusal the same turn went on with an id that a tool had shown, and the tool ran once. */
export function recoveredClaim(entries: readonly Entry[], updates: readonly string[]): Claim {
  const start = all(entries, 'tool.start').find(({ data }) => data.tool === 'update_task')
  const end = ending(entries, start?.data.callId ?? '')
  const taskId = taskOf(start?.data.args ?? null)
  const runs = updates.filter((id) => id === taskId).length
  const shown = all(entries, 'tool.end').find(({ data }) => data.seen?.some(({ id }) => id === taskId))
  if (end?.data.status !== 'ok' || shown === undefined || shown.seq > end.seq || runs !== 1)
    return {
      holds: false,
      head: 'NOT RECOVERED',
      because: `by its own record the tool ran ${times(runs)} with an id that was shown.`,
    }
  return {
    holds: true,
    head: 'Recovered in the same turn',
    because: `the tool ran ${times(runs)}, with ${taskId}, which entry ${shown.seq} had shown.`,
  }
}

/** An approval is asked for, and the effect has not begun. */
export function waitsClaim(
  entries: readonly Entry[],
  orders: readonly Order[],
  head: Head | undefined,
): Claim {
  const asked = all(entries, 'request.start').find(({ data }) => data.from === 'approval')
  const isStarted = asked === undefined || beginning(entries, asked.data.callId ?? '') !== undefined
  if (isStarted || orders.length > 0 || head?.lease !== undefined)
    return {
      holds: false,
      head: 'NOT WAITING',
      because: `${head?.lease?.driver ?? 'no process'} holds the conversation, and the supplier has ${ordersText(orders)}.`,
    }
  return {
    holds: true,
    head: 'Nothing runs while it waits',
    because: `the question is entry ${asked.seq}, no process holds the conversation, and the supplier has ${ordersText(orders)}.`,
  }
}

export interface Death {
  readonly pid: number
  readonly signal: string | null
}

/** The process was killed when the effect had happened and its result was not stored. */
export function diedClaim(entries: readonly Entry[], orders: readonly Order[], death: Death): Claim {
  const start = orderStart(entries)
  const isMid = start !== undefined && ending(entries, start.data.callId) === undefined
  const isHeard = orders.length === 1 && orders[0]?.pid === death.pid
  if (death.signal !== 'SIGKILL' || !isMid || !isHeard)
    return {
      holds: false,
      head: 'NOT KILLED in mid-effect',
      because: `process ${death.pid} ended by ${death.signal ?? 'itself'}, and the supplier has ${ordersText(orders)}.`,
    }
  return {
    holds: true,
    head: 'Killed in mid-effect',
    because: `the supplier has ${ordersText(orders)}; the journal has the start, entry ${start.seq}, and no result.`,
  }
}

/** The next process settled the call without running it again. */
export function onceClaim(entries: readonly Entry[], orders: readonly Order[], pid: number): Claim {
  const start = orderStart(entries)
  const end = ending(entries, start?.data.callId ?? '')
  const claim = all(entries, 'claim').findLast(({ seq }) => end !== undefined && seq < end.seq)
  const own = orders.filter(({ key }) => key === start?.data.idempotencyKey)
  const isOwn = claim?.data.driver.split('/').includes(String(pid)) ?? false
  if (end?.data.status !== 'ok' || !isOwn || own.length !== 1 || orders.length !== 1)
    return {
      holds: false,
      head: 'NOT ONCE',
      because: `the supplier has ${ordersText(orders)}, and the result in the journal is ${end?.data.status ?? 'missing'}.`,
    }
  return {
    holds: true,
    head: 'It ran once',
    because: `process ${pid} asked the supplier and stored the result, entry ${end.seq}; the supplier still has ${ordersText(orders)}, of process ${own[0]?.pid}.`,
  }
}

function orderStart(entries: readonly Entry[]): Found<'tool.start'> | undefined {
  return all(entries, 'tool.start').find(({ data }) => data.tool === 'order_cement')
}

function times(count: number): string {
  return ['never', 'once', 'twice'][count] ?? `${count} times`
}

function ordersText({ length }: readonly Order[]): string {
  return length === 1 ? '1 order' : `${length} orders`
}
