/** The table of special addresses beside one that was written from the registries. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { run } from '../../scripts/toolbox/web.ts'
import { specialKind } from '../../src/net/special-addresses.ts'
import { isPublicV4, isPublicV6, textV4, textV6, v4Addresses, v6Addresses } from './iana-table.ts'

it('judges every address of version 4 as the registry does', () => {
  fc.assert(
    fc.property(v4Addresses, (address) => {
      expect([textV4(address), specialKind(textV4(address)) === undefined]).toEqual([
        textV4(address),
        isPublicV4(address),
      ])
    }),
    { numRuns: 3000 },
  )
})

it('judges every address of version 6 as the registry does', () => {
  fc.assert(
    fc.property(v6Addresses, (address) => {
      expect([textV6(address), specialKind(textV6(address)) === undefined]).toEqual([
        textV6(address),
        isPublicV6(address),
      ])
    }),
    { numRuns: 3000 },
  )
})

it('names the kind of an address', () => {
  const kinds: Record<string, string | undefined> = {
    '169.254.169.254': 'a link-local',
    '100.100.100.200': 'a carrier-grade NAT',
    '255.255.255.255': 'a broadcast',
    'fd00:ec2::254': 'a unique local',
    '::ffff:1.1.1.1': 'an IPv4-mapped',
    '64:ff9b::101:101': 'a NAT64',
    '2001:0:1::1': 'a Teredo',
    '4000::1': 'a reserved',
    'fe80::1%eth0': 'an unreadable',
    localhost: 'an unreadable',
    '1.1.1.1': undefined,
    '2606:4700:4700::1111': undefined,
  }
  for (const [address, kind] of Object.entries(kinds))
    expect([address, specialKind(address)]).toEqual([address, kind])
})

it('generated URLs and resolvers that change their answers reach public addresses alone', async () => {
  const lines: string[] = []
  const { faults, dialled, refused } = await run({ count: 1000, report: (line) => lines.push(line) })
  expect(faults).toEqual([])
  expect(dialled).toBeGreaterThan(100)
  expect(refused).toBeGreaterThan(100)
  expect(lines.length).toBe(2)
})
