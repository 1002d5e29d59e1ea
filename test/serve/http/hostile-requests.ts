/** Generated requests that are malformed, huge, slow or hostile, as bytes for a socket. */
import { Random } from '../../reflex/random.ts'

export interface HostileRequest {
  readonly kind: string
  /** Written one after the other. */
  readonly pieces: readonly Buffer[]
  /** The wait between two pieces. */
  readonly waitMs: number
  /** The conversation that it names, if it could begin one. */
  readonly contextId?: string
  readonly isHead?: true
}

interface Raw {
  readonly method?: string
  readonly path?: string
  readonly version?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
  /** Sent as it is, without a length. */
  readonly tail?: string | Buffer
}

const JSON_TYPE = 'Content-Type: application/json'

function raw({
  method = 'GET',
  path = '/agents',
  version = 'HTTP/1.1',
  headers = [],
  body,
  tail = '',
}: Raw): Buffer {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const lines = [
    `${method} ${path} ${version}`,
    'Host: localhost',
    'Connection: close',
    ...length,
    ...headers,
  ]
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    Buffer.from(body ?? ''),
    Buffer.from(tail),
  ])
}

const one = (kind: string, bytes: Buffer): HostileRequest => ({ kind, pieces: [bytes], waitMs: 0 })

const TEXTS: readonly string[] = [
  '\u0000',
  '\u202e',
  '\ud800',
  '💥',
  'ﬀ',
  'İ',
  '\r\nX: y',
  '%',
  '%zz',
  '%00',
  '%ff',
  '%c0%af',
  '%2e%2e',
  '..',
  '.',
  '~',
  '~state',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  "' OR 1=1 --",
  '{{7*7}}',
  '<script>',
  '$(id)',
  '\\',
  '//',
  ';',
  'a:',
  ':',
  'a:b:c',
  'a:x/../y',
  'a:x%2Fy',
  'b:1',
  `a:${'x'.repeat(600)}`,
  'x'.repeat(5000),
  '😀'.repeat(200),
  '-1',
  '1e309',
  'NaN',
]

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  '',
  ' ',
  '\u0000',
  '\ud800',
  [],
  {},
  [[]],
  [null],
  { type: 'text' },
  { length: 1e9 },
  [{ type: 'file', mediaType: 'x', data: '%%%' }],
  [{ type: 'text', text: 1 }],
  { constructor: { prototype: { x: 1 } } },
  'x'.repeat(3000),
  { toJSON: 'x' },
  Array.from({ length: 300 }, () => 0),
  { '': { '': '' } },
]

const BROKEN_JSON: readonly (string | Buffer)[] = [
  '',
  '{',
  '}',
  '{"message":',
  '{"message":"x"',
  '{"message":"x",}',
  "{'message':'x'}",
  '{"message":NaN}',
  'null',
  '7',
  '"x"',
  '[]',
  'undefined',
  '\ufeff{"message":"x"}x',
  '{"message":"\\ud800',
  '{"message":"\\x"}',
  '{"message":"x"}{"message":"y"}',
  '{"__proto__":{"a":1},"message":"x"}',
  '{"message":"x","metadata":{"__proto__":{"isAdmin":true}}}',
  '{"message":"x","credentials":{"__proto__":1}}',
  '['.repeat(50_000),
  '{"a":'.repeat(20_000),
  `{"message":${'9'.repeat(5000)}}`,
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  Buffer.from([0xc0, 0xaf, 0xed, 0xa0, 0x80]),
  Buffer.alloc(200, 0),
  '{"message":"x","message":7}',
  '{"message":"x","continue":true}',
  '{"values":[]}',
  '{"answers":{}}',
]

const POSTS = ['messages', 'answers', 'cancel', 'fork', 'recreate'] as const
const GETS = [
  '',
  '/events',
  '/entries',
  '/messages',
  '/trace',
  '/state',
  '/graph',
  '/artifacts',
  '/artifacts/x',
]
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  messages: ['message', 'values', 'continue', 'whileBusy', 'metadata', 'credentials', 'other'],
  answers: ['answers', 'credentials'],
  cancel: ['reason', 'turn'],
  fork: ['at'],
  recreate: ['other'],
}

type Make = (random: Random, name: string) => HostileRequest

const KINDS: Readonly<Record<string, Make>> = {
  'request line': (random) =>
    one(
      '',
      Buffer.from(
        random.pick([
          'GET\r\n\r\n',
          'GET /\r\n\r\n',
          'GET / HTTP/9.9\r\n\r\n',
          'GET / HTTP/1.1\r\n\r\n',
          'get / http/1.1\r\n\r\n',
          '\r\n\r\n\r\nGET',
          'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
          'GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n',
          'GET /\u0000 HTTP/1.1\r\nHost: localhost\r\n\r\n',
          '\u0016\u0003\u0001\u0002\u0000\u0001',
          'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
          'GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
          'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
          'GET http://evil.example/agents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
          'GET /agents HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
          'GET /agents HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
          'GET /agents HTTP/1.1\r\nHost: localhost\r\nHost: other\r\nConnection: close\r\n\r\n',
          'GET /agents HTTP/1.0\r\n\r\n',
        ]),
        'latin1',
      ),
    ),
  method: (random) =>
    one(
      '',
      raw({
        method: random.pick([
          'TRACE',
          'PUT',
          'PATCH',
          'LINK',
          'PURGE',
          'BREW',
          'DELETE',
          'PROPFIND',
          'X'.repeat(300),
        ]),
        path: random.pick(['/', '/agents', '/conversations', '/conversations/a:1']),
      }),
    ),
  head: (random) => ({
    ...one(
      '',
      raw({
        method: 'HEAD',
        path: random.pick([
          '/health',
          '/nowhere',
          '/conversations/a:none/events',
          '/conversations/a:kept/events',
          '/metrics',
        ]),
      }),
    ),
    isHead: true,
  }),
  path: (random) => {
    const text = random.pick(TEXTS)
    const shown =
      random.below(2) === 0
        ? encodeURIComponent(text.toWellFormed())
        : Buffer.from(text.toWellFormed(), 'utf8')
            .toString('latin1')
            .replaceAll(/[\r\n ]/g, '')
    return one(
      '',
      raw({
        path: random.pick([
          `/conversations/${shown}${random.pick(GETS)}`,
          `/${shown}`,
          `//${shown}`,
          `/conversations/../${shown}`,
          `/conversations/a:kept/artifacts/${shown}`,
          `/x?${shown}`,
        ]),
      }),
    )
  },
  query: (random) => {
    const name = random.pick([
      'since',
      'limit',
      'from',
      'to',
      'turn',
      'wait',
      'cursor',
      'status',
      'q',
      'agent',
      'version',
      '__proto__',
      'constructor',
      'toString',
    ])
    const value = encodeURIComponent(random.pick(TEXTS).toWellFormed())
    return one(
      '',
      raw({
        path: `${random.pick(['/conversations', '/requests', ...GETS.filter((get) => get !== '/events').map((get) => `/conversations/a:kept${get}`)])}?${name}=${value}${random.below(3) === 0 ? `&${name}=1` : ''}`,
      }),
    )
  },
  headers: (random) => {
    const text = Buffer.from(random.pick(TEXTS).toWellFormed(), 'utf8')
      .toString('latin1')
      .replaceAll(/[\r\n\0]/g, '')
      .slice(0, 3000)
    const name = random.pick([
      'Idempotency-Key',
      'Last-Event-ID',
      'Range',
      'Accept',
      'Authorization',
      'X-API-Key',
      'Origin',
      'Content-Type',
      'Accept-Encoding',
      'If-None-Match',
      'Upgrade',
      'Expect',
      'X-Forwarded-For',
      'Content-Encoding',
    ])
    return one(
      '',
      raw({
        method: 'POST',
        path: '/conversations',
        headers: [`${name}: ${text}`, JSON_TYPE],
        body: '{"agent":"none"}',
      }),
    )
  },
  'header flood': (random) =>
    one(
      '',
      raw({
        headers: random.pick([
          Array.from({ length: 3000 }, (_, at) => `X-${at}: y`),
          [`X-Big: ${'x'.repeat(20_000)}`],
          [`${'X'.repeat(9000)}: y`],
          ['X: a\r\n b\r\n c'],
          ['No colon here'],
          [': empty'],
          ['X\u0000: y'],
          ['X: a\u0000b'],
          [`Cookie: ${'a=b; '.repeat(4000)}`],
          ['Content-Length: 5', 'Content-Length: 6'],
          ['Content-Length: -1'],
          ['Content-Length: 1e3'],
          ['Content-Length: 99999999999999999999'],
          ['Transfer-Encoding: gzip, chunked'],
          ['Transfer-Encoding: chunked', 'Content-Length: 3'],
          ['Transfer-Encoding: identity'],
          ['Expect: nothing'],
          ['Connection: upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x'],
        ]),
      }),
    ),
  chunks: (random, id) => ({
    ...one(
      '',
      raw({
        method: 'POST',
        path: `/conversations/${id}/messages`,
        headers: [JSON_TYPE, 'Transfer-Encoding: chunked'],
        tail: random.pick([
          'zz\r\n',
          '-1\r\nx\r\n',
          'ffffffffffffffffff\r\nx',
          '5\r\nab\r\n0\r\n\r\n',
          `1;${'x'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
          '0\r\nX: y\r\n\r\n',
          '2\r\n{}\r\n0\r\n\r\n',
          '1\r\n{\r\n0\r\n\r\n',
          '5\r\nhello\n0\r\n\r\n',
          '0x5\r\nhello\r\n0\r\n\r\n',
          '\r\n\r\n',
          '1\n{\n0\n\n',
          `0\r\n${'X: y\r\n'.repeat(5000)}\r\n`,
        ]),
      }),
    ),
    contextId: id,
  }),
  json: (random, id) => ({
    ...one(
      '',
      raw({
        method: 'POST',
        path: `/conversations/${id}/${random.pick(POSTS)}${random.pick(['', '?wait=true'])}`,
        headers: [JSON_TYPE],
        body: random.pick(BROKEN_JSON),
      }),
    ),
    contextId: id,
  }),
  types: (random, id) => {
    const post = random.pick(POSTS)
    const fields = FIELDS[post] ?? []
    const body = Object.fromEntries(
      Array.from({ length: 1 + random.below(3) }, () => [random.pick(fields), random.pick(VALUES)]),
    )
    return {
      ...one(
        '',
        raw({
          method: 'POST',
          path: `/conversations/${id}/${post}`,
          headers: [JSON_TYPE],
          body: JSON.stringify(body),
        }),
      ),
      contextId: id,
    }
  },
  'media type': (random, id) => ({
    ...one(
      '',
      raw({
        method: 'POST',
        path: `/conversations/${id}/messages`,
        headers: [
          `Content-Type: ${random.pick(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx', 'x', '*/*'])}`,
        ],
        body: '{"message":"x"}',
      }),
    ),
    contextId: id,
  }),
  huge: (random, id) => {
    const path = `/conversations/${id}/messages`
    const text = JSON.stringify({ message: 'x'.repeat(300_000) })
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const bytes = random.pick([
      raw({
        method: 'POST',
        path,
        headers: [JSON_TYPE, 'Content-Length: 10000000000'],
        tail: '{"message":"',
      }),
      raw({ method: 'POST', path, headers: [JSON_TYPE], body: text }),
      raw({
        method: 'POST',
        path,
        headers: [JSON_TYPE, 'Transfer-Encoding: chunked'],
        tail: chunk.repeat(6),
      }),
      raw({ method: 'POST', path, headers: [JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 5000000'] }),
    ])
    return { ...one('', bytes), contextId: id }
  },
  pipeline: (random, id) => ({
    ...one(
      '',
      Buffer.concat([
        Buffer.from('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'),
        random.pick([
          Buffer.from('garbage\r\n\r\n'),
          raw({ method: 'POST', path: `/conversations/${id}/messages`, headers: [JSON_TYPE], body: '{' }),
          Buffer.from('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200)),
          Buffer.alloc(100),
        ]),
      ]),
    ),
    contextId: id,
  }),
  slow: (random, id) => {
    const path = `/conversations/${id}/messages`
    const text = random.pick([
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-Slow: `,
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${JSON_TYPE}\r\nContent-Length: 1000\r\n\r\n{"message":"`,
      'G',
      '',
    ])
    const pieces = text.match(/[^]{1,20}/g) ?? []
    return { kind: '', pieces: pieces.map((piece) => Buffer.from(piece)), waitMs: 30, contextId: id }
  },
  noise: (random) =>
    one('', Buffer.from(Array.from({ length: 1 + random.below(2000) }, () => random.below(256)))),
}

/** Every kind in turn; slow ones are rarer, because each takes its time. */
export function* hostileRequests(count: number, seed: number): Generator<HostileRequest> {
  const random = new Random(seed)
  const kinds = Object.keys(KINDS)
  for (let at = 0; at < count; at++) {
    const kind = kinds[at % kinds.length] ?? ''
    const chosen = kind === 'slow' && at % (kinds.length * 5) !== kinds.indexOf('slow') ? 'types' : kind
    const make = KINDS[chosen] as Make
    yield { ...make(random, `a:h${seed}-${at}`), kind: chosen }
  }
}
