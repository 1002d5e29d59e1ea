/** URLs that lead to machines inside, in every notation that a URL parser or a resolver might take. */

const INSIDE: readonly string[] = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '169.254.170.2',
  '168.63.129.16',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
]

const INSIDE_V6: readonly string[] = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::2',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  '8000::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd12:3456:789a::1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'feff::1',
  'ff02::1',
  'ff0e::1',
]

export function notations(address: string): readonly string[] {
  const parts = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = parts
  const dword = parts.reduce((sum, part) => sum * 256 + part, 0)
  const octal = (part: number): string => `0${part.toString(8)}`
  const hex = (part: number): string => `0x${part.toString(16)}`
  const high = ((a << 8) | b).toString(16)
  const low = ((c << 8) | d).toString(16)
  const teredo = `${(((a << 8) | b) ^ 0xffff).toString(16)}:${(((c << 8) | d) ^ 0xffff).toString(16)}`
  return [
    address,
    `${address}.`,
    String(dword),
    `0x${dword.toString(16)}`,
    `0${dword.toString(8)}`,
    parts.map(octal).join('.'),
    parts.map(hex).join('.'),
    `${a}.${octal(b)}.${hex(c)}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    address.replaceAll('.', '。'),
    address.replaceAll('.', '．').replaceAll(/\d/g, (digit) => '０１２３４５６７８９'[Number(digit)] ?? ''),
    address.replaceAll('1', '①').replaceAll('2', '②'),
    address.replaceAll('.', '%2e').replaceAll('1', '%31'),
    address.replaceAll('.', '\t.\n'),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[::${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:1:2:3:4:${teredo}]`,
    `[::ffff:0:${high}:${low}]`,
  ]
}

export const HOSTILE_HOSTS: readonly string[] = [
  ...INSIDE.flatMap(notations),
  ...INSIDE_V6.flatMap((address) => [`[${address}]`, `[${address.toUpperCase()}]`]),
]

export const SPECIAL_ADDRESSES: readonly string[] = [
  ...INSIDE,
  ...INSIDE_V6,
  '::ffff:8.8.8.8',
  'fe80::1%lo',
  'localhost',
  '',
]

/** URLs that are refused for what they are, whatever the addresses of their hosts. */
export const HOSTILE_URLS: readonly string[] = [
  '',
  'example.com',
  '//example.com/',
  '/etc/passwd',
  'file:///etc/passwd',
  'ftp://example.com/',
  'gopher://example.com:70/_GET',
  'data:text/html,hello',
  'javascript:alert(1)',
  'blob:https://example.com/1',
  'ws://example.com/',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  'https://user@example.com/',
  'https://:secret@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com:22/',
  'https://example.com:6379/',
  'https://example.com:8080/',
  'http://example.com:0/',
  'http://example.com:65536/',
  'http://example.com:-1/',
  'http://exa mple.com/',
  'http://exam%00ple.com/',
  'http://1.2.3.4.5/',
  'http://256.1.1.1/',
  'http://0x1ffffffff/',
  'http://09.1.1.1/',
  'http://[::1/',
  'http://[fe80::1%25eth0]/',
  'http://[::ffff:127.0.0.1.]/',
  'http://[1::2::3]/',
  `https://example.com/${'a'.repeat(9000)}`,
]
