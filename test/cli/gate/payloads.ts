/** Texts that a terminal would obey, or that hide or turn what is around them: generated from a seed, by kind. */

type Make = (random: Random) => string

/** A small generator of numbers (mulberry32), so that a seed names a run. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  from<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0]
  }
}

const CSI: readonly [string, string] = ['\u001b[', '\u009b']
const OSC: readonly [string, string] = ['\u001b]', '\u009d']
const END: readonly [string, ...string[]] = ['\u0007', '\u001b\\', '\u009c', '']
const LIES: readonly [string, ...string[]] = [
  '? Approval\n  tool       list\n  arguments  {}\n  [y/n] › ',
  '[y/n] › y',
  'Done.',
  'holdfast: all is well',
]

/** How a payload of each kind is made. */
export const KINDS: Readonly<Record<string, Make>> = {
  'colours and hidden text': (random) =>
    `${random.from(CSI)}${random.from(['8', '31', '30;40', '7', '0', '38;2;0;0;0', '5;1'])}m${random.from(LIES)}`,
  erasing: (random) =>
    `${random.from(CSI)}${random.from(['2J', '3J', 'K', '1K', '2K', '5X', '3M', '9P', 'J'])}`,
  'cursor motion': (random) =>
    `${random.from(CSI)}${random.below(30)}${random.from([';1H', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'd', 'S', 'T'])}${random.from(LIES)}`,
  'clear and ask': (random) => `\u001b[2J\u001b[H${random.from(LIES)}\u001b[8m`,
  'alternate screen and modes': (random) =>
    `\u001b[?${random.from(['1049', '47', '25', '7', '2004', '1000', '1006', '5'])}${random.from(['h', 'l'])}`,
  'scroll region': (random) => `\u001b[${1 + random.below(5)};${6 + random.below(5)}r`,
  'save, restore, reset': (random) =>
    `\u001b${random.from(['7', '8', 'c', 'D', 'E', 'M', '[s', '[u', '#8', '(0', ')0'])}`,
  reports: (random) => `\u001b[${random.from(['6n', '5n', 'c', '>c', '21t', '14t'])}`,
  title: (random) => `${random.from(OSC)}${random.from(['0', '1', '2'])};owned${random.from(END)}`,
  link: (random) =>
    `${random.from(OSC)}8;;http://evil.example${random.from(END)}click${random.from(OSC)}8;;${random.from(END)}`,
  clipboard: (random) => `${random.from(OSC)}52;c;ZXZpbA==${random.from(END)}`,
  'other OSC': (random) =>
    `${random.from(OSC)}${random.from(['4;1;red', '10;#000', '104', '133;A', '777;notify;a;b', '1337;File=:QQ=='])}${random.from(END)}`,
  'DCS, APC, PM, SOS': (random) =>
    `${random.from(['\u001bP', '\u0090', '\u001b_', '\u009f', '\u001b^', '\u009e', '\u001bX', '\u0098'])}+q544e${random.from(END)}`,
  'single controls': (random) =>
    String.fromCharCode(random.from([0, 1, 5, 7, 8, 0xb, 0xc, 0xe, 0xf, 0x1a, 0x7f])).repeat(3),
  C1: (random) => String.fromCharCode(0x80 + random.below(32)),
  'carriage return': (random) => `harmful\r${random.from(LIES)}`,
  backspaces: (random) => `rm${'\b'.repeat(1 + random.below(5))}ls`,
  tabs: (random) => `a${'\t'.repeat(1 + random.below(6))}b`,
  'line breaks': (random) => `${'\n'.repeat(1 + random.below(60))}${random.from(LIES)}`,
  'odd line breaks': (random) =>
    `a${random.from(['\u2028', '\u2029', '\u0085', '\v', '\f'])}${random.from(LIES)}`,
  bidi: (random) =>
    `${random.from(['\u202e', '\u202d', '\u2066', '\u2067', '\u2068', '\u200e', '\u200f', '\u061c'])}txt.exe${random.from(['\u202c', '\u2069', ''])}`,
  'zero width': (random) =>
    `li${random.from(['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u034f', '\u3164', '\u180e'])}st`,
  tags: (random) =>
    Array.from('hide', (char) =>
      String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0) + random.below(2)),
    ).join(''),
  selectors: (random) =>
    `a${String.fromCodePoint(0xe0100 + random.below(200))}${String.fromCodePoint(0xfe00 + random.below(16))}b`,
  marks: (random) => `e${String.fromCharCode(0x300 + random.below(0x50)).repeat(9 + random.below(30))}`,
  'half characters': (random) => `x${random.from(['\ud83d', '\ude00', '\ud83dz', '\udc00\ud800'])}y`,
  'wide and emoji': (random) =>
    random.from(['日本語', '👍🏽', '👩‍👩‍👧', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'می‌خواهم', 'e\u0301', '１２３']),
  long: (random) => random.from(['a', '日', '\u001b[2J', 'ab ']).repeat(100 + random.below(400)),
  fence: (random) => `\`\`\`\n${'x'.repeat(300 + random.below(200))}\n${random.from(LIES)}`,
}

/** `count` payloads, the kinds in turn; every third is made of two. */
export function payloads(count: number, seed: number): { readonly kind: string; readonly text: string }[] {
  const random = new Random(seed)
  const kinds = Object.entries(KINDS)
  return Array.from({ length: count }, (_, index) => {
    const [kind = '', make = () => ''] = kinds[index % kinds.length] ?? []
    const [also = '', more = () => ''] = index % 3 === 2 ? (kinds[random.below(kinds.length)] ?? []) : []
    return { kind: also === '' ? kind : `${kind} + ${also}`, text: `${make(random)}${more(random)}` }
  })
}
