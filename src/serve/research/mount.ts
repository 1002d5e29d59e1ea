/**
 * The research assistant over HTTP: a question and its answer in one request, sessions by id, passages to read. A session is a
 * conversation of the flow and belongs to its caller: those of others are unknown. `GET /health` is the server's own.
 */
import { createHash } from 'node:crypto'
import { systemTimer } from '../../base/index.ts'
import type { Corpus } from '../../corpus/port.ts'
import type { Host, HostOutcome } from '../../host/index.ts'
import { type ContextKey, checkOptions, invalidOption, type OptionSet, shown } from '../../protocol/index.ts'
import { beginAnew } from '../begin-anew.ts'
import { authOf } from '../caller.ts'
import { isPostedUnder, keyHeader } from '../key-header.ts'
import type { Mount, MountCall } from '../mount.ts'
import { HttpProblem, problemWith } from '../problem.ts'
import { begunTurn } from '../turn-events.ts'
import { chatRequest, isSession } from './chat-request.ts'
import { OPERATIONS } from './operations.ts'
import { chatReply, type StoredResearch } from './research-state.ts'
import { sessionMessages } from './session-messages.ts'

export interface ResearchHttpOptions {
  /** The documents of the flow. */
  readonly corpus: Pick<Corpus, 'documents' | 'passage' | 'surroundings'>
  /** The name of the flow in the host. Default: `research`. */
  readonly flow?: string
  /** A question that takes longer is cancelled. Default: 5 minutes, which is also the most. */
  readonly timeoutMs?: number
}

const MOST_MS = 300_000

const OPTIONS: OptionSet<ResearchHttpOptions> = {
  place: 'researchHttp()',
  options: { corpus: 'an object', flow: 'a text', timeoutMs: { leastMs: 1 } },
  foreign: { name: 'flow', timeout: 'timeoutMs' },
}

/** `POST /chat`, `GET` and `DELETE /memory/{session}`, `GET /passages/{id}`. */
export function researchHttp(options: ResearchHttpOptions): Mount {
  checkOptions(options, OPTIONS)
  const { corpus, flow = 'research', timeoutMs = MOST_MS } = options
  if (typeof corpus?.documents !== 'function' || typeof corpus.passage !== 'function')
    throw invalidOption('corpus', `must have documents() and passage(), not ${shown(corpus)}`)
  if (timeoutMs > MOST_MS) throw invalidOption('timeoutMs', `must be at most ${MOST_MS}, not ${timeoutMs}`)
  const research = new ResearchRoutes({ corpus, flow, timeoutMs })
  return {
    name: 'research',
    operations: OPERATIONS,
    routes: [
      { method: 'POST', path: '/chat', handle: (call) => research.chat(call) },
      { method: 'GET', path: '/memory/{session}', handle: (call) => research.memory(call) },
      { method: 'DELETE', path: '/memory/{session}', handle: (call) => research.forget(call) },
      { method: 'GET', path: '/passages/{id}', handle: (call) => research.passage(call) },
    ],
  }
}

class ResearchRoutes {
  readonly #options: Required<ResearchHttpOptions>

  constructor(options: Required<ResearchHttpOptions>) {
    this.#options = options
  }

  async chat(call: MountCall): Promise<Response> {
    this.#checkFlow(call)
    const request = chatRequest(await call.body())
    const { corpus, timeoutMs } = this.#options
    if ((await corpus.documents()).length === 0)
      throw unknown(
        'empty-corpus',
        'There are no documents to search. Add some: holdfast research add FILES…',
      )
    const { host, caller } = call
    const given = keyHeader(call.request)
    const key = this.#keyOf(call, request.sessionId ?? this.#newSession(call, given))
    const values = {
      messages: [{ role: 'user', content: request.message }],
      // Null takes back the number of a question that was cut short.
      context: { top_k: request.topK },
    }
    const options = { auth: authOf(caller), ...(given === undefined ? {} : { key: given }) }
    await beginAnew(host, key, { isKeyed: given !== undefined, wasPosted: () => wasPosted(host, key, given) })
    const turn = await begunTurn(host.send(key, values, options))
    const ended = await inTime(turn.outcome, timeoutMs)
    if (ended === undefined) {
      await turn.cancel('took too long')
      throw tooLong(`The question took longer than ${timeoutMs / 1000} seconds, and was cancelled.`)
    }
    return Response.json(chatReply(stateOf(ended), this.#sessionOf(key)))
  }

  async memory(call: MountCall): Promise<Response> {
    const { key, createdAt, activeAt } = await this.#existing(call)
    const snapshot = (await call.host.reads.state(key)) as { readonly state?: StoredResearch } | null
    return Response.json({
      session_id: this.#sessionOf(key),
      message_count: snapshot?.state?.messages?.length ?? 0,
      messages: await sessionMessages(call.host, key),
      created_at: createdAt,
      active_at: activeAt,
    })
  }

  async forget(call: MountCall): Promise<Response> {
    const { key } = await this.#existing(call)
    await call.host.erase(key)
    return new Response(null, { status: 204 })
  }

  async passage(call: MountCall): Promise<Response> {
    this.#checkFlow(call)
    await call.host.checkTrust(this.#options.flow, call.caller)
    const { corpus } = this.#options
    const id = call.params['id'] ?? ''
    const found = await corpus.passage(id)
    if (found === undefined)
      throw unknown('not-found', 'There is no such passage. Its document was changed or removed.')
    const { documentId, title, source, page, text } = found
    const { before = '', after = '' } = (await corpus.surroundings?.(id)) ?? {}
    return Response.json({ id, document_id: documentId, title, source, page, before, text, after })
  }

  /** A flow that the caller may not talk to is unknown to the caller. */
  #checkFlow({ host, caller }: MountCall): void {
    if (!host.namesFor(caller).includes(this.#options.flow))
      throw unknown('not-found', `This server has no ${JSON.stringify(this.#options.flow)} for you.`)
  }

  async #existing(call: MountCall) {
    this.#checkFlow(call)
    const session = call.params['session'] ?? ''
    const key = this.#keyOf(call, session)
    const info = isSession(session) ? await call.host.reads.info(key) : undefined
    if (info === undefined) throw unknown('not-found', 'There is no such session.')
    return { ...info, key }
  }

  #keyOf({ caller: { tenant, actor } }: MountCall, session: string): ContextKey {
    return { tenant, actor, contextId: `${this.#options.flow}:${session}` }
  }

  #sessionOf({ contextId }: ContextKey): string {
    return contextId.slice(this.#options.flow.length + 1)
  }

  /** A request that is sent again under its key finds the session of the first. */
  #newSession({ host }: MountCall, key: string | undefined): string {
    if (key === undefined) return host.newContextId(this.#options.flow).slice(this.#options.flow.length + 1)
    return createHash('sha256').update(key).digest('hex').slice(0, 32)
  }
}

/** A repeated question is seldom old. */
const SEARCHED = 1000

async function wasPosted(host: Host, key: ContextKey, given = ''): Promise<boolean> {
  const entries = await host.reads.entries(key, { limit: SEARCHED, order: 'newest' })
  return entries.some((entry) => isPostedUnder(entry, given))
}

/** Undefined if it takes longer. */
async function inTime(outcome: Promise<HostOutcome>, ms: number): Promise<HostOutcome | undefined> {
  const late = Promise.withResolvers<undefined>()
  const cancel = systemTimer.after(ms, () => late.resolve(undefined))
  try {
    return await Promise.race([outcome, late.promise])
  } finally {
    cancel()
  }
}

/** The state of a question that was answered. Throws a problem for any other. */
function stateOf({ status, reason, limit, error, state }: HostOutcome): StoredResearch {
  if (status === 'completed' && limit === undefined) return state as StoredResearch
  if (limit !== undefined) throw tooLong(`The question was not answered: it reached its limit on ${limit}.`)
  if (reason === 'cancelled')
    throw new HttpProblem({ status: 409, code: 'cancelled', detail: 'The question was cancelled.' })
  throw new HttpProblem(problemWith(error?.code ?? 'internal', error?.message ?? 'The question failed.'))
}

function tooLong(detail: string): HttpProblem {
  return new HttpProblem({ status: 504, code: 'timeout', detail })
}

function unknown(code: string, detail: string): HttpProblem {
  return new HttpProblem({ status: 404, code, detail })
}
