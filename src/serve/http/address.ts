/** The address that a request comes from, as a name for limits. A header counts only behind proxies. */
import { isIP } from 'node:net'

/** The connection of a request: its address, or what @hono/node-server passes on. */
export interface HttpConnection {
  readonly address?: string
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } }
}

/** Undefined if the server that mounts the handler does not pass an address. */
export function addressOf(
  request: Request,
  connection: HttpConnection | undefined,
  proxies: number,
): string | undefined {
  const direct = connection?.address ?? connection?.incoming?.socket?.remoteAddress
  const found = (proxies > 0 ? forwarded(request, proxies) : undefined) ?? direct
  return typeof found === 'string' ? networkOf(found) : undefined
}

/** Each proxy adds the address that it was called from at the end; a caller may have written anything before. */
function forwarded(request: Request, proxies: number): string | undefined {
  const addresses = (request.headers.get('x-forwarded-for') ?? '').split(',').map((each) => each.trim())
  const address = addresses.at(-proxies)?.replace(/^\[(.*)\].*$|^([\d.]+):\d+$/, '$1$2')
  return address !== undefined && isIP(address) !== 0 ? address : undefined
}

/** An IPv4 address, or the first half of an IPv6 address: one machine may have all addresses of its network. */
function networkOf(address: string): string {
  const [plain = ''] = address.split('%')
  if (isIP(plain) !== 6) return plain
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const all = [...before, ...zeros, ...after]
  const [high = 0, low = 0] = all.slice(6).map((group) => Number.parseInt(group, 16))
  const isMapped = all.slice(0, 6).join(':') === '0:0:0:0:0:ffff'
  return isMapped
    ? [high >> 8, high & 255, low >> 8, low & 255].join('.')
    : `${all.slice(0, 4).join(':')}::/64`
}
