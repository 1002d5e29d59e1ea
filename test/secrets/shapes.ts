/** Generated credentials, each in one of fifteen shapes, and the secret that must be found nowhere. */
import { Random } from '../reflex/random.ts'

export interface Generated {
  readonly shape: string
  /** What must not be found, in any encoding. */
  readonly secret: string
  readonly credentials: Readonly<Record<string, unknown>>
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function text(random: Random, length: number, letters = LETTERS): string {
  return Array.from({ length }, () => random.pick(letters.split(''))).join('')
}

type Shape = (random: Random) => Omit<Generated, 'shape'>

const plain = (secret: string, value: unknown = secret) => ({ secret, credentials: { value } })

export const SHAPES: Readonly<Record<string, Shape>> = {
  token: (random) => plain(`sk-${text(random, 32)}`),
  short: (random) => plain(text(random, 8)),
  special: (random) => plain(text(random, 20, `${LETTERS}!@#$%^&*()+/= "'\\<>~é€`).replaceAll(' ', '_')),
  number: (random) => {
    const number = 10_000_000 + random.below(89_999_999)
    return plain(String(number), number)
  },
  nested: (random) => {
    const secret = text(random, 24)
    return plain(secret, { a: [{ b: secret }] })
  },
  set: (random) => {
    const secret = text(random, 24)
    return plain(secret, new Set([secret]))
  },
  map: (random) => {
    const secret = text(random, 24)
    return plain(secret, new Map([['a', secret]]))
  },
  url: (random) => {
    const secret = text(random, 18)
    return plain(secret, new URL(`https://app:${secret}@host.example/x`))
  },
  bytes: (random) => {
    const secret = text(random, 24)
    return plain(secret, Buffer.from(secret))
  },
  key: (random) => {
    const secret = `k1${text(random, 22)}`
    return { secret, credentials: { [secret]: true } }
  },
  connection: (random) => {
    const secret = text(random, 16, `${LETTERS}!$*-_`)
    return plain(secret, `postgres://app:${secret}@db.example:5432/main?sslmode=require`)
  },
  header: (random) => {
    const secret = text(random, 40)
    return plain(secret, `Bearer ${secret}`)
  },
  basic: (random) => {
    const secret = text(random, 20)
    return plain(secret, `Basic ${Buffer.from(`app:${secret}`).toString('base64')}`)
  },
  pem: (random) => {
    const secret = text(random, 64, `${LETTERS}+/`)
    return plain(
      secret,
      `-----BEGIN PRIVATE KEY-----\n${secret}\n${text(random, 30)}\n-----END PRIVATE KEY-----\n`,
    )
  },
  json: (random) => {
    const secret = text(random, 32)
    return plain(secret, JSON.stringify({ type: 'service_account', client_secret: secret }))
  },
}

/** The same for the same seed and place, in every process. */
export function generated(seed: number, at: number): Generated {
  const names = Object.keys(SHAPES)
  const shape = names[at % names.length] as string
  return { shape, ...(SHAPES[shape] as Shape)(new Random(seed * 100_003 + at)) }
}
