/**
 * Owners and names of conversations. The owner is part of every key of every store, so no tenant or actor can name, let
 * alone read, another's data (R20).
 */
import { HoldfastError } from './error.ts'
import { quote } from './quote.ts'

export type Owner = {
  readonly tenant: string
  readonly actor: string
}

export type ContextKey = Owner & {
  readonly contextId: string
}

/** The identity that requests a turn, stored with it. Credentials are secret and never stored. */
export type Principal = Owner & {
  readonly scopes?: readonly string[]
}

export const LOCAL_OWNER: Owner = { tenant: 'local', actor: 'local' }

const MAX_NAME_BYTES = 512
const NAME = /^[\p{L}\p{M}\p{N}._:@+=~|-]+$/u

/**
 * Checks a key and returns it stripped to its three fields. A contextId consists of letters and digits of any script
 * and `. _ : @ + = ~ | -`; conversations that the runtime opens below another are named by a path of such names joined
 * with `/`.
 */
export function contextKey(key: ContextKey): ContextKey {
  checkObject('key', key, '{ tenant, actor, contextId }')
  checkName('tenant', key.tenant)
  checkName('actor', key.actor)
  checkSize('contextId', key.contextId)
  for (const segment of key.contextId.split('/')) checkName('contextId', segment)
  return { tenant: key.tenant, actor: key.actor, contextId: key.contextId }
}

/** The key of a conversation below another one, such as a sub-agent's. */
export function childKey(parent: ContextKey, name: string): ContextKey {
  checkName('contextId', name)
  return contextKey({ ...parent, contextId: `${parent.contextId}/${name}` })
}

export function sameKey(a: ContextKey, b: ContextKey): boolean {
  return a.contextId === b.contextId && a.actor === b.actor && a.tenant === b.tenant
}

/** A key as one line, for maps and messages. Unambiguous: names contain no spaces. */
export function keyText(key: ContextKey): string {
  return `${key.tenant} ${key.actor} ${key.contextId}`
}

export function checkOwner(owner: Owner): Owner {
  checkObject('owner', owner, '{ tenant, actor }')
  checkName('tenant', owner.tenant)
  checkName('actor', owner.actor)
  return { tenant: owner.tenant, actor: owner.actor }
}

function checkObject(field: string, value: unknown, form: string): void {
  if (typeof value === 'object' && value !== null) return
  throw new HoldfastError('invalid-key', {
    message: `The ${field} of a conversation is an object ${form}, not ${quote(value)}.`,
    details: { field },
  })
}

function checkName(field: string, name: string): void {
  checkSize(field, name)
  if (name === '.' || name === '..') throw invalid(field, `"${name}" is a path, not a name`)
  if (!NAME.test(name)) {
    throw invalid(field, `${quote(name)} holds characters that a name may not have`)
  }
  if (name.normalize('NFC') !== name) {
    throw invalid(field, `${quote(name)} is not in Unicode NFC; call .normalize('NFC') on it first`)
  }
}

function checkSize(field: string, name: unknown): void {
  if (typeof name !== 'string')
    throw invalid(field, `it is ${name === null ? 'null' : typeof name}, not a string`)
  if (name.length === 0) throw invalid(field, 'it is empty')
  if (name.length > MAX_NAME_BYTES || Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw invalid(field, `it has ${name.length} characters; at most ${MAX_NAME_BYTES} bytes are allowed`)
  }
}

function invalid(field: string, why: string): HoldfastError {
  return new HoldfastError('invalid-key', {
    message: `Invalid ${field}: ${why}. Use letters, digits and . _ : @ + = ~ | - only; hash or encode anything else.`,
    details: { field },
  })
}
