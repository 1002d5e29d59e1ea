/** Reads the JSON of a request within a bound. */
import { HttpProblem } from './problem.ts'

/** The JSON of a body, at most `most` bytes of it, read as it comes; too large is known before all is read. */
export async function jsonBody(request: Request, most: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type))
    throw new HttpProblem({ status: 415, code: 'unsupported-media-type', detail: 'Send application/json.' })
  const text = await bodyText(request, most)
  try {
    return JSON.parse(text, refuseProto) as unknown
  } catch (error) {
    const detail = error instanceof HttpProblem ? error.message : 'The body is not valid JSON.'
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail })
  }
}

/** A key that would become the prototype of an object. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__')
    throw new HttpProblem({
      status: 400,
      code: 'invalid-request',
      detail: 'A field cannot be called __proto__.',
    })
  return value
}

async function bodyText(request: Request, most: number): Promise<string> {
  const declared = request.headers.get('content-length')
  if (Number(declared ?? 0) > most) throw tooLarge(most)
  const bytes = await bytesOf(request, { declared, most })
  if (bytes.length > most) throw tooLarge(most)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail: 'The body is not UTF-8.' })
  }
}

async function bytesOf(
  request: Request,
  { declared, most }: { readonly declared: string | null; readonly most: number },
): Promise<Uint8Array> {
  try {
    // The server holds a client to the length that it declares; a stream is several times slower.
    return declared === null ? await readStream(request, most) : new Uint8Array(await request.arrayBuffer())
  } catch (error) {
    if (error instanceof HttpProblem) throw error
    // The client has gone, which is no failure of the server's.
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail: 'The body ended too early.' })
  }
}

async function readStream(request: Request, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > most) {
      void reader.cancel().catch(() => {})
      throw tooLarge(most)
    }
    chunks.push(value)
  }
  return Buffer.concat(chunks)
}

function tooLarge(most: number): HttpProblem {
  return new HttpProblem({ status: 413, code: 'too-large', detail: `The body may have ${most} bytes.` })
}
