/**
 * The address guard under generated URLs: addresses in every notation, and resolvers that change their answers. Each
 * address that is dialled and not public, and each plain public address that is refused, is a fault. Nothing is dialled.
 */
import * as fc from 'fast-check'
import { GuardedFetchError, guardedFetch } from '../../src/toolbox/index.ts'
import { notations } from '../../test/toolbox/hostile-urls.ts'
import {
  isPublicV4,
  isPublicV6,
  textV4,
  textV6,
  v4Addresses,
  v6Addresses,
} from '../../test/toolbox/iana-table.ts'

export interface WebRun {
  /** URLs with an address, and as many with a name. */
  readonly count: number
  readonly report: (line: string) => void
}

export interface WebFindings {
  readonly dialled: number
  readonly refused: number
  readonly faults: readonly string[]
}

interface Address {
  readonly text: string
  readonly isPublic: boolean
}

interface Trial {
  readonly url: string
  /** The answers of the resolver, one after the other. */
  readonly answers: readonly (readonly Address[])[]
  /** Undefined where a notation may mean another address than the one that it was made from. */
  readonly mayBeReached?: boolean
}

const v4: fc.Arbitrary<Address> = v4Addresses.map((at) => ({ text: textV4(at), isPublic: isPublicV4(at) }))
const v6: fc.Arbitrary<Address> = v6Addresses.map((at) => ({ text: textV6(at), isPublic: isPublicV6(at) }))
const address: fc.Arbitrary<Address> = fc.oneof(v4, v6)

const scheme: fc.Arbitrary<string> = fc.constantFrom('http', 'https')

const literals: fc.Arbitrary<Trial> = fc.oneof(
  fc.tuple(scheme, v6).map(([http, { text, isPublic }]) => ({
    url: `${http}://[${text}]/`,
    answers: [],
    mayBeReached: isPublic,
  })),
  fc.tuple(scheme, v4, fc.nat({ max: 100 })).map(([http, { text, isPublic }, choice]) => {
    const hosts = notations(text)
    const host = hosts[choice % hosts.length] ?? text
    return { url: `${http}://${host}/`, answers: [], ...(host === text ? { mayBeReached: isPublic } : {}) }
  }),
)

const names: fc.Arbitrary<Trial> = fc
  .tuple(scheme, fc.array(fc.array(address, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 3 }))
  .map(([http, answers]) => ({
    url: `${http}://name.example/`,
    answers,
    mayBeReached: answers[0]?.every(({ isPublic }) => isPublic) ?? false,
  }))

export async function run({ count, report }: WebRun): Promise<WebFindings> {
  const byAddress = await tryAll(fc.sample(literals, count))
  report(`${count} URLs with an address: ${summary(byAddress)}`)
  const byName = await tryAll(fc.sample(names, count))
  report(`${count} URLs with a name: ${summary(byName)}`)
  return {
    dialled: byAddress.dialled + byName.dialled,
    refused: byAddress.refused + byName.refused,
    faults: [...byAddress.faults, ...byName.faults],
  }
}

function summary({ dialled, refused, faults }: WebFindings): string {
  return `${dialled} dialled, ${refused} refused, ${faults.length} faults`
}

async function tryAll(trials: readonly Trial[]): Promise<WebFindings> {
  const faults: string[] = []
  let reached = 0
  for (const trial of trials) {
    const dialled = await dialledBy(trial)
    if (dialled.length > 0) reached += 1
    const wrong = problemOf(trial, dialled)
    if (wrong !== undefined) faults.push(`${trial.url} ${JSON.stringify(trial.answers)}: ${wrong}`)
  }
  return { dialled: reached, refused: trials.length - reached, faults }
}

function problemOf({ answers, mayBeReached }: Trial, dialled: readonly string[]): string | undefined {
  const inside = dialled.find((text) => !isPublicText(text))
  if (inside !== undefined) return `${inside} was dialled`
  if (mayBeReached !== undefined && mayBeReached !== dialled.length > 0) return `dialled ${dialled.join()}`
  const first = answers[0]?.map(({ text }) => text).join()
  return first === undefined || dialled.length === 0 || dialled.join() === first
    ? undefined
    : `${dialled.join()} is not the answer that was checked`
}

async function dialledBy({ url, answers }: Trial): Promise<readonly string[]> {
  const dialled: string[] = []
  const left = [...answers]
  try {
    await guardedFetch(url, {
      resolve: () => Promise.resolve((left.shift() ?? []).map(({ text }) => text)),
      connect: ({ addresses }) => {
        dialled.push(...addresses)
        return Promise.reject(new Error('offline'))
      },
    })
  } catch (error) {
    if (!(error instanceof GuardedFetchError)) throw error
  }
  return dialled
}

/** By the table of the registries, whatever form the address has. */
function isPublicText(text: string): boolean {
  if (!text.includes(':'))
    return isPublicV4(text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n))
  const [start = '', end] = text.split('::')
  const groups = (part: string): readonly string[] => (part === '' ? [] : part.split(':'))
  const [head, tail] = [groups(start), groups(end ?? '')]
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail]
  return isPublicV6(all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n))
}
