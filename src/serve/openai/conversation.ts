/**
 * The conversation of a request, and the key of its message, so that a repeated request finds the turn of the first. The
 * names are those of the caller: nobody can reach a conversation of somebody else.
 *
 * `Idempotency-Key` decides if it is there. Without it, a request that the `openai` package repeats by itself says so in
 * `X-Stainless-Retry-Count`, and finds the newest equal request within the time that its attempts may have taken.
 */
import { createHash } from 'node:crypto'
import { systemClock, systemIds } from '../../base/index.ts'
import type { Host } from '../../host/index.ts'
import type { ContextKey, Entry, Owner } from '../../protocol/index.ts'
import { beginAnew } from '../begin-anew.ts'
import { isPostedUnder } from '../key-header.ts'
import { badRequest, erasedProblem } from '../problem.ts'

export interface Place {
  readonly key: ContextKey
  /** The idempotency key of the message. */
  readonly inputKey: string
  /** The inbox entries that were posted under it before. */
  readonly posted: readonly Entry[]
}

export interface Placed {
  readonly host: Host
  readonly owner: Owner
  readonly headers: Headers
  /** The agent. */
  readonly model: string
  /** The name of the conversation, if the request has one. */
  readonly name?: string
  readonly body: unknown
}

export async function placeOf(request: Placed): Promise<Place> {
  const place = await (request.name === undefined ? newPlace(request) : namedPlace(request, request.name))
  const isFirst = givenKey(request.headers) === undefined && repeatedSince(request.headers) === undefined
  const entries = isFirst ? [] : await newestEntries(request.host, place.key)
  const posted = entries.filter((entry) => isPostedUnder(entry, place.inputKey))
  await beginAnew(request.host, place.key, { isKeyed: !isFirst, wasPosted: () => posted.length > 0 })
  return { ...place, posted }
}

/** `support:7` and `7` name the same conversation of `support`. */
function conversationKey({ tenant, actor }: Owner, model: string, name: string): ContextKey {
  if (name.includes('/')) throw badRequest('The name of a conversation cannot have a "/".')
  return { tenant, actor, contextId: name.startsWith(`${model}:`) ? name : `${model}:${name}` }
}

type Named = Pick<Place, 'key' | 'inputKey'>

async function namedPlace(request: Placed, name: string): Promise<Named> {
  const { host, owner, headers, model, body } = request
  const key = conversationKey(owner, model, name)
  const given = givenKey(headers)
  if (given !== undefined) return { key, inputKey: given }
  const prefix = `openai-${digest(body)}-`
  const since = repeatedSince(headers)
  const entries = since === undefined ? [] : await newestEntries(host, key)
  const newest = entries.find(({ at, key: posted }) => at >= (since ?? 0) && posted?.startsWith(prefix))
  return { key, inputKey: newest?.key?.split('/')[0] ?? `${prefix}${systemIds.next('message')}` }
}

/** A conversation of its own. Its id is found again by the digest of the request. */
async function newPlace({ host, owner, headers, model, body }: Placed): Promise<Named> {
  const given = givenKey(headers)
  if (given !== undefined)
    return { key: conversationKey(owner, model, `openai-${digest(given)}`), inputKey: given }
  const inputKey = `openai-${digest(body)}`
  const since = repeatedSince(headers)
  if (since !== undefined) {
    const prefix = `${model}:${inputKey}-`
    const [newest] = (await host.store.list({ owner, prefix, limit: 1 })).heads
    if (newest !== undefined && newest.createdAt >= since) return { key: newest.key, inputKey }
    if (await wasErased(host, owner, { prefix, since })) throw erasedProblem()
  }
  return { key: conversationKey(owner, model, `${inputKey}-${systemIds.next('chat')}`), inputKey }
}

/** More conversations for one body are not looked at. */
const MOST_EQUAL = 200

/** True if a conversation for an equal request was erased since then: this one may have run there. */
async function wasErased(
  { store }: Host,
  { tenant, actor }: Owner,
  { prefix, since }: { readonly prefix: string; readonly since: number },
): Promise<boolean> {
  const heads = await store.scan({ after: { tenant, actor, contextId: prefix }, limit: MOST_EQUAL })
  return heads.some(
    ({ key, status, createdAt }) =>
      status === 'erased' &&
      createdAt >= since &&
      key.contextId.startsWith(prefix) &&
      key.tenant === tenant &&
      key.actor === actor,
  )
}

function givenKey(headers: Headers): string | undefined {
  const given = headers.get('idempotency-key')
  if (given === null) return undefined
  if (!/^[\x21-\x7e]{1,180}$/.test(given))
    throw badRequest('Idempotency-Key must have 1 to 180 visible ASCII characters.')
  return `openai_${given}`
}

/** Time that an attempt takes beyond its limit: pauses between attempts, clocks. */
const MARGIN_MS = 60_000

/** The earliest time of the first attempt; undefined if this is the first. */
function repeatedSince(headers: Headers): number | undefined {
  const retries = Number(headers.get('x-stainless-retry-count') ?? 0)
  if (!(retries > 0)) return undefined
  const seconds = Number(headers.get('x-stainless-timeout') ?? 600)
  const eachMs = (Number.isFinite(seconds) ? seconds : 600) * 1000 + MARGIN_MS
  return systemClock.now() - retries * eachMs
}

/** A repeated message is seldom old. */
const SEARCHED = 1000

async function newestEntries(host: Host, key: ContextKey): Promise<readonly Entry[]> {
  if ((await host.reads.info(key)) === undefined) return []
  return host.reads.entries(key, { limit: SEARCHED, order: 'newest' })
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24)
}
