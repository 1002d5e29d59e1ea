/** Admits requests: authenticates the caller, and bounds failures and requests in a time. */
import { systemClock } from '../../base/index.ts'
import { type Host, isVisitor } from '../../host/index.ts'
import { type Authenticate, type Caller, callerName, unauthorized } from '../caller.ts'
import { Attempts } from './attempts.ts'
import { RateLimit } from './limits.ts'
import { hasCredentials, visitorOf } from './visitor.ts'

export interface AdmissionOptions {
  readonly host: Host
  readonly authenticate?: Authenticate | undefined
  readonly requestsPerMinute?: number | undefined
  readonly authFailuresPerMinute?: number | undefined
}

/** A request on its way: what is known of its caller so far. */
export interface Seen {
  caller?: Caller
  visitorKey?: string
}

/** The name of a caller for limits. A visitor may have any number of keys, so visitors go by address. */
export function limitName(caller: Caller, address: string | undefined): string {
  return isVisitor(caller) ? `visitors ${address ?? ''}` : callerName(caller)
}

const LOCAL: Caller = { tenant: 'local', actor: 'local' }

export class Admission {
  readonly #host: Host
  readonly #rate: RateLimit
  readonly #attempts: Attempts | undefined

  constructor({ host, authenticate, requestsPerMinute = 600, authFailuresPerMinute = 60 }: AdmissionOptions) {
    this.#host = host
    this.#rate = new RateLimit(requestsPerMinute, systemClock)
    if (authenticate !== undefined)
      this.#attempts = new Attempts(authenticate, new RateLimit(authFailuresPerMinute, systemClock))
  }

  /** Of a public route: nobody in particular, limited by address. */
  public(address: string | undefined): Caller {
    this.#rate.take(`public ${address ?? ''}`)
    return LOCAL
  }

  /** The caller, who is also noted in `seen`. Throws a problem. */
  async caller(request: Request, address: string | undefined, seen: Seen): Promise<Caller> {
    const caller = await this.#caller(request, address, seen)
    seen.caller = caller
    this.#rate.take(limitName(caller, address))
    return caller
  }

  async #caller(request: Request, address: string | undefined, seen: Seen): Promise<Caller> {
    if (this.#attempts === undefined) return LOCAL
    const mayVisit = this.#host.admitsVisitors && !hasCredentials(request)
    const caller = await this.#attempts.caller(request, address, mayVisit)
    if (typeof caller === 'object' && !isVisitor(caller)) return caller
    if (caller !== undefined || !mayVisit) throw unauthorized()
    const visitor = visitorOf(request)
    seen.visitorKey = visitor.key
    return visitor.caller
  }
}
