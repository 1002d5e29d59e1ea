/** Secrets are absent from stored and shown text (R19). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { Redactor, redactorOf } from './redact.ts'

const knowing = (...values: string[]): Redactor => Redactor.of(values.map((value) => ({ value })))
const hide = (value: Json, ...secrets: string[]): Json => knowing(...secrets).json(value)

describe('a redacted value', () => {
  it('has no secret in any text or key', () => {
    const value = { a: 'Bearer hunter22!', 'x-hunter22-y': ['hunter22hunter22', 7, null, true] }
    expect(hide(value, 'hunter22')).toEqual({
      a: 'Bearer [redacted]!',
      'x-[redacted]-y': ['[redacted][redacted]', 7, null, true],
    })
  })

  it('is the same one when there was nothing to hide, in all its parts', () => {
    const value = { a: ['text'], b: { c: 'hunter22' } }
    expect(hide(value)).toBe(value)
    expect(hide(value, 'unrelated')).toBe(value)
    expect(knowing('hunter22').json(value).a).toBe(value.a)
  })

  it('loses the longer of two secrets that overlap, and both if neither holds the other', () => {
    expect(hide('secret-1-and-more', 'secret-1', 'secret-1-and')).toBe('[redacted]-more')
    expect(hide('abcdefghijklmnop', 'abcdefghij', 'ghijklmn')).toBe('[redacted]op')
  })

  it('takes secrets as they are, whatever they mean in patterns', () => {
    expect(hide('a.*b(c)[d]$^|\\-/', '.*b(c)[d]$^|\\-/')).toBe('a[redacted]')
    expect(hide('$& stays in', 'stays in')).toBe('$& [redacted]')
    expect(hide('aaaaaaxxbb', 'aaaaaa..bb')).toBe('aaaaaaxxbb')
  })

  it('loses no field when a key becomes one that is there', () => {
    const redactor = redactorOf({ one: 'first-secret-1', two: 'second-secret-2' })
    expect(
      redactor.json({ '[redacted] (2)': 1, 'first-secret-1': 2, '[redacted]': 3, 'second-secret-2': 4 }),
    ).toEqual({ '[redacted] (2)': 1, '[redacted] (3)': 2, '[redacted]': 3, '[redacted] (4)': 4 })
  })

  it('loses no field when two keys become the same', () => {
    expect(hide({ 'token-aaaaaaaa': 1, 'token-bbbbbbbb': 2 }, 'aaaaaaaa', 'bbbbbbbb')).toEqual({
      'token-[redacted]': 1,
      'token-[redacted] (2)': 2,
    })
  })

  it('has no number that is a secret', () => {
    expect(hide({ pin: 12345678, other: 123456789 }, '12345678')).toEqual({
      pin: '[redacted]',
      other: 123456789,
    })
  })

  it('shows no secret, wherever it stands', () => {
    const secret = fc.string({ minLength: 8, maxLength: 12 }).filter((text) => !'[redacted]'.includes(text))
    fc.assert(
      fc.property(fc.jsonValue(), secret, fc.string(), (value, hidden, before) => {
        const hiding = { value, here: `${before}${hidden}`, [`${hidden}!`]: [hidden] } as Json
        const shown: string[] = []
        JSON.stringify(hide(hiding, hidden), (key, item: unknown) => {
          shown.push(key, typeof item === 'string' ? item : '')
          return item
        })
        expect(shown.filter((text) => text.replaceAll('[redacted]', '\0').includes(hidden))).toEqual([])
      }),
    )
  })
})

/** Encodings as libraries write them; each gets the secret with text before and after it. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  base64: (text) => Buffer.from(text).toString('base64'),
  'base64 in URLs': (text) => Buffer.from(text).toString('base64url'),
  'base64 in a query': (text) => encodeURIComponent(Buffer.from(text).toString('base64')),
  'base64 of JSON': (text) => Buffer.from(JSON.stringify({ text })).toString('base64'),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex in capitals': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  percent: (text) => encodeURIComponent(text),
  'percent in small letters': (text) =>
    encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  form: (text) => new URLSearchParams({ text }).toString(),
  url: (text) => {
    const url = new URL('https://host')
    url.password = text
    return url.href
  },
  json: (text) => JSON.stringify({ text }),
  'json in json': (text) => JSON.stringify(JSON.stringify([text])),
  'json with every sign escaped': (text) => escaped(JSON.stringify(text)),
  'json in an HTML attribute': (text) => entities(JSON.stringify({ text })),
  'HTML in json': (text) => JSON.stringify(entities(text)),
  'HTML of a query': (text) => entities(`?a=1&b=${encodeURIComponent(text)}`),
}

function escaped(json: string): string {
  return json.replace(/[+=&<>']/g, (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function entities(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#x${char.charCodeAt(0).toString(16)};`)
}

describe('an encoded secret', () => {
  it.each(Object.entries(ENCODINGS))('is found in %s, at every alignment', (_, encode) => {
    for (const secret of ['tok_8f2e1c0d9b', 'p@ss/w+rd "é" & ~(x)*!', 'line\none\\two\u20ac'])
      for (const before of ['', 'u', 'us', 'usr', 'user:']) {
        const shown = knowing(secret).text(encode(`${before}${secret}, and more`))
        expect(shown).toContain('[redacted]')
        // The rest equals the text without the secret, but for the characters next to it.
        const length = Buffer.byteLength(secret)
        const without = [length, length + 1, length + 2]
          .map((fill) => encode(`${before}${'#'.repeat(fill)}, and more`))
          .join('\n')
        for (const left of shown.split('[redacted]'))
          expect(without).toContain(
            left.slice(shown.startsWith(left) ? 0 : 2, shown.endsWith(left) ? undefined : -2),
          )
      }
  })
})

describe('a secret that is cut', () => {
  const secret = 'tok_8f2e1c0d9b7a6f5e4d3c2b1a'

  it('is found before a text is shortened', () => {
    for (let at = 0; at <= 60; at++) {
      const cut = knowing(secret).cut(`${'x'.repeat(at)}${secret} and so on and so on`, 40)
      expect(cut).not.toContain(secret.slice(0, 8))
      expect(cut.length).toBeLessThanOrEqual(41)
    }
  })

  it('is found when others are shortened away before it', () => {
    const text = `${secret} `.repeat(50)
    for (let most = 1; most < 200; most++) expect(knowing(secret).cut(text, most)).not.toContain('tok_8f')
  })

  it('is found before an ellipsis, and at the end of a text that may have been shortened', () => {
    expect(knowing(secret).text(`sent ${secret.slice(0, 12)}…`)).toBe('sent [redacted]…')
    expect(knowing(secret).text(`sent ${secret.slice(0, 12)}... then`)).toBe('sent [redacted]... then')
    expect(knowing(secret).ended(`sent ${secret.slice(0, 20)}`)).toBe('sent [redacted]')
    expect(knowing(secret).ended('sent tok_')).toBe('sent tok_')
  })
})

describe('a text in pieces', () => {
  const token = 'tok_8f2e1c0d9b'

  it('never shows a secret, wherever it is torn, and says everything else', () => {
    const text = `a tok_8f2 and ${token}, ${Buffer.from(token).toString('base64')} tok_8f2e1c`
    const whole = knowing(token).text(text)
    for (let at = 0; at < text.length; at++)
      for (const size of [1, 2, 5, 100]) {
        const stream = knowing(token).stream()
        const pieces = [text.slice(0, at), ...(text.slice(at).match(new RegExp(`.{1,${size}}`, 'g')) ?? [])]
        expect(pieces.map(stream.push).join('') + stream.end()).toBe(whole)
      }
  })

  it('never shows an escaped secret, wherever it is torn or cut', () => {
    const secret = `p4/s'w0rd+"x&y`
    const forms = [
      String.raw`p4\/s'w0rd\u002B\"x\u0026y`,
      'p4&#x2F;s&#39;w0rd&#43;&quot;x&amp;y',
      String.raw`p4\\\/s'w0rd\\u002B\\\"x&y`,
    ]
    for (const form of forms) {
      const text = `a & b \\ ${form} c`
      for (let at = 0; at < text.length; at++) {
        const [before, after] = [text.slice(0, at), text.slice(at)]
        const stream = knowing(secret).stream()
        expect([before, after].map(stream.push).join('') + stream.end()).toBe('a & b \\ [redacted] c')
        const added = knowing(secret).added('', before) + knowing(secret).added(before, after)
        expect(added).not.toContain('w0rd')
        expect(knowing(secret).text(`${before}…`)).not.toMatch(/w0rd(?:\+|&#43;|\\+u002B)/)
      }
    }
  })

  it('is told at once where nothing begins', () => {
    const stream = knowing(token).stream()
    expect(['hello ', 'world t', 'ok', 'en'].map(stream.push)).toEqual(['hello ', 'world ', '', 'token'])
  })

  it('is the same as in one for any secrets and pieces', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 8, maxLength: 12 })
    const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 }), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 3 }), pieces, (secrets, parts) => {
        const redactor = knowing(...secrets)
        const stream = redactor.stream()
        const shown = parts.map(stream.push).join('') + stream.end()
        for (const secret of secrets) expect(shown).not.toContain(secret)
        expect(shown.replaceAll('[redacted]', '')).toBe(
          redactor.text(parts.join('')).replaceAll('[redacted]', ''),
        )
      }),
    )
  })
})

it('the redactor of credentials is made once, and again when they have changed', () => {
  const credentials: Record<string, unknown> = { token: 'tok_8f2e1c0d9b' }
  const first = redactorOf(credentials)
  expect(redactorOf(credentials)).toBe(first)
  credentials['token'] = 'tok_renewed_77'
  expect(redactorOf(credentials).text('tok_renewed_77')).toBe('[redacted]')
})

it.each([
  'p4ss&#x27;w0rd&quot;with',
  'p4ss&apos;w0rd&quot;with',
  'p4ss&#39;w0rd&#34;with',
  'p4ss&#039;w0rd&QUOT;with',
])('finds a secret with quotes in HTML: %s', (written) => {
  expect(redactorOf({ key: `p4ss'w0rd"with` }).text(`<i>${written}</i>`)).toBe('<i>[redacted]</i>')
})

it('finds a secret that looks like an escape itself, as it is and in JSON', () => {
  const secret = String.raw`pa\"ss&lt;word`
  for (const written of [secret, JSON.stringify(secret)])
    expect(knowing(secret).text(written).replaceAll('"', '')).toBe('[redacted]')
})

it('leaves other escapes as they are', () => {
  const text = String.raw`{"a":"x\n\u0026 &amp; tok_8f2e1c0d9b \/ &#99999999; &lt"}`
  expect(knowing('tok_8f2e1c0d9b').text(text)).toBe(text.replace('tok_8f2e1c0d9b', '[redacted]'))
})

it.each([
  'aB3+x/Yz9=Kq\\u002677~w',
  'aB3%2Bx/Yz9%3DKq%2677~w',
  'aB3%252Bx%252FYz9%253DKq%252677~w',
  'aB3&#43;x&#47;Yz9&#61;Kq&#38;77~w',
  String.raw`aB3+x\/Yz9=Kq&77~w`,
  String.raw`aB3+x/Yz9\u003dKq\u002677~w`,
  String.raw`aB3\u002Bx/Yz9=Kq\u002677~w`,
  String.raw`aB3+x\\\/Yz9=Kq\\u002677~w`,
  'aB3+x&#x2F;Yz9&#x3D;Kq&amp;77~w',
  String.raw`aB3+x\/Yz9=Kq&amp;77~w`,
])('finds a secret as other languages write it: %s', (written) => {
  const secrets = redactorOf({ token: 'aB3+x/Yz9=Kq&77~w' })
  expect(secrets.json({ log: `got ${written} back` })).toEqual({ log: 'got [redacted] back' })
})
