/**
 * Which addresses are public, written from IANA's special-purpose address registries as ranges of numbers. Shares no code
 * with the table that it checks.
 */
import * as fc from 'fast-check'

type Range = readonly [first: bigint, last: bigint]

/** Registry rows of version 4 that are not globally reachable, multicast, and Azure's metadata address. */
const CLOSED_V4: readonly Range[] = [
  v4('0.0.0.0', '0.255.255.255'),
  v4('10.0.0.0', '10.255.255.255'),
  v4('100.64.0.0', '100.127.255.255'),
  v4('127.0.0.0', '127.255.255.255'),
  v4('168.63.129.16', '168.63.129.16'),
  v4('169.254.0.0', '169.254.255.255'),
  v4('172.16.0.0', '172.31.255.255'),
  v4('192.0.0.0', '192.0.0.255'),
  v4('192.0.2.0', '192.0.2.255'),
  v4('192.88.99.0', '192.88.99.255'),
  v4('192.168.0.0', '192.168.255.255'),
  v4('198.18.0.0', '198.19.255.255'),
  v4('198.51.100.0', '198.51.100.255'),
  v4('203.0.113.0', '203.0.113.255'),
  v4('224.0.0.0', '255.255.255.255'),
]

/** Inside of 2000::/3, the only network of version 6 with public addresses. */
const CLOSED_V6: readonly Range[] = [
  v6('20010000', '200101ff'),
  v6('20010db8', '20010db8'),
  v6('20020000', '2002ffff'),
  v6('3fff0000', '3fff0fff'),
]
const OPEN_V6: Range = v6('20000000', '3fffffff')

function v4(first: string, last: string): Range {
  return [numberOf(first), numberOf(last)]
}

function numberOf(address: string): bigint {
  return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

/** From the first 32 bits of the first address to those of the last, with all that follows. */
function v6(first: string, last: string): Range {
  return [BigInt(`0x${first}`) << 96n, ((BigInt(`0x${last}`) + 1n) << 96n) - 1n]
}

function isWithin(address: bigint, [first, last]: Range): boolean {
  return first <= address && address <= last
}

export function textV4(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.')
}

export function textV6(address: bigint): string {
  return Array.from({ length: 8 }, (_, at) =>
    ((address >> BigInt(112 - at * 16)) & 0xffffn).toString(16),
  ).join(':')
}

export function isPublicV4(address: bigint): boolean {
  return !CLOSED_V4.some((range) => isWithin(address, range))
}

export function isPublicV6(address: bigint): boolean {
  return isWithin(address, OPEN_V6) && !CLOSED_V6.some((range) => isWithin(address, range))
}

/** Anywhere, or near an edge of a range. */
function addresses(ranges: readonly Range[], bits: bigint): fc.Arbitrary<bigint> {
  const max = (1n << bits) - 1n
  const edges = ranges.flat().flatMap((edge) => [edge - 1n, edge, edge + 1n])
  return fc.oneof(
    fc.bigInt({ min: 0n, max }),
    fc.constantFrom(...edges.filter((edge) => edge >= 0n && edge <= max)),
    fc.constantFrom(...ranges).chain(([min, most]) => fc.bigInt({ min, max: most })),
  )
}

export const v4Addresses: fc.Arbitrary<bigint> = addresses(CLOSED_V4, 32n)

/** Addresses that embed one of version 4 included. */
export const v6Addresses: fc.Arbitrary<bigint> = addresses(
  [...CLOSED_V6, OPEN_V6, [0n, (1n << 33n) - 1n]],
  128n,
)
