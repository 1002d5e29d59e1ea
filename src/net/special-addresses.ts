/**
 * Which IP addresses are of the public internet. Follows the special-purpose registries of IANA, and refuses more than they
 * do: a wrong refusal is an error message, a wrong pass is a request to a machine inside. Resolves and dials nothing.
 */
import { BlockList, isIP } from 'node:net'

type Network = readonly [cidr: string, kind: string]

const SPECIAL: readonly Network[] = [
  ['0.0.0.0/8', 'an unspecified'],
  ['10.0.0.0/8', 'a private'],
  ['100.64.0.0/10', 'a carrier-grade NAT'],
  ['127.0.0.0/8', 'a loopback'],
  // Metadata services of most clouds are here.
  ['169.254.0.0/16', 'a link-local'],
  // Azure's service for virtual machines has a public number.
  ['168.63.129.16/32', 'a cloud metadata'],
  ['172.16.0.0/12', 'a private'],
  ['192.0.0.0/24', 'a protocol'],
  ['192.0.2.0/24', 'a documentation'],
  ['192.88.99.0/24', 'a 6to4 relay'],
  ['192.168.0.0/16', 'a private'],
  ['198.18.0.0/15', 'a benchmark'],
  ['198.51.100.0/24', 'a documentation'],
  ['203.0.113.0/24', 'a documentation'],
  ['224.0.0.0/4', 'a multicast'],
  ['255.255.255.255/32', 'a broadcast'],
  ['240.0.0.0/4', 'a reserved'],
  ['::/128', 'an unspecified'],
  ['::1/128', 'a loopback'],
  ['::ffff:0:0/96', 'an IPv4-mapped'],
  ['::/96', 'an IPv4-compatible'],
  ['64:ff9b::/96', 'a NAT64'],
  ['64:ff9b:1::/48', 'a NAT64'],
  ['100::/64', 'a discard-only'],
  ['2001::/32', 'a Teredo'],
  ['2001:2::/48', 'a benchmark'],
  ['2001::/23', 'a protocol'],
  ['2001:db8::/32', 'a documentation'],
  ['2002::/16', 'a 6to4'],
  ['3fff::/20', 'a documentation'],
  ['fc00::/7', 'a unique local'],
  ['fe80::/10', 'a link-local'],
  ['fec0::/10', 'a site-local'],
  ['ff00::/8', 'a multicast'],
]

/** IANA allocates public addresses of version 6 from this network alone. */
const PUBLIC_V6: BlockList = networkList(['2000::/3'])

/** By version: a list takes an address of version 4 for its mapped form in version 6. */
const LISTS = Map.groupBy(
  SPECIAL.map(([cidr, kind]) => ({ kind, version: cidr.includes(':') ? 6 : 4, list: networkList([cidr]) })),
  ({ version }) => version,
)

/** The kind of an address that is not public, such as `a private`; undefined for a public one. */
export function specialKind(address: string): string | undefined {
  const version = versionOf(address)
  if (version === 0) return 'an unreadable'
  const found = LISTS.get(version)?.find(({ list }) => isIn(list, address))?.kind
  if (found !== undefined) return found
  return version === 4 || isIn(PUBLIC_V6, address) ? undefined : 'a reserved'
}

export function isIn(list: BlockList, address: string): boolean {
  const version = versionOf(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** A zone, as in fe80::1%eth0, chooses an interface of this machine: such a text is no address here. */
function versionOf(address: string): number {
  return address.includes('%') ? 0 : isIP(address)
}

/** Networks such as `10.0.0.0/8`, and single addresses. Throws a RangeError for a text that is neither. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return list
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits, ...rest] = network.split('/')
  const version = versionOf(address)
  const most = version === 4 ? 32 : 128
  const prefix = bits === undefined ? most : Number(bits)
  const isNumber = bits === undefined || /^\d{1,3}$/.test(bits)
  if (version === 0 || !isNumber || prefix > most || rest.length > 0)
    throw new RangeError(`${JSON.stringify(network)} is no IP address and no network such as 10.0.0.0/8`)
  list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
}
