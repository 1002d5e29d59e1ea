/** The content of an artifact as a response, whole or a range of its bytes. Never a type that a browser would run. */
import type { ArtifactContent } from '../../tool/index.ts'
import { HttpProblem } from '../problem.ts'

export function artifactResponse({ info, content }: ArtifactContent, request: Request): Response {
  const bytes = bytesOf(content)
  const headers = {
    'content-type': safeType(info.kind === 'file' ? info.mediaType : 'application/json'),
    'content-disposition': `attachment; filename*=UTF-8''${headerText(info.name ?? info.artifactId)}`,
    'accept-ranges': 'bytes',
    etag: `"${info.version}-${info.chunks}"`,
  }
  // A reader that has the beginning of another version gets the whole.
  const { headers: asked } = request
  const isSame = (asked.get('if-range') ?? headers.etag) === headers.etag
  const range = isSame ? rangeOf(asked.get('range'), bytes.length) : undefined
  if (range === undefined) return new Response(bytes, { headers })
  const [first, last] = range
  return new Response(bytes.subarray(first, last + 1), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${first}-${last}/${bytes.length}` },
  })
}

function bytesOf(content: ArtifactContent['content']): Uint8Array<ArrayBuffer> {
  if (content instanceof Uint8Array) return new Uint8Array(content)
  return new TextEncoder().encode(typeof content === 'string' ? content : JSON.stringify(content))
}

/** As RFC 8187 has it, which allows fewer characters than a URI. A tool may have cut a name inside of an emoji. */
function headerText(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const SAFE =
  /^(application\/(json|pdf|octet-stream|x-ndjson)|text\/(plain|csv|markdown)|image\/(png|jpeg|gif|webp))$/i

function safeType(type: string | undefined): string {
  return type !== undefined && SAFE.test(type) ? type : 'application/octet-stream'
}

/** One range, as clients ask for it; several are answered whole, as HTTP allows. */
function rangeOf(header: string | null, length: number): readonly [first: number, last: number] | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  const first = from === '' ? Math.max(0, length - Number(to)) : Number(from)
  const last = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
  if (first <= last && first < length) return [first, last]
  throw new HttpProblem({ status: 416, code: 'invalid-request', detail: `The artifact has ${length} bytes.` })
}
