/**
 * The forms of a secret in a text: raw, and in the encodings that tools, libraries and logs use, except for escapes, which
 * `unescape.ts` decodes. Knows nothing of their origin.
 */

export interface Secret {
  readonly value: string | Buffer
  /** Its first characters are not secret, as those of `postgres://app:…`. */
  readonly hasPublicStart?: true
  /** Its secret part is a secret by itself: encoded forms of that part suffice. */
  readonly hasSecretPart?: true
}

/** Secrets of these characters only are the same in URLs and forms. */
const PLAIN = /^[A-Za-z0-9_.-]*$/

export function formsOf({ value, hasSecretPart }: Secret): ReadonlySet<string> {
  const forms = new Set<string>()
  if (hasSecretPart && typeof value === 'string') return forms.add(value)
  if (typeof value === 'string') {
    addTextForms(forms, value)
    addBinaryForms(forms, Buffer.from(value))
    const json = inJson(value)
    if (json !== value) addBinaryForms(forms, Buffer.from(json))
    return forms
  }
  for (const encoding of ['utf8', 'latin1'] as const) {
    const text = value.toString(encoding)
    if (Buffer.from(text, encoding).equals(value)) addTextForms(forms, text)
  }
  addBinaryForms(forms, value)
  return forms
}

function addTextForms(forms: Set<string>, text: string): void {
  forms.add(text)
  if (PLAIN.test(text)) return
  addUrlForms(forms, text)
  const json = inJson(text)
  if (json !== text) addUrlForms(forms, json)
}

/** The URL encodings of browsers, servers and libraries: they differ in the characters they leave unescaped. */
function addUrlForms(forms: Set<string>, text: string): void {
  const component = encodeURIComponent(text.toWellFormed())
  const strict = component.replace(/[!'()*]/g, percent)
  const form = strict.replaceAll('%20', '+').replaceAll('%2A', '*').replaceAll('~', '%7E')
  const password = component.replace(/%(?:24|25|26|2B|2C)/g, decodeURIComponent).replaceAll("'", '%27')
  const path = strict.replaceAll('%2F', '/')
  const twice = encodeURIComponent(component)
  const all = [component, strict, form, password, path, twice, encodeURI(text.toWellFormed())]
  for (const encoded of new Set(all)) {
    forms.add(encoded)
    if (CAPITALS.test(encoded)) forms.add(encoded.replace(CODES, (code) => code.toLowerCase()))
  }
}

const CAPITALS = /%(?:[A-F]|[0-9][A-F])/
const CODES = /%[0-9A-F]{2}/g

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function addBinaryForms(forms: Set<string>, bytes: Buffer): void {
  const hex = bytes.toString('hex')
  forms.add(hex).add(hex.toUpperCase())
  for (const core of base64Cores(bytes)) {
    forms.add(core)
    if (!/[+/]/.test(core)) continue
    const encoded = encodeURIComponent(core)
    forms.add(core.replaceAll('+', '-').replaceAll('/', '_'))
    forms.add(encoded).add(encoded.replace(CODES, (code) => code.toLowerCase()))
  }
}

/** The base64 text of these bytes that is independent of their neighbours, for each of the three alignments. */
function base64Cores(bytes: Buffer): readonly string[] {
  const shifted = Buffer.allocUnsafe(bytes.length + 2)
  shifted.set(bytes, 2)
  return [0, 1, 2].map((before) => {
    const text = shifted.toString('base64', 2 - before)
    return text.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6))
  })
}
