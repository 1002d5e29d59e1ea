/** Lists the tasks of a caller: conversations by their last activity, and the tasks of each, newest first. */
import type { ListTasksRequest, ListTasksResponse, Task, TaskState } from '@a2a-js/sdk'
import { badRequest } from '../problem.ts'
import { STATE } from './outcome-state.ts'
import type { TaskFold } from './task-fold.ts'
import type { TaskReader } from './task-reader.ts'
import { taskOf } from './task-view.ts'

const DEFAULT_SIZE = 50
const LARGEST_SIZE = 100
/** `TaskState` of the package, which is loaded late. */
const UNRECOGNIZED: TaskState.UNRECOGNIZED = -1

/** The place of the next page: after this task of this conversation, in the list of conversations from `cursor` on. */
interface Place {
  readonly cursor?: string
  readonly contextId?: string
  readonly before?: number
  /** The tasks of all pages before. */
  readonly seen: number
}

export async function listTasks(reader: TaskReader, request: ListTasksRequest): Promise<ListTasksResponse> {
  const { pageSize = DEFAULT_SIZE, historyLength, includeArtifacts = false } = request
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LARGEST_SIZE)
    throw badRequest(`pageSize must be from 1 to ${LARGEST_SIZE}.`)
  const place = placeIn(request.pageToken)
  const tasks: Task[] = []
  for await (const { fold, at } of foldsFrom(reader, request, place)) {
    if (tasks.length === pageSize)
      return page(tasks, { pageSize, seen: place.seen, next: { ...at, seen: place.seen + tasks.length } })
    tasks.push(await taskOf(fold, reader.readBlob, { historyLength, withArtifacts: includeArtifacts }))
  }
  return page(tasks, { pageSize, seen: place.seen })
}

interface PageFacts {
  readonly pageSize: number
  readonly seen: number
  readonly next?: Place
}

/** `totalSize` counts the tasks up to the end of this page, and one more if there are more: a count of all reads all. */
function page(tasks: Task[], { pageSize, seen, next }: PageFacts): ListTasksResponse {
  const nextPageToken = next === undefined ? '' : Buffer.from(JSON.stringify(next)).toString('base64url')
  return { tasks, nextPageToken, pageSize, totalSize: seen + tasks.length + (next === undefined ? 0 : 1) }
}

function placeIn(token: string): Place {
  if (token === '') return { seen: 0 }
  try {
    const place = JSON.parse(Buffer.from(token, 'base64url').toString()) as Partial<Place>
    if (typeof place.seen === 'number') return place as Place
  } catch {
    // Refused below.
  }
  throw badRequest('pageToken is not one of this server.')
}

interface Found {
  readonly fold: TaskFold
  readonly at: Omit<Place, 'seen'>
}

async function* foldsFrom(
  reader: TaskReader,
  request: ListTasksRequest,
  place: Place,
): AsyncGenerator<Found, void, undefined> {
  const { status, statusTimestampAfter } = request
  const since = statusTimestampAfter === undefined ? 0 : Date.parse(statusTimestampAfter)
  if (Number.isNaN(since)) throw badRequest('statusTimestampAfter is no time.')
  if (status === UNRECOGNIZED) throw badRequest('status is no state of a task.')
  const isAsked = ({ state }: TaskFold): boolean => !status || status === STATE[state]
  for await (const { contextId, cursor } of contexts(reader, request.contextId, place.cursor)) {
    const key = reader.existing(contextId)
    if (key === undefined) continue
    const before = contextId === place.contextId ? place.before : undefined
    for await (const seq of reader.host.reads.firstMessages(key, before)) {
      const fold = await reader.read({ contextId, seq })
      if (fold === undefined || fold.at < since || !isAsked(fold)) continue
      yield { fold, at: { ...(cursor === undefined ? {} : { cursor }), contextId, before: seq + 1 } }
    }
  }
}

interface Context {
  readonly contextId: string
  /** Lists this conversation again as the first. */
  readonly cursor?: string
}

async function* contexts(
  { host, caller: { tenant, actor }, agent }: TaskReader,
  only: string,
  from: string | undefined,
): AsyncGenerator<Context, void, undefined> {
  if (only !== '') {
    yield { contextId: only }
    return
  }
  const prefix = `${agent}:`
  for (let cursor = from; ; ) {
    const { heads, next } = await host.store.list({
      owner: { tenant, actor },
      prefix,
      limit: 1,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { key } of heads)
      yield { contextId: key.contextId.slice(prefix.length), ...(cursor === undefined ? {} : { cursor }) }
    if (next === undefined) return
    cursor = next
  }
}
