/**
 * The page: the built files of `studio`, read once and served from a fixed map, so that no path of a request ever reaches the
 * file system.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { HoldfastError } from '../../protocol/index.ts'

/** Everything from the server itself, and nothing inline; scripts cannot turn a text into markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Beside the built server, or in the checkout that its sources run from. */
const FOLDERS = ['../../page/', '../../../dist/page/']

export interface PageFile {
  /** As in the address: `/`, `/assets/index-4f2a.js`. */
  readonly path: string
  readonly respond: (request: Request) => Response
}

export function isPageBuilt(): boolean {
  return pageFolder() !== undefined
}

function pageFolder(): URL | undefined {
  return FOLDERS.map((path) => new URL(path, import.meta.url)).find((url) =>
    existsSync(new URL('index.html', url)),
  )
}

/** Throws if the page is not built. */
export function readPage(): readonly PageFile[] {
  const folder = pageFolder()
  if (folder === undefined)
    throw new HoldfastError('invalid-option', {
      message: 'The page is not built. Run npm run build in the checkout, or leave out the option page.',
    })
  const root = fileURLToPath(folder)
  return readdirSync(root, { recursive: true, withFileTypes: true }).flatMap((each) => {
    const type = TYPES[extname(each.name).slice(1)]
    if (!each.isFile() || type === undefined) return []
    const file = join(each.parentPath, each.name)
    return [pageFile(`/${relative(root, file).replaceAll('\\', '/')}`, type, readFileSync(file))]
  })
}

function pageFile(path: string, type: string, content: Buffer): PageFile {
  const etag = `"${createHash('sha256').update(content).digest('hex').slice(0, 32)}"`
  const plain = new Uint8Array(content)
  const zipped = new Uint8Array(gzipSync(content, { level: 9 }))
  // Names in assets have a hash of the content.
  const isFixed = path.startsWith('/assets/')
  const headers = {
    'content-type': type,
    'cache-control': isFixed ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': POLICY,
    etag,
    vary: 'accept-encoding',
  }
  return {
    path: path === '/index.html' ? '/' : path,
    respond: (request) => {
      if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
      return takesGzip(request)
        ? new Response(zipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
        : new Response(plain, { headers })
    },
  }
}

function takesGzip(request: Request): boolean {
  return /(^|,)\s*gzip\s*(;\s*q=(1|0?\.\d*[1-9]))?\s*(,|$)/i.test(
    request.headers.get('accept-encoding') ?? '',
  )
}
