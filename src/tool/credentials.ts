/**
 * The secrets in credentials: every value, and parts that are secret by themselves, such as the password of a connection
 * string. Refuses values that could not be found again in a text.
 */
import * as types from 'node:util/types'
import { defined, HoldfastError, quote } from '../protocol/index.ts'
import type { Secret } from './secret-forms.ts'

/**
 * The caller's secrets. Passed to tools and never stored. Plain objects, lists, Maps, Sets, URLs, bytes, texts of 8
 * characters or more and numbers of 8 digits or more.
 */
export type Credentials = Readonly<Record<string, unknown>>

/** Shorter texts occur by chance. */
const SHORTEST = 8
const LONGEST = 64 * 1024
const MOST_VALUES = 10_000

/** The replacement of a secret. */
export const REDACTED = '[redacted]'

/** A text, number or bytes in credentials, with its path. */
export interface Leaf {
  readonly value: string | Buffer
  readonly path: string
}

/** All secrets in the credentials. Throws `invalid-option` for a value that could not be found again in a text. */
export function secretsIn(credentials: unknown): readonly Secret[] {
  return secretsOf(leavesIn(credentials))
}

/** All values in the credentials that have no parts. Throws for a value without a text. */
export function leavesIn(credentials: unknown): readonly Leaf[] {
  if (typeof credentials !== 'object' || credentials === null)
    throw refused('credentials', `must be an object, not a ${typeof credentials}`, 'Give { token: … }.')
  const leaves: Leaf[] = []
  const seen = new Set<object>()
  const open: NestedValue[] = [{ value: credentials, path: 'credentials' }]
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    const { value, path } = found
    if (typeof value === 'object' && value !== null) {
      if (seen.has(value)) continue
      seen.add(value)
    }
    if (seen.size + leaves.length > MOST_VALUES)
      throw refused('credentials', `has more than ${MOST_VALUES} values`, 'Give fewer.')
    for (const inner of visit(value, path, leaves)) open.push(inner)
  }
  return leaves
}

/** The secrets that these values are or contain. Throws for values that are too short or too long. */
export function secretsOf(leaves: readonly Leaf[]): readonly Secret[] {
  return leaves.flatMap(({ value, path }): readonly Secret[] => {
    checkLength(value, path)
    if (typeof value !== 'string') return [{ value }]
    const { whole, parts, password } = readText(value)
    if (password !== undefined) checkLength(password, `The password in ${path}`)
    return [whole, ...parts.filter(isLongEnough).map((part) => ({ value: part }))]
  })
}

/** The text itself and its secret parts, if long enough to be found. Refuses nothing. */
export function secretsInText(text: string): readonly Secret[] {
  const { whole, parts } = readText(text)
  return [...(isLongEnough(text) ? [whole] : []), ...parts.filter(isLongEnough).map((value) => ({ value }))]
}

interface NestedValue {
  readonly value: unknown
  readonly path: string
}

/** Adds a leaf value, or returns the parts of a composite one. */
function visit(value: unknown, path: string, leaves: Leaf[]): readonly NestedValue[] {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
      if (value !== '') leaves.push({ value: String(value), path })
      return []
    case 'object':
      return value === null ? [] : visitObject(value, path, leaves)
    case 'function':
    case 'symbol':
      throw refused(path, `is a ${typeof value}, and has no text that could be found`, 'Give its result.')
    case 'boolean':
    case 'undefined':
    default:
      return []
  }
}

function visitObject(value: object, path: string, leaves: Leaf[]): readonly NestedValue[] {
  if (types.isProxy(value)) throw refused(path, 'is a Proxy', 'Give a copy, such as { ...it }.')
  if (value instanceof URL || value instanceof URLSearchParams) return [{ value: value.toString(), path }]
  if (value instanceof Date) return []
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    const bytes = bytesOf(value)
    if (bytes.length > 0) leaves.push({ value: bytes, path })
    return []
  }
  if (value instanceof Map)
    return [...(value as Map<unknown, unknown>)].flatMap(([key, inner]) => {
      if (typeof key !== 'string')
        return [
          { value: key, path: `${path} (a key)` },
          { value: inner, path },
        ]
      return [{ value: inner, path: named(path, key, leaves) }]
    })
  if (value instanceof Set) return [...(value as Set<unknown>)].map((inner) => ({ value: inner, path }))
  if (Array.isArray(value))
    return value.map((inner: unknown, at) => ({ value: inner, path: `${path}[${at}]` }))
  if (!isPlain(value))
    throw refused(
      path,
      `is an object of class ${quote(classOf(value))}, whose secret fields are unknown`,
      'Give the texts that it holds.',
    )
  return Reflect.ownKeys(value).flatMap((key) => {
    const field: { get?: unknown; value?: unknown } | undefined = Object.getOwnPropertyDescriptor(value, key)
    const name = typeof key === 'symbol' ? path : named(path, key, leaves)
    if (field?.get !== undefined) throw refused(name, 'is a getter', 'Read it first and give the value.')
    return [{ value: field?.value, path: name }]
  })
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function classOf(value: object): unknown {
  return (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name
}

/** A key is a name, unless it is long and mixed like a token. */
const TOKEN = /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_+/=-]{16,}$|^eyJ[\w-]+\.[\w-]+/

function named(path: string, key: string, leaves: Leaf[]): string {
  if (key.length < SHORTEST || !TOKEN.test(key)) return `${path}.${key.slice(0, 60)}`
  leaves.push({ value: key, path: `${path} (a key)` })
  return `${path}[…]`
}

function checkLength(value: string | Buffer, path: string): void {
  if (typeof value !== 'string') {
    if (value.length >= SHORTEST && value.length <= LONGEST) return
    throw refused(path, `has ${value.length} bytes`, `Use ${SHORTEST} to ${LONGEST}`)
  }
  const short = value.trim()
  if (short.length < SHORTEST)
    throw refused(
      path,
      `has ${short.length} characters, and one that short cannot be found in what tools and models say`,
      `Use one of ${SHORTEST} or more; put what is no secret (a name, a port) into \`metadata\``,
    )
  if (value.length > LONGEST)
    throw refused(path, `has more than ${LONGEST} characters`, 'Give the tool a way to fetch it')
  if (REDACTED.includes(short)) throw refused(path, `is part of "${REDACTED}"`, 'Use another')
}

function isLongEnough(text: string): boolean {
  return text.trim().length >= SHORTEST && text.length <= LONGEST && !REDACTED.includes(text.trim())
}

function bytesOf(value: ArrayBufferView | ArrayBufferLike): Buffer {
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value)
}

interface ReadText {
  readonly whole: Secret
  /** Of any length. */
  readonly parts: readonly string[]
  /** The password of the text's account, if it has one. */
  readonly password?: string
}

const SECRET_NAME = '[\\w.-]*(?:pass|pwd|secret|token|key|sig|auth|cred)[\\w.-]*'
const PARAMETER = new RegExp(`(?:^|[?&;,\\s])${SECRET_NAME}\\s*=\\s*("[^"]*"|'[^']*'|[^&;,\\s]+)`, 'gi')
const JSON_FIELD = new RegExp(`"${SECRET_NAME}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`, 'gi')
const SCHEME = /^(?:bearer|basic|token|apikey|digest|negotiate|key)\s+(\S+)$/i
const AUTHORITY = /^[a-z][\w+.-]*:\/\/(?:([^/?#]*)@|(.*)@)/i
const PUBLIC_START = /^\s*(?:[a-z][\w+.-]*:\/\/|-----|[{[])/i
/** A line of a key, or of other encoded data. */
const LINE = /^(?!-----)\S{24,}$/gm

function readText(text: string): ReadText {
  const trimmed = text.trim()
  const found = trimmed === text ? [] : [trimmed]
  let isOpen = PUBLIC_START.test(text)
  let password: string | undefined
  if (trimmed.includes('://') && trimmed.includes('@')) {
    const [, near, far = ''] = AUTHORITY.exec(trimmed) ?? []
    const account = accountIn(near ?? far)
    if (account.password) password = account.password
    if (password !== undefined) found.push(password, decoded(password))
    if (TOKEN.test(account.user) || password === undefined) found.push(account.user, decoded(account.user))
  }
  if (trimmed.includes('='))
    for (const [, value = ''] of trimmed.matchAll(PARAMETER))
      found.push(unquoted(value), decoded(unquoted(value)))
  if (trimmed.includes('"'))
    for (const [, value = '""'] of trimmed.matchAll(JSON_FIELD)) found.push(fromJson(value))
  const header = trimmed.includes(' ') ? SCHEME.exec(trimmed)?.[1] : undefined
  if (header !== undefined) {
    isOpen = true
    found.push(header, ...basicPassword(trimmed, header))
  }
  const hasSecretPart = [password, header].some((part) => part !== undefined && part.length >= SHORTEST)
  if (trimmed.includes('\n')) found.push(...(trimmed.match(LINE) ?? []))
  return {
    whole: {
      value: text,
      ...(isOpen ? { hasPublicStart: true } : {}),
      ...(hasSecretPart ? { hasSecretPart } : {}),
    },
    parts: [...new Set(found)],
    ...defined({ password }),
  }
}

function accountIn(account: string): { readonly user: string; readonly password?: string } {
  const colon = account.indexOf(':')
  return colon < 0 ? { user: account } : { user: account.slice(0, colon), password: account.slice(colon + 1) }
}

function basicPassword(whole: string, header: string): readonly string[] {
  if (!/^basic/i.test(whole)) return []
  const account = Buffer.from(header, 'base64').toString()
  return account.includes(':') ? [account.slice(account.indexOf(':') + 1)] : []
}

function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/, '$2')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function fromJson(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch {
    return text.slice(1, -1)
  }
}

function refused(path: string, what: string, todo: string): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `${path} ${what}. ${todo.replace(/\.$/, '')}. Nothing was stored.`,
  })
}
