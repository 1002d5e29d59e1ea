/** A local server that is a search vendor at http://vendor.example, and the web at every other host. */
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import type { AllowedOrigin } from '../../../src/net/index.ts'
import { type Internet, internet } from '../../toolbox/web-kit.ts'

export interface VendorAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless it is a text. */
  readonly body: unknown
}

export interface Sent {
  readonly method: string | undefined
  readonly path: string
  readonly query: Record<string, string>
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface World {
  /** The answers of the vendor, one after the other; the last one stays. */
  readonly vendor: readonly VendorAnswer[]
  /** By host and path; a text is HTML. Others have status 404. */
  readonly pages?: Readonly<Record<string, string | RequestListener>>
  readonly addresses?: Record<string, readonly string[]>
}

export interface SearchWorld extends Internet {
  /** Requests to the vendor. */
  readonly sent: Sent[]
  /** Requests to pages, as `host/path`. */
  readonly visited: string[]
}

export async function world({ vendor, pages = {}, addresses = {} }: World): Promise<SearchWorld> {
  const [sent, visited]: [Sent[], string[]] = [[], []]
  const net = await internet(
    (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://any')
      const address = `${request.headers.host}${pathname}`
      if (request.headers.host === 'vendor.example') {
        let body = ''
        request.setEncoding('utf8').on('data', (part: string) => (body += part))
        request.on('end', () => {
          const { method, headers } = request
          sent.push({ method, headers, path: pathname, query: Object.fromEntries(searchParams), body })
          answer(vendor[Math.min(sent.length, vendor.length) - 1] as VendorAnswer, response)
        })
        return
      }
      visited.push(address)
      const page = pages[address]
      if (typeof page === 'function') page(request, response)
      else if (page === undefined)
        response.writeHead(404, { 'content-type': 'text/html' }).end('<p>no page</p>')
      else response.setHeader('content-type', 'text/html; charset=utf-8').end(page)
    },
    { answers: addresses },
  )
  return { ...net, sent, visited }
}

function answer(
  { status = 200, headers = {}, body }: VendorAnswer,
  response: Parameters<RequestListener>[1],
): void {
  const isText = typeof body === 'string'
  const type = isText ? 'text/html; charset=utf-8' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers }).end(isText ? body : JSON.stringify(body))
}

/** Plain HTTP for the hosts of the tests: pages of other hosts would be requested over https. */
export const PLAIN: readonly AllowedOrigin[] = ['kelp', 'tide', 'www.kelp'].map((host) => ({
  origin: `http://${host}.example`,
}))

export function article(title: string, text: string): string {
  return `<!doctype html><html><head><title>${title}</title></head><body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
    <article><h1>${title}</h1>${text}</article><footer>All rights reserved</footer></body></html>`
}
