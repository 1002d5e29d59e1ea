/** What a scripted model says, and how a dialect puts it into events. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Vendor } from '../vendors/check-vendor-request.ts'

export interface Call {
  /** The provider's own id. */
  readonly id: string
  readonly tool: string
  /** An object, or text that stands where JSON should be. */
  readonly args?: object | string
}

export interface Reply {
  readonly thought?: string
  readonly text?: string
  readonly calls?: readonly Call[]
  /** It reached the most tokens that a reply may have. */
  readonly isCutOff?: boolean
}

export interface Trouble {
  readonly status: number
  readonly message: string
  /** The vendor's own word for it, if it is another than the status says. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Only Google says inside of the answer how long to wait. */
  readonly retryDelay?: string
}

export interface Dialect {
  readonly vendor: Vendor
  /** The path below which it is spoken. */
  readonly base: string
  readonly isAsked: (path: string) => boolean
  readonly key: (headers: IncomingHttpHeaders) => string | undefined
  /** The events of a reply up to the last piece of content, and those that end it. */
  readonly events: (reply: Reply, number: number) => { readonly content: string[]; readonly end: string[] }
  /** An error that comes when the reply has begun. */
  readonly failing: (trouble: Trouble) => string
  /** The body of a refusal. */
  readonly refusal: (trouble: Trouble) => object
  /** What only single models refuse. */
  readonly alsoRefuses?: (path: string, body: unknown) => string[]
}

/** One server-sent event. */
export function sse(data: object, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** A text in two pieces, as it comes in pieces. */
export function pieces(text: string): string[] {
  const half = Math.ceil(text.length / 2)
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== '')
}

export function argsText({ args = {} }: Call): string {
  return typeof args === 'string' ? args : JSON.stringify(args)
}

/** What every reply is said to have used. */
export const USED = { input: 20, cached: 16, output: 5 } as const
