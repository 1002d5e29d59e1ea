/**
 * Removing secrets from texts and values, before these are stored, shown or sent to models (R19). One pass over a text
 * finds every form of every secret: the search of Wu and Manber for their first 8 characters, which looks at about every
 * seventh character, and then a comparison of what stands there.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { type Credentials, leavesIn, REDACTED, secretsOf } from './credentials.ts'
import { formsOf, type Secret } from './secret-forms.ts'

/** No form of a secret is shorter. */
const HEAD = 8
/** Pairs of characters are told apart by so many bits. */
const PAIRS = 4096
/** A text that was cut ends with one of these. */
const ELLIPSIS = /…|\.\.\./y

/** Pieces of a text on their way to a reader. The beginning of what may become a secret is held back until it is known. */
export interface RedactedStream {
  readonly push: (piece: string) => string
  /** The rest. The stream can be used again. */
  readonly end: () => string
}

type Place = readonly [start: number, end: number]

/** `isOpen`: its first characters are no secret, so a text that ends with those was not cut inside of a secret. */
interface Form {
  readonly text: string
  readonly isOpen: boolean
}

export class Redactor {
  readonly #all: readonly Form[]
  /** By their first characters, the longest first. */
  readonly #forms = new Map<string, Form[]>()
  /** How far the search may go on from a pair of characters. */
  readonly #steps = new Uint8Array(PAIRS).fill(HEAD - 1)
  readonly #numbers = new Set<string>()
  #longest = 0
  #byFirst: ReadonlyMap<number, readonly string[]> | undefined

  constructor(forms: readonly Form[]) {
    this.#all = forms
    for (const form of forms) this.#add(form)
    for (const same of this.#forms.values()) same.sort((a, b) => b.text.length - a.text.length)
  }

  static of(secrets: readonly Secret[]): Redactor {
    return secrets.length === 0
      ? NO_SECRETS
      : new Redactor(
          secrets.flatMap((secret) =>
            [...formsOf(secret)].map((text) => ({ text, isOpen: secret.hasPublicStart ?? false })),
          ),
        )
  }

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  /** How long the longest form of a secret is. */
  get longest(): number {
    return this.#longest
  }

  /** One that knows the secrets of both. */
  with(other: Redactor): Redactor {
    if (this.isEmpty || other === this) return other
    return other.isEmpty ? this : new Redactor([...this.#all, ...other.#all])
  }

  /** Every form of every secret becomes `[redacted]`, also one that was cut and ends with an ellipsis. */
  text(text: string): string {
    if (text.length < HEAD || this.#nextHead(text, 0) < 0) return text
    let out = ''
    let from = 0
    for (const [start, end] of this.#places(text)) {
      out += `${text.slice(from, start)}${REDACTED}`
      from = end
    }
    return out + text.slice(from)
  }

  /** The same in every text and key, and for numbers that are a secret. Returns the value itself if it has none. */
  json<T extends Json>(value: T): T {
    return this.isEmpty ? value : (this.#json(value) as T)
  }

  /** Redacted first and shortened then, so that no part of a secret is left at the end. */
  cut(text: string, most: number): string {
    const near = text.slice(0, most + this.#longest + HEAD)
    const whole = this.text(near)
    // Of what may go on as a secret nothing has to stay: the text is cut anyway.
    const rest = near.length < text.length ? whole.slice(0, this.#safeUntil(whole)) : whole
    if (rest.length <= most && near.length === text.length) return rest.toWellFormed()
    return `${rest.slice(0, most)}…`.toWellFormed()
  }

  /** For a text that somebody else may have cut: without the first 8 or more characters of a secret at its end. */
  ended(text: string): string {
    const safe = this.text(text)
    const [place] = this.#beginning(safe)
    return place === undefined ? safe : `${safe.slice(0, place[0])}${REDACTED}`
  }

  /**
   * A piece of a text that goes on after `before`, when both are stored by themselves: without its share of a secret that
   * began there, and without the first 8 or more characters of one at its end.
   */
  added(before: string, piece: string): string {
    const text = before + piece
    let out = ''
    let from = before.length
    for (const [start, end] of [...this.#places(text), ...this.#beginning(text)]) {
      if (end <= from) continue
      out += `${text.slice(from, Math.max(start, from))}${REDACTED}`
      from = end
    }
    return out + text.slice(from)
  }

  /** Does any form of a secret occur in it? */
  isIn(content: string | Uint8Array): boolean {
    if (typeof content === 'string') return this.text(content) !== content
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    return [bytes.toString('utf8'), bytes.toString('latin1')].some((text) => this.text(text) !== text)
  }

  stream(): RedactedStream {
    let held = ''
    return {
      push: (piece) => {
        const text = held + piece
        const until = this.#safeUntil(text)
        held = text.slice(until)
        return this.text(text.slice(0, until))
      },
      end: () => {
        const rest = held
        held = ''
        return this.text(rest)
      },
    }
  }

  #add(form: Form): void {
    const { text } = form
    if (text.length < HEAD) return
    if (/^-?\d+$/.test(text)) this.#numbers.add(text)
    this.#longest = Math.max(this.#longest, text.length)
    const head = text.slice(0, HEAD)
    const same = this.#forms.get(head)
    if (same !== undefined) {
      if (!same.some((other) => other.text === text)) same.push(form)
      return
    }
    this.#forms.set(head, [form])
    for (let at = 1; at < HEAD; at++) {
      const pair = pairAt(head, at)
      this.#steps[pair] = Math.min(this.#steps[pair] as number, HEAD - 1 - at)
    }
  }

  /** Where the first characters of a form stand next; -1 if nowhere. */
  #nextHead(text: string, from: number): number {
    for (let at = from + HEAD - 1; at < text.length; ) {
      const step = this.#steps[pairAt(text, at)] as number
      if (step > 0) at += step
      else if (this.#forms.has(text.slice(at - HEAD + 1, at + 1))) return at - HEAD + 1
      else at += 1
    }
    return -1
  }

  /** Where secrets are, in order. Those that overlap are one place. */
  #places(text: string): readonly Place[] {
    const places: [start: number, end: number][] = []
    for (let start = this.#nextHead(text, 0); start >= 0; start = this.#nextHead(text, start + 1)) {
      const length = this.#lengthAt(text, start)
      if (length === 0) continue
      const last = places.at(-1)
      if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], start + length)
      else places.push([start, start + length])
    }
    return places
  }

  #lengthAt(text: string, start: number): number {
    let cut = 0
    for (const { text: form, isOpen } of this.#forms.get(text.slice(start, start + HEAD)) ?? []) {
      if (text.startsWith(form, start)) return form.length
      if (isOpen) continue
      const same = commonLength(text, start, form)
      ELLIPSIS.lastIndex = start + same
      if (ELLIPSIS.test(text)) cut = Math.max(cut, same)
    }
    return cut
  }

  #json(value: Json): Json {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number')
      return this.#numbers.size > 0 && this.#numbers.has(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null) return value
    if (isList(value)) {
      const items = value.map((item) => this.#json(item))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    return this.#fields(value)
  }

  #fields(value: JsonObject): JsonObject {
    let changed: [key: string, newKey: string, field: Json | undefined][] | undefined
    const keys = Object.keys(value)
    for (const [at, key] of keys.entries()) {
      const field = value[key]
      const newKey = this.text(key)
      const newField = field === undefined ? field : this.#json(field)
      if (changed === undefined && (newKey !== key || newField !== field))
        changed = keys.slice(0, at).map((before) => [before, before, value[before]])
      changed?.push([key, newKey, newField])
    }
    if (changed === undefined) return value
    const used = new Map<string, number>()
    return Object.fromEntries(changed.map(([key, newKey, field]) => [unlike(key, newKey, used), field]))
  }

  /** The first 8 or more characters of a secret at the end of a text. */
  #beginning(text: string): readonly Place[] {
    const from = Math.max(0, text.length - this.#longest)
    for (let at = this.#nextHead(text, from); at >= 0; at = this.#nextHead(text, at + 1)) {
      const forms = this.#forms.get(text.slice(at, at + HEAD)) ?? []
      const rest = text.slice(at)
      if (forms.some((form) => !form.isOpen && form.text.startsWith(rest))) return [[at, text.length]]
    }
    return []
  }

  /** Up to where no secret has begun that may go on in the next piece. */
  #safeUntil(text: string): number {
    const until = this.#openFrom(text)
    // What stands before must not be torn apart either.
    if (until < text.length)
      for (const [start, end] of this.#places(text)) if (start < until && until < end) return start
    return until
  }

  #openFrom(text: string): number {
    const from = Math.max(0, text.length - this.#longest + 1)
    for (let at = this.#nextHead(text, from); at >= 0; at = this.#nextHead(text, at + 1)) {
      const forms = this.#forms.get(text.slice(at, at + HEAD)) ?? []
      const rest = text.slice(at)
      if (forms.some((form) => form.text.length > rest.length && form.text.startsWith(rest))) return at
    }
    for (let at = Math.max(0, text.length - HEAD + 1); at < text.length; at++)
      if (
        this.#heads()
          .get(text.charCodeAt(at))
          ?.some((head) => head.startsWith(text.slice(at)))
      )
        return at
    return text.length
  }

  #heads(): ReadonlyMap<number, readonly string[]> {
    this.#byFirst ??= Map.groupBy(this.#forms.keys(), (head) => head.charCodeAt(0))
    return this.#byFirst
  }
}

export const NO_SECRETS: Redactor = new Redactor([])

/** For these credentials; the same one for as long as they are the same. Throws `invalid-option`, as `secretsIn` does. */
export function redactorOf(credentials: Credentials): Redactor {
  const leaves = leavesIn(credentials)
  if (leaves.length === 0) return NO_SECRETS
  const known = KNOWN.get(credentials)
  const print = leaves
    .map(({ value }) => (typeof value === 'string' ? value : value.toString('latin1')))
    .join('\n')
  if (known?.print === print) return known.redactor
  const redactor = Redactor.of(secretsOf(leaves))
  KNOWN.set(credentials, { print, redactor })
  return redactor
}

const KNOWN = new WeakMap<Credentials, { readonly print: string; readonly redactor: Redactor }>()

function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at - 1) << 5) ^ text.charCodeAt(at)) & (PAIRS - 1)
}

function commonLength(text: string, start: number, form: string): number {
  let length = HEAD
  while (length < form.length && text[start + length] === form[length]) length++
  return length
}

/** Two keys may become the same one; neither field may be lost. */
function unlike(key: string, newKey: string, used: Map<string, number>): string {
  if (key === newKey) return key
  const times = (used.get(newKey) ?? 0) + 1
  used.set(newKey, times)
  return times === 1 ? newKey : `${newKey} (${times})`
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
