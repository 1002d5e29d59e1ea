import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemTimer } from '../../src/base/index.ts'
import { fakeToolContext } from '../../src/testing/index.ts'
import { redactorOf, runCall } from '../../src/tool/index.ts'
import { box } from './kit.ts'

async function reading(content: string | Uint8Array, args = {}): Promise<string> {
  const { root, call } = await box()
  writeFileSync(join(root, 'f.txt'), content)
  return call('read_file', { path: 'f.txt', ...args })
}

it('a whole file says how long it is', async () => {
  expect(await reading('a\nb\n')).toBe('ok: [f.txt: 2 lines, 4 bytes.]\n\na\nb\n')
  expect(await reading('a\r\nb')).toBe('ok: [f.txt: 2 lines, 4 bytes.]\n\na\r\nb')
  expect(await reading('')).toBe('ok: [f.txt: 0 lines, 0 bytes.]\n\n')
})

it('bytes that end in a credential of the turn have no part of it', async () => {
  const { root, tool } = await box()
  writeFileSync(join(root, 'f.txt'), 'key=tok_0123456789abcdef\n')
  const credentials = { token: 'tok_0123456789abcdef' }
  const context = fakeToolContext({ credentials })
  const read = async (input: object) => {
    const run = { tool: tool('read_file'), input: { path: 'f.txt', ...input }, context }
    const end = await runCall({ ...run, secrets: redactorOf(credentials), timer: systemTimer })
    return (end.kind === 'settled' ? (end.output as string) : end.kind).split('\n').slice(2)
  }
  expect(await read({ limit_bytes: 20 })).toEqual(['key=[redacted]'])
  expect(await read({ limit_bytes: 8 })).toEqual(['key=tok_'])
  expect(await read({})).toEqual(['key=[redacted]', ''])
})

it('a range of lines says what is left out, and how to read on', async () => {
  const lines = Array.from({ length: 10 }, (_, index) => `line ${index}\n`).join('')
  expect(await reading(lines, { offset: 2, limit: 2 })).toBe(
    'ok: [f.txt: lines 3 to 4 of 10, 14 of 70 bytes. Left out: lines 1 to 2 and 42 bytes after this. Read on with offset 4.]\n\nline 2\nline 3\n',
  )
  expect(await reading(lines, { offset: 8 })).toBe(
    'ok: [f.txt: lines 9 to 10 of 10, 14 of 70 bytes. Left out: lines 1 to 8.]\n\nline 8\nline 9\n',
  )
  expect(await reading(lines, { offset: 10 })).toBe(
    'error: offset 10 is beyond the end: f.txt has 10 lines. Use a smaller offset.',
  )
})

it('a file of terabytes is read up to a bound, and says so', async () => {
  const { root, call } = await box()
  const size = 2 ** 42
  writeFileSync(join(root, 'huge'), 'a line\n'.repeat(2000))
  truncateSync(join(root, 'huge'), size)
  const bound = 256 * 1024 * 1024
  expect(await call('read_file', { path: 'huge', limit: 1 })).toBe(
    `ok: [huge: lines 1 to 1 of at least 2001, 7 of ${size} bytes. Left out: ${size - 7} bytes after this. Read on with offset 1.]\n\na line\n`,
  )
  expect(await call('read_file', { path: 'huge', offset: 5000 })).toBe(
    `error: offset 5000 is beyond the first ${bound} bytes of huge, which have 2001 lines; the rest is not read. Use execute_command to look at it.`,
  )
})

it('the first bytes end with a whole character', async () => {
  const text = '€😀é'
  const shown = async (limit_bytes: number): Promise<string> =>
    (await reading(text, { limit_bytes })).split('\n\n')[1] as string
  const expected = ['', '', '€', '€', '€', '€', '€😀', '€😀', '€😀é', '€😀é']
  for (const [index, each] of expected.entries())
    expect([index + 1, await shown(index + 1)]).toEqual([index + 1, each])
})

it('bytes say what is left out', async () => {
  expect(await reading('one\ntwo\n', { limit_bytes: 5 })).toBe(
    'ok: [f.txt: lines 1 to 2 of 2, 5 of 8 bytes. Left out: 3 bytes after this.]\n\none\nt',
  )
})

it('lines and bytes together, and numbers that are none, are refused', async () => {
  expect(await reading('x', { limit: 1, limit_bytes: 1 })).toMatch(/^error: limit_bytes cannot be used with/)
  expect(await reading('x', { offset: 0, limit_bytes: 1 })).toMatch(/^error: limit_bytes cannot be used with/)
  for (const args of [{ limit: 0 }, { limit: '1' }, { offset: -1 }, { limit_bytes: 1.5 }, { lines: 3 }])
    expect(await reading('x', args)).toMatch(/^refused: /)
})

it('a long file is shown in parts that join to the whole', async () => {
  const { root, call } = await box()
  const lines = Array.from({ length: 30_000 }, (_, index) => `the line é number ${index}\n`)
  writeFileSync(join(root, 'long'), lines.join(''))
  let text = ''
  for (let offset: string | undefined = '0', parts = 0; offset !== undefined && parts < 20; parts++) {
    const result = await call('read_file', { path: 'long', offset: Number(offset) })
    const [head, body] = result.split('.]\n\n') as [string, string]
    expect(head).toContain('of 30000')
    offset = /Read on with offset (\d+)/.exec(head)?.[1]
    text +=
      offset === undefined
        ? body
        : body
            .split('\n')
            .slice(0, Number(offset) - text.split('\n').length + 1)
            .join('\n') + '\n'
  }
  expect(text).toBe(lines.join(''))
})

it('a line that is too long is cut, and says so', async () => {
  const result = await reading(`${'x'.repeat(150_000)}\nend\n`)
  expect(result.slice(0, 160)).toMatch(
    /100000 of 150005 bytes\. Left out: 50005 bytes after this, because line 1 is too long/,
  )
})

it('binary files and texts in another encoding are not shown as text', async () => {
  expect(await reading(Uint8Array.of(1, 0, 2))).toBe(
    'ok: [f.txt is a binary file of 3 bytes, which cannot be shown as text. Use execute_command to look into it or to convert it.]',
  )
  expect(await reading(Buffer.from('\uFEFFhi', 'utf16le'))).toMatch(/is text in UTF-16 of 6 bytes/)
  expect(await reading(Uint8Array.of(0x61, 0xe9, 0x62))).toBe(
    'ok: [f.txt: 1 line, 3 bytes. Some bytes are no valid UTF-8 and are shown as \uFFFD.]\n\na\uFFFDb',
  )
})

it('an image becomes an artifact, once, and the result names it and the tool that looks at it', async () => {
  const { root, call, context } = await box()
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  writeFileSync(join(root, 'p.png'), png)
  const result = await call('read_file', { path: 'p.png' })
  const id = /artifact (image\.[0-9a-f]{24})\. Use analyze_image/.exec(result)?.[1] as string
  expect(await call('read_file', { path: 'p.png' })).toBe(result)
  const { info, content } = await context.artifacts.read(id)
  expect(info).toMatchObject({ name: 'p.png', mediaType: 'image/png', version: 1 })
  expect(Buffer.from(content as Uint8Array)).toEqual(png)
})

it('a file of 40 MB is counted without being loaded', async () => {
  const { root, call } = await box()
  writeFileSync(join(root, 'large'), `${'y'.repeat(999)}\n`.repeat(40_000))
  const before = process.memoryUsage().arrayBuffers
  expect(await call('read_file', { path: 'large', offset: 39_999 })).toMatch(
    /^ok: \[large: lines 40000 to 40000 of 40000/,
  )
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
})
