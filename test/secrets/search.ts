/** Looks for secrets in bytes, in every encoding that somebody could read them from. It shares no code with what hides them. */

type Encoding = (secret: string) => readonly string[]

const inner = (json: string): string => json.slice(1, -1)

const inJson = (text: string): string => inner(JSON.stringify(text))

function hexOf(char: string): string {
  return char.charCodeAt(0).toString(16)
}

/** Base64 of the secret with 0 to 2 bytes before it, without the characters that these have a part in. */
function base64(secret: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.from('~'.repeat(before) + secret).toString('base64')
    const bits = (before + Buffer.byteLength(secret)) * 8
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6))
  })
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  plain: (secret) => [secret],
  json: (secret) => [inJson(secret), inJson(inJson(secret))],
  'escaped json': (secret) =>
    [
      inJson(secret).replaceAll('/', '\\/'),
      inJson(secret).replace(/[<>&=']/g, (char) => `\\u00${hexOf(char)}`),
      inJson(secret).replace(/[<>&+']/g, (char) => `\\u00${hexOf(char).toUpperCase()}`),
    ].flatMap((text) => [text, inJson(text)]),
  html: (secret) =>
    [
      secret.replace(/[<>"']/g, (char) => `&#x${hexOf(char)};`),
      secret.replaceAll("'", '&apos;').replaceAll('"', '&quot;'),
      secret.replace(/["'<>]/g, (char) => `&#${char.charCodeAt(0)};`),
    ].map((text) => text.replace(/&(?!(?:#x?[0-9a-f]+|apos|quot);)/g, '&amp;')),
  percent: (secret) => [
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  ],
  form: (secret) => [new URLSearchParams({ a: secret }).toString().slice(2)],
  base64,
  base64url: (secret) => base64(secret).map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  hex: (secret) => {
    const hex = Buffer.from(secret).toString('hex')
    return [hex, hex.toUpperCase()]
  },
}

export interface Needle {
  readonly secret: string
  readonly shape: string
}

interface Hit {
  readonly text: Buffer
  readonly name: string
}

/** Three bytes tell where it is worth looking: many secrets in much that was written. */
class Index {
  readonly #marks = new Uint8Array(2 ** 24)
  readonly #hits = new Map<number, Hit[]>()

  add(hit: Hit): void {
    const key = keyAt(hit.text, 0)
    this.#marks[key] = 1
    this.#hits.set(key, [...(this.#hits.get(key) ?? []), hit])
  }

  *find(bytes: Buffer): Generator<string> {
    for (let at = 0; at + 2 < bytes.length; at++) {
      const key = keyAt(bytes, at)
      if (this.#marks[key] === 0) continue
      for (const { text, name } of this.#hits.get(key) ?? [])
        if (bytes.subarray(at, at + text.length).equals(text)) yield name
    }
  }
}

function keyAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16)
}

/** What was found, as `shape in encoding at place`. */
export function search(
  needles: readonly Needle[],
  places: ReadonlyMap<string, Buffer | string>,
): readonly string[] {
  const index = new Index()
  for (const { secret, shape } of needles)
    for (const [encoding, encode] of Object.entries(ENCODINGS))
      for (const text of new Set(encode(secret)))
        index.add({ text: Buffer.from(text), name: `${shape} in ${encoding}` })
  return [...places].flatMap(([place, content]) => {
    const found = new Set(index.find(typeof content === 'string' ? Buffer.from(content) : content))
    return [...found].map((name) => `${name} at ${place}`)
  })
}
