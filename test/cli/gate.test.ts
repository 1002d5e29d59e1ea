/** The gate: nothing that is said can make a terminal do anything, in any command and on any stream. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SLASH_COMMANDS } from '../../src/cli/chat/slash.ts'
import { ForeignText } from '../../src/cli/gate/foreign.ts'
import { STREAMS } from '../../src/cli/gate/outputs.ts'
import { COMMANDS } from '../../src/cli/help.ts'
import {
  ERASE_BELOW,
  joinLines,
  Output,
  type OutputStream,
  prose,
  red,
  Styled,
  styled,
  typeable,
  VisibleStream,
  visible,
  visibleJson,
  visibleLines,
  visibleValue,
} from '../../src/terminal/index.ts'
import { FIELDS, type Fields } from './gate/fields.ts'
import { KINDS, payloads } from './gate/payloads.ts'
import { leaks, reference } from './gate/reference.ts'
import { printed, scenes, TYPED, trial } from './gate/trial.ts'

const SEED = 1
/** Payloads in each field. `npm run hostile` puts all 500 into all fields. */
const IN_FIELD = 2

describe('a screen', () => {
  const chosen = payloads(IN_FIELD * FIELDS.length, SEED)

  it('is the one with the payloads escaped', async () => {
    const texts = FIELDS.map((_, field) =>
      chosen.map(({ text }, at) => (at % FIELDS.length === field ? text : '')).join(''),
    )
    const { problems, streams } = await trial(texts)
    expect(problems).toEqual([])
    expect([...streams].toSorted()).toEqual([...STREAMS].toSorted())
  })

  it('is tried for every command, every slash command and every kind of payload', () => {
    const tried = new Set(scenes('').map(({ command }) => command))
    expect(COMMANDS.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([])
    const typed = new Set(TYPED.map((line) => line.split(' ')[0]))
    expect(SLASH_COMMANDS.map(({ name }) => name).filter((name) => !typed.has(name))).toEqual([])
    const kinds = new Set(chosen.map(({ kind }) => kind.split(' + ')[0]))
    expect(Object.keys(KINDS).filter((kind) => !kinds.has(kind))).toEqual([])
  })

  it('shows every field that can be hostile', async () => {
    const marks = Object.fromEntries(FIELDS.map((field) => [field, `mark-${field}.`])) as Fields
    const output = await printed(marks)
    expect(FIELDS.filter((field) => !output.includes(`mark-${field}.`))).toEqual([])
  })
})

const units = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 40 })
const hostile = fc.oneof(
  units,
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...payloads(200, 2).map(({ text }) => text)),
)

describe('visible text', () => {
  it('holds nothing that is obeyed, and is escaped once', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const line = visible(text)
        expect(
          leaks(line).filter((char) => !/^U\+(fe0[ef]|200[cd]|fe0[0-2]|e01[0-9a-e][0-9a-f])$/.test(char)),
        ).toEqual([])
        expect(line).not.toMatch(/[\n\t]/)
        expect(visible(line)).toBe(line)
        expect(visibleLines(visibleLines(text))).toBe(visibleLines(text))
      }),
    )
  })

  it('is as the reference says', () => {
    for (const { text } of payloads(500, 3)) expect(visibleLines(text)).toBe(reference(text))
  })

  it('keeps what people write', () => {
    for (const text of [
      '日本語 ｶﾅ',
      '👩‍👩‍👧 🤷‍♂ ❤️ 🇫🇷 1️⃣ 👍🏽',
      '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
      'می‌خواهم',
      'क्‍ष',
      '葛󠄀',
      'Ünï e\u0301',
      'שלום',
    ])
      expect(visible(text)).toBe(text)
  })

  it('takes short cuts only where the whole look finds nothing', () => {
    const codes = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
    const kept = codes.filter((char) => visible(`${char}a`) === `${char}a`)
    // A control character makes it look at the whole text.
    expect(kept.filter((char) => visible(`${char}a\u0007`) !== `${char}a<U+0007>`)).toEqual([])
  })

  it('is the same whatever the pieces were', () => {
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 4 }), fc.integer({ min: 1, max: 5 }), (texts, size) => {
        // Longer runs of joiners and marks than any text has are let go in the middle.
        const text = texts.join('a b').replaceAll(/(?:\p{M}|\p{ExtPict}|\p{Cf}|\p{Cs}){12,}/gu, '')
        const stream = new VisibleStream()
        let out = ''
        for (let at = 0; at < text.length; at += size) out += stream.add(text.slice(at, at + size))
        expect(out + stream.end()).toBe(visibleLines(text))
      }),
      { examples: [[['\u3400\ufe00'], 1]] },
    )
  })

  it('is the same value as JSON, in characters that no terminal obeys', () => {
    fc.assert(
      fc.property(fc.dictionary(hostile, hostile), (value) => {
        const json = visibleJson(JSON.stringify(value))
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(
          leaks(json).filter((char) => !/^U\+(fe0[ef]|200[cd]|fe0[0-2]|e01[0-9a-e][0-9a-f])$/.test(char)),
        ).toEqual([])
      }),
    )
  })

  it('leaves out no argument: names that look alike after escaping both stand', () => {
    expect(visibleValue({ 'a\n': 1, 'a<U+000A>': [2, null, 'x"\u001b'] })).toBe(
      '{"a<U+000A>":1,"a<U+000A>":[2,null,"x\\"<U+001B>"]}',
    )
  })

  it('that is typed loses the same characters', () => {
    expect(typeable('a\u001b[2J\u202e\tb👩‍👧\n', '\n')).toBe('a[2Jb👩‍👧\n')
  })
})

/** A stream that keeps what it is given. */
function recorded(more: Partial<OutputStream> = {}) {
  const writes: string[] = []
  const stream = { isTTY: true, write: (text: string) => writes.push(text), on: () => {}, ...more }
  return { writes, output: new Output(stream, true) }
}

describe('an output', () => {
  it('escapes what is put into our words, and keeps our codes and colours', () => {
    const { writes, output } = recorded()
    output.write(styled`${red('a\u001b[0m')}\n${'b\nc'} ${prose('d\ne')}${ERASE_BELOW}`)
    expect(writes).toEqual(['\u001b[31ma<U+001B>[0m\u001b[39m\nb<U+000A>c d\ne\u001b[J'])
  })

  it('takes no plain text', () => {
    const { output } = recorded()
    // @ts-expect-error a string may hold anything
    expect(() => output.write('a\u001b[2J')).toThrow(TypeError)
    // @ts-expect-error nobody makes styled text but the gate
    expect(() => output.write({ rendered: 'a' })).toThrow(TypeError)
  })

  it('knows a few codes, and no others', () => {
    for (const code of ['\u001b[2J', '\u001b]0;t\u0007', '\u001b[8m', '\u001b[?1049h', 'text'])
      expect(() => Styled.code(code)).toThrow('no code of the gate')
  })

  it('prints joined lines, and no colours where none are wanted', () => {
    const lines = joinLines([red('a'), styled`${'b'}`])
    expect([lines.rendered(false), String(lines)]).toEqual(['a\nb', 'a\nb'])
  })

  it('echoes what a line editor draws, and nothing else that is obeyed', () => {
    const { writes, output } = recorded()
    output.echo('\u001b[1G\u001b[0J› a\u001b[3G\r\n')
    output.echo('\u001b]0;t\u0007\u001b[2t\u001b[?1049h\u009b1A')
    expect(writes).toEqual([
      '\u001b[1G\u001b[0J› a\u001b[3G\r\n',
      '<U+001B>]0;t<U+0007><U+001B>[2t<U+001B>[?1049h<U+009B>1A',
    ])
  })

  it('begins a fresh line only where one is needed', () => {
    const { writes, output } = recorded()
    output.freshLine()
    output.write(styled`a`)
    output.freshLine()
    output.freshLine()
    expect(writes).toEqual(['a', '\n'])
  })
})

describe('what others print', () => {
  it('is shown by lines, whatever the pieces, the encoding and the stream', async () => {
    const shown: string[] = []
    const foreign = new ForeignText((line) => shown.push(`first ${String(line)}`))
    const stream = {
      write: (_chunk: unknown, ..._rest: unknown[]): unknown => true,
      end: (..._rest: unknown[]): unknown => shown.push('ended'),
    }
    foreign.take(stream)
    const bytes = Buffer.from('é\u001b[2J\r\nrest')
    stream.write(bytes.subarray(0, 1))
    stream.write(bytes.subarray(1))
    const done = new Promise<void>((resolve) => void stream.write('6869', 'hex', resolve))
    const end = foreign.showBy((line) => shown.push(`second ${String(line)}`))
    stream.write('\n')
    end()
    stream.write('la')
    await new Promise<void>((resolve) => void stream.end('c3a9', 'hex', resolve))
    stream.end()
    stream.write('st')
    foreign.end()
    await done
    expect(shown).toEqual(['first é<U+001B>[2J', 'second resthi', 'first laést'])
  })
})
