/** The server as a function from a request to a response, on Hono: authentication, limits, checks, and then a route. */
import type { Context } from 'hono'
import { debugThrown, reportFailure } from '../../base/index.ts'
import { type Host, isVisitor } from '../../host/index.ts'
import {
  checkOptions,
  defined,
  invalidOption,
  isObject,
  type Json,
  type JsonObject,
  type OptionSet,
  shown,
} from '../../protocol/index.ts'
import { type SchemaCheck, schemaCheck } from '../../tool/index.ts'
import { type Authenticate, unauthorized } from '../caller.ts'
import { jsonBody } from '../json-body.ts'
import type { Mount, MountRoute } from '../mount.ts'
import { OpenStreams } from '../open-streams.ts'
import {
  badRequest,
  HttpProblem,
  isHidden,
  type Problem,
  problemOf,
  problemResponse,
  unknownAgent,
  unknownAgentIn,
} from '../problem.ts'
import { type AccessLine, accessLine } from './access-log.ts'
import { addressOf, type HttpConnection } from './address.ts'
import { Admission, limitName, type Seen } from './admission.ts'
import { answeredInTime } from './authenticate.ts'
import { Cors } from './cors.ts'
import { docsPage } from './docs-page.ts'
import { Metrics } from './metrics.ts'
import { openApi } from './openapi.ts'
import { newHono } from './packages.ts'
import { isPageBuilt, type PageFile, readPage } from './page.ts'
import { type Route, type RouteCall, type RouteServer } from './route.ts'
import { ROUTES } from './routes.ts'
import { VISITOR_KEY } from './visitor.ts'

export interface HttpOptions {
  /** Says whose a request is. Without it every caller is the local owner: for loopback only. */
  readonly authenticate?: Authenticate
  /** Origins that browsers may call from. Default: none but the server's own. */
  readonly cors?: readonly string[]
  /** The largest body. Default: 1 MB. */
  readonly maxBodyBytes?: number
  /** Requests of one caller in a minute. Default: 600. */
  readonly requestsPerMinute?: number
  /** Failed authentications of one address in a minute; then its unknown credentials are not tried. Default: 60. */
  readonly authFailuresPerMinute?: number
  /** `authenticate` that has not answered for so long fails its request. Default: 30 seconds. */
  readonly authTimeoutMs?: number
  /** The proxies in front of the server that add to X-Forwarded-For. Default: 0, the header is ignored. */
  readonly proxies?: number
  /** Open streams in all, and of one caller. Default: 10,000 and 100. */
  readonly maxStreams?: number
  readonly maxStreamsEach?: number
  /** A stream that is silent for so long gets a heartbeat. Default: 15 seconds. */
  readonly heartbeatMs?: number
  /** Serves the page at `/`; `if-built`: not in a checkout without it, where `true` is an error. Default: false. */
  readonly page?: boolean | 'if-built'
  /** Other protocols on this server, such as `openai()` of `holdfast/openai`. */
  readonly mounts?: readonly Mount[]
  /** Gets one line for each request. Default: none. */
  readonly accessLog?: (line: AccessLine) => void
  /** Gets the failures that callers do not see, such as the cause of an `internal`. Default: printed to standard error. */
  readonly onError?: (error: unknown) => void
}

const HTTP: OptionSet<HttpOptions> = {
  place: 'createHttp()',
  options: {
    authenticate: 'a function',
    cors: 'a list',
    maxBodyBytes: { least: 1 },
    requestsPerMinute: { least: 1 },
    authFailuresPerMinute: { least: 1 },
    authTimeoutMs: { leastMs: 1 },
    proxies: { least: 0 },
    maxStreams: { least: 1 },
    maxStreamsEach: { least: 1 },
    heartbeatMs: { leastMs: 1 },
    page: null,
    mounts: 'a list',
    accessLog: 'a function',
    onError: 'a function',
  },
  foreign: { auth: 'authenticate', bodyLimit: 'maxBodyBytes', logger: 'accessLog', trustProxy: 'proxies' },
}

export interface HttpServer {
  /** A fetch handler: Express, Next, Fastify, Bun and Deno can mount it. The address in `connection` counts for limits. */
  readonly fetch: (request: Request, connection?: HttpConnection) => Promise<Response>
  /** True if callers are authenticated. */
  readonly isAuthenticated: boolean
  readonly document: JsonObject
  /** Ends open streams, and opens none from now on. */
  readonly close: () => void
}

/** Of every response that has none of its own. Browsers keep a 404 and a 410 without `cache-control`, some for ever. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** An `authenticate` that is present and undefined comes from a failed lookup: it must not let everybody in. */
function checkHttp(host: unknown, options: HttpOptions): void {
  const { reads, send } = (host ?? {}) as Readonly<Record<string, unknown>>
  if (reads === undefined || typeof send !== 'function')
    throw invalidOption('createHttp()', `needs a host first, made by createHost(), not ${shown(host)}`)
  checkOptions(options, HTTP)
  if ('authenticate' in options && options.authenticate === undefined)
    throw invalidOption(
      'authenticate',
      'must be a function, not undefined; leave it out to make every caller the local owner',
    )
  for (const mount of (options.mounts ?? []) as readonly unknown[])
    if (!isObject(mount) || !Array.isArray((mount as Partial<Mount>).routes))
      throw invalidOption(
        'mounts',
        `must be protocols such as openai(), not ${shown(mount)}; await those that are promises`,
      )
}

export async function createHttp(host: Host, options: HttpOptions = {}): Promise<HttpServer> {
  checkHttp(host, options)
  const { mounts = [], authenticate } = options
  const document = openApi(ROUTES, { title: 'Holdfast', version: '1', mounts })
  const app = await newHono()
  const { maxStreams = 10_000, maxStreamsEach = 100 } = options
  const report = reporterOf(options)
  const streams = new OpenStreams({ most: maxStreams, mostEach: maxStreamsEach, report })
  const server = new Server(options, { host, streams, document, report })
  for (const route of ROUTES) {
    const checks = await checksOf(route)
    app.on(route.method, honoPath(route.path), (context) =>
      server.answer(context.req.raw, {
        route,
        checks,
        params: context.req.param(),
        ...(context.env as Pick<Matched, 'address'>),
      }),
    )
  }
  for (const mount of mounts)
    for (const route of mount.routes)
      app.on(route.method, honoPath(route.path), (context) =>
        server.mounted(context.req.raw, {
          mount,
          route,
          params: context.req.param(),
          ...(context.env as Pick<Matched, 'address'>),
        }),
      )
  const forEverybody = (route: string, respond: Respond) => (context: Context) =>
    server.forEverybody(context.req.raw, { route, ...(context.env as Pick<Matched, 'address'>) }, respond)
  for (const { path, respond } of pageFiles(options.page)) app.get(path, forEverybody('page', respond))
  app.get('/docs', forEverybody('docs', docsPage(document)))
  app.notFound((context) =>
    forEverybody('none', ({ method }) => {
      const allow = METHODS.filter((each) => app.router.match(each, context.req.path)[0].length > 0)
      throw new HttpProblem(allow.length === 0 ? NO_ADDRESS : noMethod(method, allow))
    })(context),
  )
  const stops = mounts.map((mount) => mount.start?.({ host, authenticate }))
  return {
    fetch: async (request, connection) => {
      if (request.method === 'OPTIONS') return server.preflight(request)
      return app.fetch(request, { address: addressOf(request, connection, options.proxies ?? 0) })
    },
    isAuthenticated: authenticate !== undefined,
    document,
    close: () => {
      streams.close()
      for (const stop of stops) stop?.()
    },
  }
}

type Respond = (request: Request) => Response

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
const NO_ADDRESS: Problem = {
  status: 404,
  code: 'not-found',
  detail: 'There is no such address. See /docs.',
}

/** A route for GET also answers HEAD. */
function noMethod(method: string, methods: readonly (typeof METHODS)[number][]): Problem {
  const allow = methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ')
  const detail = `This address takes ${allow}, not ${method}.`
  return { status: 405, code: 'method-not-allowed', detail, allow }
}

function pageFiles(page: HttpOptions['page'] = false): readonly PageFile[] {
  if (page !== true && page !== false && page !== 'if-built')
    throw invalidOption('page', `must be true, false or 'if-built', not ${shown(page)}`)
  return page === false || (page === 'if-built' && !isPageBuilt()) ? [] : readPage()
}

function fieldsOf({ properties }: JsonObject): readonly string[] {
  return Object.keys((properties ?? {}) as JsonObject)
}

interface Checks {
  readonly body?: { readonly check: SchemaCheck; readonly fields: readonly string[] }
  /** A map: a parameter may be called like a property of every object. */
  readonly query: ReadonlyMap<string, { readonly type: unknown; readonly check: SchemaCheck }>
}

async function checksOf({ body, query = {} }: Route): Promise<Checks> {
  const entries = await Promise.all(
    Object.entries(query).map(
      async ([name, schema]) => [name, { type: schema['type'], check: await schemaCheck(schema) }] as const,
    ),
  )
  return {
    query: new Map(entries),
    ...(body === undefined ? {} : { body: { check: await schemaCheck(body), fields: fieldsOf(body) } }),
  }
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

interface Matched {
  readonly route: Route
  readonly checks: Checks
  readonly params: Readonly<Record<string, string>>
  readonly address?: string | undefined
}

interface MountMatch {
  readonly mount: Mount
  readonly route: MountRoute
  readonly params: Readonly<Record<string, string>>
  readonly address?: string | undefined
}

/** A request in the log, and its failure in the form of its protocol. */
interface Guarded extends Pick<Mount, 'problem'> {
  readonly route: string
}

interface ServerParts {
  readonly host: Host
  readonly streams: OpenStreams
  readonly document: JsonObject
  readonly report: Report
}

class Server {
  readonly #options: HttpOptions
  readonly #report: Report
  readonly #shared: RouteServer
  readonly #streams: OpenStreams
  readonly #admission: Admission
  readonly #cors: Cors
  readonly #metrics = new Metrics()

  constructor(options: HttpOptions, { host, streams, document, report }: ServerParts) {
    this.#options = options
    this.#report = report
    this.#streams = streams
    this.#cors = new Cors(options.cors ?? [], options.mounts ?? [])
    const { requestsPerMinute, authFailuresPerMinute, authTimeoutMs, heartbeatMs = 15_000 } = options
    const authenticate = options.authenticate && answeredInTime(options.authenticate, authTimeoutMs)
    this.#admission = new Admission({ host, authenticate, requestsPerMinute, authFailuresPerMinute })
    this.#shared = {
      host,
      heartbeatMs,
      checkOpen: () => streams.checkOpen(),
      metrics: () => this.#metrics.text(host, streams.total),
      document: () => document,
    }
  }

  preflight(request: Request): Promise<Response> {
    return this.guarded(request, { route: 'preflight' }, () => {
      const headers = this.#cors.preflight(request)
      return headers === undefined
        ? new Response(null, { status: 403 })
        : new Response(null, { status: 204, headers })
    })
  }

  /** A route that is no operation and needs no caller: limited by address. */
  forEverybody(
    request: Request,
    { route, address }: { readonly route: string; readonly address?: string | undefined },
    respond: (request: Request) => Response,
  ): Promise<Response> {
    return this.guarded(request, { route }, () => {
      this.#admission.public(address)
      return respond(request)
    })
  }

  answer(request: Request, { route, checks, params, address }: Matched): Promise<Response> {
    return this.guarded(request, { route: route.id }, async (seen) => {
      const caller = route.isPublic
        ? this.#admission.public(address)
        : await this.#admission.caller(request, address, seen)
      if (route.isForKnown && isVisitor(caller)) throw unauthorized()
      const call: RouteCall = {
        request,
        params: decoded(params),
        query: queryOf(request, checks),
        body: await this.#body(request, checks),
        caller,
        openStream: () => this.#streams.enter(limitName(caller, address), request),
        server: this.#shared,
      }
      return route.handle(call)
    })
  }

  mounted(request: Request, { mount, route, params, address }: MountMatch): Promise<Response> {
    const { host, heartbeatMs } = this.#shared
    const work = async (seen: Seen): Promise<Response> => {
      const caller = route.isPublic
        ? this.#admission.public(address)
        : await this.#admission.caller(request, address, seen)
      return route.handle({
        request,
        params: decoded(params),
        caller,
        host,
        heartbeatMs,
        body: () => jsonBody(request, this.#maxBodyBytes),
        openStream: () => this.#streams.enter(limitName(caller, address), request),
      })
    }
    return this.guarded(request, { route: mount.name, ...defined({ problem: mount.problem }) }, work)
  }

  /** Turns every failure into a problem, and records the request. */
  async guarded(
    request: Request,
    { route, problem: respond = problemResponse }: Guarded,
    work: (seen: Seen) => Promise<Response> | Response,
  ): Promise<Response> {
    const started = performance.now()
    const seen: Seen = {}
    let problem: Problem | undefined
    let response: Response
    try {
      this.#cors.check(request)
      response = await work(seen)
    } catch (error) {
      problem = this.#problem(error, seen)
      if (isHidden(error)) this.#report(error)
      response = respond(problem, request)
    }
    const ms = performance.now() - started
    this.#metrics.count(route, response.status, ms / 1000)
    const { status } = response
    const answered = { route, status, ms, ...defined({ caller: seen.caller, code: problem?.code }) }
    this.#logged(accessLine(request, answered))
    if (seen.visitorKey !== undefined) response.headers.set(VISITOR_KEY, seen.visitorKey)
    // An answer to HEAD has no body: a stream gives its place back.
    if (request.method === 'HEAD') await response.body?.cancel()
    return this.#finished(request, response)
  }

  get #maxBodyBytes(): number {
    return this.#options.maxBodyBytes ?? 1_000_000
  }

  async #body(request: Request, { body: checked }: Checks): Promise<Json> {
    if (checked === undefined) return null
    const body = (await jsonBody(request, this.#maxBodyBytes)) as Json
    const issues = checked.check(body)
    if (issues.length === 0) return body
    const isUnknown = Object.keys(body ?? {}).some((field) => !checked.fields.includes(field))
    const known =
      isUnknown && checked.fields.length > 0 ? ` Its fields are ${checked.fields.join(', ')}.` : ''
    throw badRequest(`The body does not fit.${known}`, issues.slice(0, 20).map(issueText))
  }

  #finished(request: Request, response: Response): Response {
    // The page has a policy of its own.
    for (const [name, value] of Object.entries({ ...HEADERS, ...this.#cors.headers(request) }))
      if (!response.headers.has(name)) response.headers.set(name, value)
    return response
  }

  #problem(error: unknown, { caller }: Seen): Problem {
    const agent = unknownAgentIn(error)
    if (agent === undefined) return problemOf(error)
    return unknownAgent(agent, caller === undefined ? undefined : this.#shared.host.namesFor(caller))
  }

  #logged(line: AccessLine): void {
    try {
      this.#options.accessLog?.(line)
    } catch (error) {
      this.#report(error)
    }
  }
}

type Report = (error: unknown) => void

/** The callback of an embedder changes no answer. */
function reporterOf({ onError }: HttpOptions): Report {
  if (onError === undefined) return (error) => reportFailure('a request failed', error)
  return (error) => {
    try {
      onError(error)
    } catch (thrown) {
      debugThrown('onError', thrown)
    }
  }
}

function decoded(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value.normalize('NFC')]))
}

function queryOf(request: Request, { query }: Checks): RouteCall['query'] {
  const given = new URL(request.url).searchParams
  const values: Record<string, string | number | boolean> = {}
  for (const [name, text] of given) {
    const rule = query.get(name)
    if (rule === undefined) throw badRequest(`There is no parameter ${JSON.stringify(name.slice(0, 100))}.`)
    if (given.getAll(name).length > 1) throw badRequest(`The parameter ${name} is given twice.`)
    const value = typed(text, rule.type)
    const issues = rule.check(value)
    if (issues.length > 0) throw badRequest(`The parameter ${name} does not fit.`, issues.map(issueText))
    values[name] = value
  }
  return values
}

function typed(text: string, type: unknown): string | number | boolean {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function issueText({ path = [], message }: ReturnType<SchemaCheck>[number]): string {
  const place = path.map((each) => (typeof each === 'object' ? String(each.key) : String(each))).join('.')
  return place === '' ? message : `${place}: ${message}`
}
