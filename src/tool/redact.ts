/**
 * Removes secrets from texts and values before they are stored, shown or sent to models (R19). One pass finds every form of
 * every secret: a Wu-Manber search for their first 8 characters, which reads about every seventh character, then a
 * comparison. A text with escapes has a pass for each of its readings.
 */
import { StringDecoder } from 'node:string_decoder'
import type { Json, JsonObject } from '../protocol/index.ts'
import { type Credentials, leavesIn, REDACTED, secretsOf } from './credentials.ts'
import { formsOf, type Secret } from './secret-forms.ts'
import { hasEscapes, readings } from './unescape.ts'

/** The shortest form of a secret. */
const HEAD = 8
/** The size of the table of character pairs. */
const PAIRS = 4096
/** The length of a usual escape, also in JSON in JSON, or more. */
const ESCAPE = 8
/** Texts that bytes may be. */
const ENCODINGS = ['utf8', 'latin1'] as const
/** A truncated text ends with one of these. */
const ELLIPSIS = /…|\.\.\./y

/** Redacts a text in pieces. Holds back a possible beginning of a secret until it is decided. */
export interface RedactedStream {
  readonly push: (piece: string) => string
  /** The rest. The stream can be used again. */
  readonly end: () => string
}

type Range = readonly [start: number, end: number]

/** `isOpen`: its first characters are not secret, so a text that ends with them was not cut inside of a secret. */
interface Form {
  readonly text: string
  readonly isOpen: boolean
}

export class Redactor {
  readonly isEmpty: boolean
  readonly #all: readonly Form[]
  /** By their first characters, the longest first. */
  readonly #forms = new Map<string, Form[]>()
  /** How far the search may skip from a pair of characters. */
  readonly #steps = new Uint8Array(PAIRS).fill(HEAD - 1)
  readonly #numbers = new Set<string>()
  #longest = 0
  #byFirst: ReadonlyMap<number, readonly string[]> | undefined

  constructor(forms: readonly Form[]) {
    this.isEmpty = forms.length === 0
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

  /** The length of the longest form when each of its characters is escaped. */
  get longest(): number {
    return this.#longest * ESCAPE
  }

  /** A redactor for the secrets of both. */
  with(other: Redactor): Redactor {
    if (this.isEmpty || other === this) return other
    return other.isEmpty ? this : new Redactor([...this.#all, ...other.#all])
  }

  /** Replaces every form of every secret by `[redacted]`, also one truncated with an ellipsis. */
  text(text: string): string {
    if (this.isEmpty || text.length < HEAD) return text
    if (this.#nextHead(text, 0) < 0 && !hasEscapes(text)) return text
    let out = ''
    let from = 0
    for (const [start, end] of this.#ranges(text)) {
      out += `${text.slice(from, start)}${REDACTED}`
      from = end
    }
    return out + text.slice(from)
  }

  /** Redacts every text, key and secret number. Returns the value itself if it has none. */
  json<T extends Json>(value: T): T {
    return this.isEmpty ? value : (this.#json(value) as T)
  }

  /** Redacts before truncating, so that no part of a secret remains at the end. */
  cut(text: string, most: number): string {
    const near = text.slice(0, most + this.longest + HEAD)
    const whole = this.text(near)
    // A possible beginning of a secret is dropped: the text is cut anyway.
    const rest = near.length < text.length ? whole.slice(0, this.#safeUntil(whole)) : whole
    if (rest.length <= most && near.length === text.length) return rest.toWellFormed()
    return `${rest.slice(0, most)}…`.toWellFormed()
  }

  /** For a text that may have been cut elsewhere: removes the first 8 or more characters of a secret at its end. */
  ended(text: string): string {
    const safe = this.text(text)
    const start = this.#beginning(safe)
    return start === safe.length ? safe : `${safe.slice(0, start)}${REDACTED}`
  }

  /**
   * Redacts a piece of a text that is stored apart from the text `before` it: the rest of a secret that began there, and 8
   * or more characters at its end that may begin one.
   */
  added(before: string, piece: string): string {
    const text = before + piece
    let out = ''
    let from = before.length
    for (const [start, end] of this.#rangesPast(text, from)) {
      out += `${text.slice(from, Math.max(start, from))}${REDACTED}`
      from = end
    }
    return out + text.slice(from)
  }

  /** True if `added` would change these bytes. */
  isInAdded(before: Uint8Array, piece: Uint8Array): boolean {
    const bytes = Buffer.concat([before, piece])
    return ENCODINGS.some((encoding) => {
      // A character that is split over both belongs to the piece.
      const from = new StringDecoder(encoding).write(before).length
      return this.#rangesPast(bytes.toString(encoding), from).length > 0
    })
  }

  /** True if any form of a secret occurs in the content. */
  isIn(content: string | Uint8Array): boolean {
    if (typeof content === 'string') return this.text(content) !== content
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    return ENCODINGS.some((encoding) => this.isIn(bytes.toString(encoding)))
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

  /** The next position of a form's first characters; -1 if there is none. */
  #nextHead(text: string, from: number): number {
    for (let at = from + HEAD - 1; at < text.length; ) {
      const step = this.#steps[pairAt(text, at)] as number
      if (step > 0) at += step
      else if (this.#forms.has(text.slice(at - HEAD + 1, at + 1))) return at - HEAD + 1
      else at += 1
    }
    return -1
  }

  /** The ranges of secrets, in order, overlapping ones merged. */
  #ranges(text: string): readonly Range[] {
    const found: Range[] = []
    for (const { text: read, place } of readings(text))
      for (let at = this.#nextHead(read, 0); at >= 0; at = this.#nextHead(read, at + 1)) {
        const length = this.#lengthAt(read, at)
        if (length > 0) found.push([place(at), place(at + length)])
      }
    return merged(found)
  }

  /** The ranges of secrets that end after `from`; the last may be the beginning of one, at the end of the text. */
  #rangesPast(text: string, from: number): readonly Range[] {
    const ranges = merged([...this.#ranges(text), [this.#beginning(text), text.length]])
    return ranges.filter(([start, end]) => end > from && start < end)
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
    const used = new Set(changed.flatMap(([key, newKey]) => (key === newKey ? [key] : [])))
    return Object.fromEntries(
      changed.map(([key, newKey, field]) => [key === newKey ? key : uniqueKey(newKey, used), field]),
    )
  }

  /** The start of 8 or more first characters of a secret at the end of a text; its length if there are none. */
  #beginning(text: string): number {
    let start = text.length
    for (const { text: read, place } of readings(text)) {
      const at = this.#headFrom(read, ({ text: form, isOpen }, rest) => !isOpen && form.startsWith(rest))
      if (at >= 0) start = Math.min(start, place(at))
    }
    return start
  }

  /** The first position from which the rest of the text passes for the beginning of a form; -1 if there is none. */
  #headFrom(text: string, passes: (form: Form, rest: string) => boolean): number {
    const from = Math.max(0, text.length - this.#longest)
    for (let at = this.#nextHead(text, from); at >= 0; at = this.#nextHead(text, at + 1)) {
      const rest = text.slice(at)
      if (this.#forms.get(text.slice(at, at + HEAD))?.some((form) => passes(form, rest))) return at
    }
    return -1
  }

  /** The position up to which no secret is pending for the next piece. */
  #safeUntil(text: string): number {
    const until = this.#openFrom(text)
    // A complete secret before it must not be split either.
    if (until < text.length)
      for (const [start, end] of this.#ranges(text)) if (start < until && until < end) return start
    return until
  }

  /** The position from which a form, or an escape, may continue in the next piece. */
  #openFrom(text: string): number {
    let open = text.length
    for (const { text: read, place } of readings(text)) open = Math.min(open, place(this.#openIn(read)))
    return open
  }

  #openIn(text: string): number {
    const long = this.#headFrom(
      text,
      ({ text: form }, rest) => form.length > rest.length && form.startsWith(rest),
    )
    if (long >= 0) return long
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

/** The redactor for these credentials, cached while they are unchanged. Throws `invalid-option`, as `secretsIn` does. */
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

/** In order, overlapping ones as one. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const out: [start: number, end: number][] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1)
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
    else out.push([start, end])
  }
  return out
}

function commonLength(text: string, start: number, form: string): number {
  let length = HEAD
  while (length < form.length && text[start + length] === form[length]) length++
  return length
}

/** Two keys may become the same one, or one that is there; neither field may be lost. */
function uniqueKey(key: string, used: Set<string>): string {
  let unique = key
  for (let times = 2; used.has(unique); times++) unique = `${key} (${times})`
  used.add(unique)
  return unique
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
