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
  const tooLarge = new HttpProblem({
    status: 413,
    code: 'too-large',
    detail: `The body may have ${most} bytes.`,
  })
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > most) {
      void reader.cancel().catch(() => {})
      throw tooLarge
    }
    chunks.push(value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail: 'The body is not UTF-8.' })
  }
}
