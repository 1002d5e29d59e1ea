/** The pieces that a terminal is drawn with, each by itself. */
import { PassThrough } from 'node:stream'
import type { TurnEvent, TurnOutcome } from 'holdfast'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { argumentsText, callLines, progressText } from '../../src/cli/terminal/call-line.ts'
import { LineEditor } from '../../src/cli/terminal/line-editor.ts'
import { pasteFilter } from '../../src/cli/terminal/paste-filter.ts'
import { Screen } from '../../src/cli/terminal/screen.ts'
import { tableLines } from '../../src/cli/terminal/table.ts'
import { cut, cutStart, hardWrap, oneLine, spanText, widthOf } from '../../src/cli/terminal/text.ts'
import { TurnPrinter } from '../../src/cli/terminal/turn-printer.ts'
import { WordWrap, wrapText } from '../../src/cli/terminal/word-wrap.ts'
import { Output, red, type Styled, styled, wantsColour } from '../../src/terminal/index.ts'
import { leaks } from './gate/reference.ts'

describe('colours', () => {
  it.each([
    [{ isTTY: true, env: {} }, true],
    [{ isTTY: false, env: {} }, false],
    [{ isTTY: true, env: { NO_COLOR: '1' } }, false],
    [{ isTTY: true, env: { NO_COLOR: '' } }, true],
    [{ isTTY: true, env: { TERM: 'dumb' } }, false],
    [{ isTTY: false, env: { FORCE_COLOR: '1' } }, true],
    [{ isTTY: true, env: { FORCE_COLOR: '0' } }, false],
    [{ isTTY: true, env: { FORCE_COLOR: '1' }, off: true }, false],
  ])('for %j: %s', ({ isTTY, ...wish }, wanted) => {
    expect(wantsColour(isTTY, wish)).toBe(wanted)
  })

  it('are ended where they end', () => {
    expect(red('x').rendered(true)).toBe('\x1b[31mx\x1b[39m')
    expect(red('').rendered(true)).toBe('')
    expect(red('x').rendered(false)).toBe('x')
  })
})

describe('text', () => {
  it('is put on one line, and measured as it will be printed', () => {
    expect(oneLine(' a\x1b[31mb\r\n\tc\u0007 ')).toBe('a<U+001B>[31mb c<U+0007>')
    expect([widthOf('\x1b'), cut('\x1b[2J', 5)]).toEqual([8, '<U+0…'])
  })

  it('is broken into rows that no terminal makes longer', () => {
    expect(hardWrap('abcdef\ng', 4)).toEqual(['abcd', 'ef', 'g'])
    expect(hardWrap('日本👩‍👧x', 6)).toEqual(['日本', '👩‍👧', 'x'])
  })

  it('is as wide as it looks', () => {
    expect(['abc', 'é', 'e\u0301', '日本', '👍', '👩‍👩‍👧'].map(widthOf)).toEqual([3, 1, 1, 4, 2, 2])
  })

  it('is cut at either end', () => {
    expect(cut('hello world', 8)).toBe('hello w…')
    expect(cut('日本語', 4)).toBe('日…')
    expect(cut('short', 8)).toBe('short')
    expect(cutStart('hello world', 8)).toBe('…o world')
  })

  it('tells time in few characters', () => {
    expect([40, 1234, 12_345, 83_000, 3_720_000].map(spanText)).toEqual([
      '0.0s',
      '1.2s',
      '12s',
      '1m 23s',
      '1h 02m',
    ])
  })
})

describe('word wrap', () => {
  it('breaks between words, and long words where the line ends', () => {
    expect(wrapText('one two three four', 9)).toEqual(['one two', 'three', 'four'])
    expect(wrapText('abcdefghijkl xy', 5)).toEqual(['abcde', 'fghij', 'kl xy'])
    expect(wrapText('a\n\n  b', 10)).toEqual(['a', '', '  b'])
  })

  it('gives the same whatever the pieces are', () => {
    const text =
      'The quick brown fox jumps over the lazy dog, 日本語 and all.\n\n- one\n- two is longer than the line\n'
    const whole = wrapText(text, 17).join('\n')
    for (const size of [1, 2, 3, 7]) {
      const wrap = new WordWrap(() => 17)
      let out = ''
      for (let at = 0; at < text.length; at += size) out += wrap.add(text.slice(at, at + size))
      expect(out + wrap.flush()).toBe(whole)
    }
    expect(whole.split('\n').every((line) => widthOf(line) <= 17)).toBe(true)
  })

  it('gives the same for a word of many lines, whatever the pieces are', () => {
    const text = `see ${'abcdefghi'.repeat(20)} and`
    const whole = wrapText(text, 10).join('\n')
    for (const size of [1, 4, 25]) {
      const wrap = new WordWrap(() => 10)
      let out = ''
      for (let at = 0; at < text.length; at += size) out += wrap.add(text.slice(at, at + size))
      expect(out + wrap.flush()).toBe(whole)
    }
  })

  it('measures a text without spaces a few times, however many lines it has', () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
    onTestFinished(() => segment.mockRestore())
    const text = '漢'.repeat(4000)
    expect(wrapText(text, 20)).toHaveLength(400)
    const measured = segment.mock.calls.reduce((sum, [part]) => sum + part.length, 0)
    expect(measured).toBeLessThan(5 * text.length)
  })

  it('leaves code alone', () => {
    expect(wrapText('see\n```\nconst a = 1 + 2 + 3\n```\none two three', 10)).toEqual([
      'see',
      '```',
      'const a = 1 + 2 + 3',
      '```',
      'one two',
      'three',
    ])
  })
})

describe('a paste', () => {
  function filtered(chunks: readonly string[]): string[] {
    const heard: string[] = []
    const filter = pasteFilter({
      onKeys: (text) => heard.push(`keys ${text}`),
      onPaste: (text) => heard.push(`paste ${text}`),
    })
    for (const chunk of chunks) filter(chunk)
    return heard
  }

  it('is told from what is typed', () => {
    expect(filtered(['a\x1b[200~one\ntwo\x1b[201~b\r'])).toEqual(['keys a', 'paste one\ntwo', 'keys b\r'])
  })

  it('may come in pieces, its marks too', () => {
    expect(filtered(['\x1b[2', '00~on', 'e\n\x1b', '[20', '1~', 'x'])).toEqual(['paste one\n', 'keys x'])
  })

  it('ends at its mark, also behind a broken escape sequence', () => {
    expect(filtered(['\x1b[200~a\x1b[\x1b[201~b'])).toEqual(['paste a\x1b[', 'keys b'])
    expect(filtered(['\x1b[200~\x1b[20\x1b[201~b'])).toEqual(['paste \x1b[20', 'keys b'])
  })

  it('does not hold back the escape key or the arrows', () => {
    expect(filtered(['\x1b', '\x1b[A', '\x1b[2~'])).toEqual(['keys \x1b', 'keys \x1b[A', 'keys \x1b[2~'])
  })
})

describe('the line that is typed on', () => {
  /** What is drawn, and what is read, when these keys come. */
  async function typed(keys: readonly string[], history: readonly string[] = []) {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input })
    let drawn = ''
    const stream = { isTTY: true, columns: 200, on: () => {}, write: (text: string) => (drawn += text) }
    const editor = new LineEditor({
      input: input as unknown as NodeJS.ReadStream,
      output: new Output(stream, false),
      history,
      complete: () => [['/a\x1b[2Jb', '/plain'], '/'],
    })
    const line = editor.read({ prompt: styled`> ` })
    for (const part of keys) {
      input.write(part)
      await new Promise((next) => setTimeout(next, 20))
    }
    const read = await line
    editor.close()
    const sent = read.type === 'line' ? editor.expand(read.text) : read.type
    const rest = drawn.replaceAll('\x1b[?2004h', '').replaceAll('\x1b[?2004l', '')
    return { text: read.type === 'line' ? read.text : read.type, sent, leaks: leaks(rest) }
  }

  it('sends each paste as it is, also with the name of another one in it', async () => {
    const paste = (text: string) => `\x1b[200~${text}\x1b[201~`
    const { text, sent } = await typed([paste('a [paste 2: 2 lines]\nb'), ' and ', paste('c\nd'), '\r'])
    expect(text).toBe('[paste 1: 2 lines] and [paste 2: 2 lines]')
    expect(sent).toBe('a [paste 2: 2 lines]\nb and c\nd')
  })

  it.each([
    { what: 'C1 and bidi', keys: ['a\u009b2J\u202eb\r'], text: 'a2Jb' },
    { what: 'a paste', keys: ['\x1b[200~a\x1b]0;t\x07\u009b\x1b[2Jb\x1b[201~\r'], text: 'a]0;t[2Jb' },
    { what: 'the history', keys: ['\x1b[A\r'], history: ['old\x1b]0;t\x07\u202e'], text: 'old]0;t' },
    { what: 'a completion', keys: ['/', '\t', '\r'], text: '/plain' },
    { what: 'emoji and wide characters', keys: ['👩‍👧 日本\r'], text: '👩‍👧 日本' },
  ])('draws and reads nothing that is obeyed: $what', async ({ keys, history, text }) => {
    expect(await typed(keys, history)).toMatchObject({ text, leaks: [] })
  })
})

it('a line goes on after Ctrl-Z and fg, and the shell has the terminal meanwhile', async () => {
  const modes: string[] = []
  const keys = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => {
      modes.push(on ? 'raw' : 'usual')
      return keys
    },
  })
  const stream = { isTTY: true, columns: 80, on: () => {}, write: () => true }
  const editor = new LineEditor({
    input: keys as unknown as NodeJS.ReadStream,
    output: new Output(stream, false),
    history: [],
    complete: () => [[], ''],
  })
  const kill = process.kill.bind(process)
  process.kill = (_, signal) => {
    modes.push(String(signal))
    setImmediate(() => process.emit('SIGCONT', 'SIGCONT'))
    return true
  }
  try {
    const line = editor.read({ prompt: styled`> ` })
    keys.write('half a \x1a')
    await expect.poll(() => modes).toEqual(['raw', 'usual', 'SIGTSTP', 'raw'])
    keys.write('line\r')
    expect(await line).toEqual({ type: 'line', text: 'half a line' })
  } finally {
    process.kill = kill
    editor.close()
  }
})

/** What was written, with the codes that move the cursor spelt out. */
function recorder(columns = 40) {
  const writes: string[] = []
  const output = { columns, write: (text: Styled) => writes.push(text.rendered(false)) }
  const spelt = () =>
    writes
      .splice(0)
      .join('')
      .replaceAll('\x1b[', '«')
      .replace(/«\?7[lh]/g, '')
      .replace(/«(\?25[lh]|\d*[AJK])/g, '<$1>')
      .replaceAll('\r', '<start>')
  return { output, spelt }
}

describe('the screen', () => {
  it('draws what changes over what was there, and nothing if nothing changed', () => {
    const { output, spelt } = recorder()
    const screen = new Screen(output)
    screen.setLive([styled`one`])
    expect(spelt()).toBe('<?25l>one<K>')
    screen.setLive([styled`one`])
    expect(spelt()).toBe('')
    screen.setLive([styled`two`, styled`more`])
    expect(spelt()).toBe('<start>two<K>\nmore<K>')
    screen.setLive([styled`three`])
    expect(spelt()).toBe('<start><1A>three<K><J>')
    screen.setLive([])
    expect(spelt()).toBe('<start><J><?25h>')
  })

  it('shows only as many live lines as it can erase', () => {
    const { output, spelt } = recorder()
    const screen = new Screen({ ...output, rows: 3 })
    screen.setLive(['one', 'two', 'three'].map((line) => styled`${line}`))
    expect(spelt()).toBe('<?25l>two<K>\nthree<K>')
    screen.setLive([])
    expect(spelt()).toBe('<start><1A><J><?25h>')
  })

  it('puts lines that stay above those that change', () => {
    const { output, spelt } = recorder()
    const screen = new Screen(output)
    screen.setLive([styled`busy`])
    spelt()
    screen.print(styled`done`)
    expect(spelt()).toBe('<start><J>done\nbusy<K>')
  })

  it('ends streamed text with one line break, and shows nothing below it meanwhile', () => {
    const { output, spelt } = recorder()
    const screen = new Screen(output)
    screen.stream('\n\nHello ')
    screen.setLive([styled`busy`])
    screen.stream('there.\n\n')
    screen.print(styled`next`)
    expect(spelt()).toBe('Hello there.\nnext\n')
  })
})

describe('a call on one line', () => {
  it('has short arguments', () => {
    expect(argumentsText({ city: 'Lisbon', days: 3, note: 'two words', list: [1] })).toBe(
      'city=Lisbon days=3 note="two words" list=[1]',
    )
    expect(argumentsText({ text: 'x'.repeat(100) })).toBe(`text=${'x'.repeat(39)}…`)
    expect(argumentsText(null)).toBe('')
  })

  const call = { tool: 'find', args: { q: 'x' }, status: 'ok', output: { n: 1 } } as const

  it('has the result beside it where there is room, else below', () => {
    expect(String(callLines({ ...call, display: 'one hit' }, 40))).toBe('✓ find q=x → one hit')
    expect(String(callLines({ ...call, display: 'a long list of hits' }, 24))).toBe(
      '✓ find q=x\n  a long list of hits',
    )
    expect(String(callLines({ ...call, tookMs: 2500, depth: 1 }, 40))).toBe('  ✓ find q=x 2.5s → {"n":1}')
  })

  it('says why it did not end well', () => {
    const failed = { ...call, status: 'error', output: { error: 'No such city' } } as const
    expect(String(callLines(failed, 60))).toBe('✗ find q=x → No such city')
    const unknown = { ...call, status: 'unknown', output: 'It was started.' } as const
    expect(String(callLines(unknown, 60))).toBe('✗ find q=x → outcome unknown: It was started.')
  })

  it('understands progress as text, as a message, or as fields', () => {
    expect([progressText('half\nway'), progressText({ message: 'm' }), progressText({ done: 3 })]).toEqual([
      'half way',
      'm',
      'done=3',
    ])
  })
})

describe('a turn on the screen', () => {
  const event = (type: string, data: object, path?: readonly string[]) =>
    ({ type, turn: 1, data, ...(path === undefined ? {} : { path }) }) as unknown as TurnEvent

  it('shows what runs, what was typed and what waits, cut to the width', () => {
    let now = 0
    const { output } = recorder(30)
    const screen = new Screen(output)
    const printer = new TurnPrinter({
      screen,
      now: () => now,
      typed: () => 'more',
      waiting: () => ['next'],
    })
    expect(printer.lines().map(String)).toEqual(['⠋ thinking  0.0s', '» next', '› more'])
    printer.event(event('tool.start', { callId: 'c', tool: 'look', args: { at: 'the sea' } }))
    now = 1500
    expect(String(printer.lines()[0])).toBe('⠋ look  1.5s  at="the sea"')
    printer.event(
      event('tool.progress', { callId: 'c', tool: 'look', progress: 'a very long story of waves' }),
    )
    expect(String(printer.lines()[0])).toBe('⠋ look  1.5s  a very long st…')
    printer.event(event('tool.start', { callId: 'd', tool: 'sub', args: {} }, ['c']))
    expect(String(printer.lines()[1])).toBe('  ⠋ sub  0.0s')
  })

  it('prints the reply once, whether it was streamed or not', () => {
    const { output, spelt } = recorder()
    const printer = new TurnPrinter({ screen: new Screen(output), now: () => 0 })
    const end = event('model.end', { content: [{ type: 'text', text: 'Hello.' }], finish: 'stop' })
    printer.event(event('model.start', {}))
    printer.event(event('text.delta', { text: 'Hello.' }))
    printer.event(event('text.delta', { text: 'of a sub-agent' }, ['c']))
    printer.event(end)
    expect(spelt()).toBe('Hello.\n')
    printer.event(event('model.start', {}))
    printer.event(end)
    expect(spelt()).toBe('Hello.\n')
  })

  it.each([
    ['repeats it', ['1. Roof\n', '2. Walls'], '✓ look\n1. Roof\n2. Walls\n'],
    ['repeats it and goes on', ['1. Roof\n2. Walls', '. More?'], '✓ look\n1. Roof\n2. Walls. More?\n'],
    ['says something else', ['1. Roof', ' and garden'], '✓ look → 1. Roof 2. Walls\n1. Roof and garden\n'],
    ['ends before its end', ['1. Roof'], '✓ look → 1. Roof 2. Walls\n1. Roof\n'],
    ['says nothing', [], '✓ look → 1. Roof 2. Walls\n'],
  ])('prints a result once if the reply %s', (...[, pieces, printed]) => {
    const { output, spelt } = recorder()
    const printer = new TurnPrinter({ screen: new Screen(output), now: () => 0 })
    const ended = { callId: 'c', status: 'ok', output: [], display: '1. Roof\n2. Walls' }
    printer.event(event('tool.start', { callId: 'c', tool: 'look', args: {} }))
    printer.event(event('tool.end', ended))
    for (const text of pieces) printer.event(event('text.delta', { text }))
    printer.event(event('model.end', { content: [{ type: 'text', text: pieces.join('') }], finish: 'stop' }))
    expect(spelt()).toBe(printed)
  })

  it('says how it ended only if that is worth a line', () => {
    const { output, spelt } = recorder()
    const ends = (outcome: Partial<TurnOutcome>) => {
      new TurnPrinter({ screen: new Screen(output), now: () => 0 }).end(outcome as TurnOutcome)
      return spelt()
    }
    expect(ends({ reason: 'stop' })).toBe('')
    expect(ends({ reason: 'input-required' })).toBe('')
    expect(ends({ reason: 'cancelled' })).toBe('— cancelled\n')
    expect(ends({ reason: 'failed', error: { code: 'x', message: 'No.' } })).toBe('✗ No.\n')
    expect(ends({ reason: 'limit', limit: 'tokens' })).toBe(
      '— stopped by the limit on tokens; type\n/continue\n',
    )
  })
})

describe('a table', () => {
  it('has any number of rows', () => {
    const rows = Array.from({ length: 150_000 }, (_, at) => [`${at}`, 'x'])
    expect(
      tableLines([['ID', 'KIND'], ...rows], 40)
        .at(-1)
        ?.rendered(false),
    ).toBe('149999    x')
  })

  it('gives way in its first column', () => {
    const rows = [
      ['ID', 'TURNS'],
      ['a-very-long-name', '3'],
    ]
    expect(tableLines(rows, 20).map(String)).toEqual(['ID             TURNS', 'a-very-long-…  3'])
    expect(tableLines(rows, Number.POSITIVE_INFINITY).map(String)).toEqual([
      'ID                TURNS',
      'a-very-long-name  3',
    ])
  })
})
