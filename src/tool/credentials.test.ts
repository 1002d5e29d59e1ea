/** The secrets in credentials, and the refused values (R19). */
import { describe, expect, it } from 'vitest'
import { secretsIn, secretsInText } from './credentials.ts'
import { redactorOf } from './redact.ts'

const SECRET = 'tok_8f2e1c0d9b'

/** Every container that a secret may come in. */
const SHAPES: readonly (readonly [string, unknown])[] = [
  ['a text', SECRET],
  ['a list', [SECRET]],
  ['a nested object', { a: { b: [SECRET] } }],
  ['a Map', new Map([['a', SECRET]])],
  [
    'the key of a Map',
    new Map([
      [SECRET, {}],
      [{ a: SECRET }, 1e9],
    ] as [unknown, unknown][]),
  ],
  ['a Set', new Set([SECRET])],
  ['a URL', new URL(`https://user:${SECRET}@host/path`)],
  ['search parameters', new URLSearchParams({ token: SECRET })],
  ['bytes', Buffer.from(SECRET)],
  ['an ArrayBuffer', new Uint8Array(Buffer.from(SECRET)).buffer],
  ['a header', `Bearer ${SECRET}`],
  ['a basic header', `Basic ${Buffer.from(`user:${SECRET}`).toString('base64')}`],
  ['a connection string', `postgres://app:${SECRET}@db.example:5432/main`],
  ['several hosts', `mongodb://app:${SECRET}@a.example:1,b.example:2/main`],
  ['words of a connection', `host=db user=app password=${SECRET} dbname=main`],
  ['fields of a connection', `Server=db;User Id=app;Password='${SECRET}';`],
  ['a signed address', `https://files.example/a?sv=2020&sig=${SECRET}&x=1`],
  ['a token in an address', `https://${SECRET}@git.example/a.git`],
  ['JSON', JSON.stringify({ type: 'service_account', private_key: SECRET })],
  ['blanks around', ` ${SECRET}\n`],
]

describe('a secret', () => {
  it.each(SHAPES)('is found when it is handed over as %s', (_, value) => {
    expect(redactorOf({ value }).text(`the tool says ${SECRET}!`)).toBe('the tool says [redacted]!')
  })

  it('may be a password with a slash in it', () => {
    const db = `mysql://app:${SECRET}/x@host/db`
    expect(redactorOf({ db }).text(`${SECRET}/x`)).toBe('[redacted]')
  })

  it('may be the key of an object', () => {
    const key = 'sk_live_8f2e1c0d9b7a'
    expect(redactorOf({ [key]: true }).text(key)).toBe('[redacted]')
  })

  it('is no name of a field, flag, date, or nothing', () => {
    const credentials = {
      githubToken: null,
      password: undefined,
      isAdmin: true,
      expires: new Date(),
      empty: '',
    }
    expect(secretsIn(credentials)).toEqual([])
  })

  it('may be a number of 8 digits', () => {
    expect(redactorOf({ pin: 12345678, large: 1234567890123n }).text('12345678 1234567890123')).toBe(
      '[redacted] [redacted]',
    )
  })

  it('is each line of a key', () => {
    const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj'
    const key = `-----BEGIN PRIVATE KEY-----\n${line}\nAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n`
    expect(redactorOf({ key }).text(`bad line ${line}`)).toBe('bad line [redacted]')
    expect(redactorOf({ key }).text('-----BEGIN PRIVATE KEY-----')).toBe('-----BEGIN PRIVATE KEY-----')
  })

  it('is found in credentials that name themselves', () => {
    const credentials: Record<string, unknown> = { token: SECRET }
    credentials['self'] = credentials
    expect(secretsIn(credentials)).toEqual([{ value: SECRET }])
  })

  it('is not the beginning of a connection string', () => {
    const redactor = redactorOf({ db: `postgres://app:${SECRET}@db/main` })
    expect(redactor.ended('uses postgres://app:')).toBe('uses postgres://app:')
    expect(redactor.text('postgres…')).toBe('postgres…')
  })
})

class Client {
  token = SECRET
}

describe('credentials are refused', () => {
  it.each([
    ['a short text', { user: 'bob' }, 'credentials.user has 3 characters'],
    ['a short number', { port: 5432 }, 'credentials.port has 4 characters'],
    [
      'a short password in an address',
      { db: 'postgres://app:pw@db/main' },
      'The password in credentials.db has 2',
    ],
    ['blanks around a short text', { pin: '   1234   ' }, 'credentials.pin has 4 characters'],
    ['few bytes', { key: Buffer.from('abc') }, 'credentials.key has 3 bytes'],
    ['a function', { token: () => SECRET }, 'credentials.token is a function'],
    ['a symbol', { token: Symbol(SECRET) }, 'credentials.token is a symbol'],
    ['a promise', { token: Promise.resolve(SECRET) }, 'credentials.token is an object of class "Promise"'],
    ['an object of a class', { client: new Client() }, 'credentials.client is an object of class "Client"'],
    [
      'a getter',
      {
        get token() {
          return SECRET
        },
      },
      'credentials.token is a getter',
    ],
    ['a Proxy', { client: new Proxy({}, {}) }, 'credentials.client is a Proxy'],
    ['too long a text', { token: 'x'.repeat(70_000) }, 'credentials.token has more than 65536 characters'],
    ['the mark itself', { token: 'redacted' }, 'credentials.token is part of "[redacted]"'],
    ['no object', SECRET, 'credentials must be an object'],
  ])('that are %s', (_, credentials, message) => {
    expect(() => secretsIn(credentials)).toThrow(message)
    expect(() => secretsIn(credentials)).not.toThrow(SECRET)
  })

  it('with what to do', () => {
    expect(() => secretsIn({ user: 'bob' })).toThrow(
      'credentials.user has 3 characters, and one that short cannot be found in what tools and models say. Use one of 8 or more; put what is no secret (a name, a port) into `metadata`. Nothing was stored.',
    )
  })
})

it('a text of the program is never refused: what is too short is no secret', () => {
  expect(secretsInText('none')).toEqual([])
  expect(secretsInText('http://user:pw@host/v1')).toEqual([
    { value: 'http://user:pw@host/v1', hasPublicStart: true },
  ])
})
