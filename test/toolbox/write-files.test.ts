import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callerOf } from './caller.ts'
import { type Box, box } from './kit.ts'

const block = (search: string, replace: string): string =>
  `------- SEARCH\n${search}\n=======\n${replace}${replace === '' ? '' : '\n'}+++++++ REPLACE\n`

async function holding(content: string | Uint8Array): Promise<Box & { text: () => string }> {
  const made = await box()
  writeFileSync(join(made.root, 'f.txt'), content)
  return { ...made, text: () => readFileSync(join(made.root, 'f.txt'), 'utf8') }
}

describe('write_to_file', () => {
  it('says Created and Updated truly, with lines and bytes, and that nothing changes', async () => {
    const { call, root } = await box()
    const write = (content: string): Promise<string> => call('write_to_file', { path: 'a/b/c.txt', content })
    expect(await write('é\nx')).toBe('ok: Created a/b/c.txt: 2 lines, 4 bytes.')
    expect(await write('new\n')).toBe('ok: Updated a/b/c.txt: 1 line, 4 bytes.')
    expect(await write('new\n')).toBe('ok: a/b/c.txt already has exactly this content. Nothing was written.')
    expect(readdirSync(join(root, 'a/b'))).toEqual(['c.txt'])
  })

  it('refuses a file that was not read, or has changed since', async () => {
    const { call, text, root } = await holding('theirs')
    const write = (content: string): Promise<string> => call('write_to_file', { path: 'f.txt', content })
    expect(await write('mine')).toBe(
      'error: "f.txt" exists, and you have not read it. Nothing was written. Read it with read_file first.',
    )
    await call('read_file', { path: './f.txt' })
    writeFileSync(join(root, 'f.txt'), 'theirs again')
    expect(await write('mine')).toBe(
      'error: "f.txt" has changed since you read it. Nothing was written. Read it again with read_file first.',
    )
    expect(text()).toBe('theirs again')
    await call('read_file', { path: 'f.txt', limit: 1 })
    expect(await write('mine')).toMatch(/^ok: Updated/)
    expect(text()).toBe('mine')
  })

  it('refuses a file whose earlier content was put back', async () => {
    const { call, text, root } = await holding('theirs')
    const write = (content: string): Promise<string> => call('write_to_file', { path: 'f.txt', content })
    await call('read_file', { path: 'f.txt' })
    expect(await write('mine')).toMatch(/^ok: Updated/)
    writeFileSync(join(root, 'f.txt'), 'theirs')
    expect(await write('mine again')).toBe(
      'error: "f.txt" has changed since you read it. Nothing was written. Read it again with read_file first.',
    )
    expect(text()).toBe('theirs')
    await call('read_file', { path: 'f.txt' })
    expect(await write('mine again')).toMatch(/^ok: Updated/)
  })

  it('knows a file by each of its paths, also if the working folder was given as a link', async () => {
    const { base, root, context } = await holding('theirs')
    symlinkSync(root, join(base, 'linked'))
    const call = await callerOf(join(base, 'linked'), context)
    const paths = ['f.txt', `${base}/linked/f.txt`, `${root}/./f.txt`, `${base}/linked//f.txt`]
    for (const [index, path] of paths.entries()) {
      const other = paths[(index + 1) % paths.length] as string
      writeFileSync(join(root, 'f.txt'), `theirs ${index}`)
      await call('read_file', { path })
      expect(await call('write_to_file', { path: other, content: `mine ${index}` })).toMatch(/^ok: Updated/)
    }
  })

  it('keeps permissions, and refuses folders', async () => {
    const { call, root } = await holding('#!/bin/sh\n')
    chmodSync(join(root, 'f.txt'), 0o751)
    await call('read_file', { path: 'f.txt' })
    await call('write_to_file', { path: 'f.txt', content: 'x' })
    expect(statSync(join(root, 'f.txt')).mode & 0o777).toBe(0o751)
    expect(await call('write_to_file', { path: '.', content: 'x' })).toMatch(/^error: "\." is a folder/)
    expect(await call('write_to_file', { path: 'f.txt/x', content: 'x' })).toMatch(
      /^error: "f.txt\/x" is below/,
    )
  })

  it('shows a unified diff before it writes, and changes nothing', async () => {
    const { tool, context, text, root } = await holding('one\ntwo\n')
    const preview = (path: string, content: string): unknown =>
      tool('write_to_file').preview?.({ path, content }, context)
    expect(await preview('f.txt', 'one\n2\n')).toBe('--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n')
    expect(await preview('new', 'x\n')).toBe('--- /dev/null\n+++ new\n@@ -0,0 +1,1 @@\n+x\n')
    expect(await preview('../x', 'x')).toMatch(/^This call would fail\. "\.\.\/x" is outside/)
    expect(await preview('f.txt', 'one\ntwo\n')).toBe('f.txt already has this content: nothing would change.')
    expect([text(), readdirSync(root)]).toEqual(['one\ntwo\n', ['f.txt']])
  })
})

describe('replace_in_file', () => {
  async function edited(content: string, diff: string): Promise<[string, string]> {
    const { call, text } = await holding(content)
    await call('read_file', { path: 'f.txt' })
    const result = await call('replace_in_file', { path: 'f.txt', diff })
    return [text(), result]
  }

  it('replaces the first occurrence of each block, in order', async () => {
    expect(await edited('a\nb\na\nb\n', block('a', 'x') + block('a', 'y'))).toEqual([
      'x\nb\ny\nb\n',
      'ok: Updated f.txt: 2 blocks replaced, now 8 bytes. Block 1 replaced the first of 2 occurrences.',
    ])
    expect((await edited('ab\n', block('a', 'b') + block('b', 'c')))[0]).toBe('bc\n')
    expect((await edited('aa'.repeat(50), block('a', 'b')))[1]).toBe(
      'ok: Updated f.txt: 1 block replaced, now 100 bytes. Block 1 replaced the first of at least 100 occurrences.',
    )
    expect((await edited('aa'.repeat(5000), block('a', 'b')))[1]).toMatch(/the first of at least 100 occurr/)
    expect((await edited('a'.repeat(99), block('a', 'b')))[1]).toMatch(/the first of 99 occurrences/)
    expect(
      (await edited('x = 1; y = 1\n', '<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE'))[0],
    ).toBe('x = 2; y = 1\n')
  })

  it('an empty REPLACE deletes, whole lines with their line break', async () => {
    expect((await edited('a\nb\nc\nd\n', block('b\nc', '')))[0]).toBe('a\nd\n')
    expect((await edited('a b c\n', block(' b', '')))[0]).toBe('a c\n')
    expect((await edited('a\nb\n', '------- SEARCH\na\n=======\n\n+++++++ REPLACE'))[0]).toBe('\nb\n')
    expect((await edited('a\nb', block('b', '')))[0]).toBe('a\n')
  })

  it('keeps CRLF, a BOM, and a missing line break at the end', async () => {
    expect((await edited('a\r\nb\r\nc', block('a\nb', 'x\ny')))[0]).toBe('x\r\ny\r\nc')
    expect((await edited('a\r\nb\r\n', block('a', '')))[0]).toBe('b\r\n')
    expect((await edited('\uFEFFa\nb', block('b', 'c')))[0]).toBe('\uFEFFa\nc')
    expect((await edited('\uFEFFa\nb', block('a', '')))[0]).toBe('\uFEFFb')
    expect((await edited('\uFEFF\uFEFFa\nb', block('a', '')))[0]).toBe('\uFEFF\uFEFF\nb')
    expect((await edited('a\nb\n', block('a\nb', 'x\ny').replaceAll('\n', '\r\n')))[0]).toBe('x\ny\n')
  })

  it('writes nothing if a block is missing, and shows the nearest text', async () => {
    const content = 'function add(a, b) {\n  return a + b\n}\n'
    expect(await edited(content, block('add', 'sum') + block('    return a + b', 'x'))).toEqual([
      content,
      'error: Nothing was written. Block 2: its SEARCH does not occur in the file. It must match exactly, with all spaces. The nearest text is:\n2:   return a + b',
    ])
    expect((await edited(content, block('functon ad(a, b) {', 'x')))[1]).toContain(
      'The nearest text is:\n1: function add(a, b) {',
    )
    expect((await edited(content, block('zzzz', 'x')))[1]).toContain('There is no similar text')
    expect((await edited('a\r\nb\nc\n', block('a\nb', 'x')))[1]).toContain(
      'its SEARCH occurs, but with other line breaks (CRLF or LF)',
    )
    expect((await edited('a\nb\n', block('b', 'x') + block('a', 'y')))[1]).toContain(
      'in the order of the file',
    )
  })

  it('writes nothing if a block is malformed or ambiguous, and never a marker', async () => {
    const wrong = [
      'no block at all',
      '',
      '------- SEARCH\na\n+++++++ REPLACE',
      '------- SEARCH\na\n=======\nb',
      '------- SEARCH\na',
      '------- SEARCH\n=======\nb\n+++++++ REPLACE',
      '------- SEARCH\na\n=======\nb\n=======\nc\n+++++++ REPLACE',
      '------- SEARCH\na\n=======\nb\n------- SEARCH\nc\n=======\nd\n+++++++ REPLACE',
      '------- SEARCH\na\n=======\nb\n++++++ REPLACE\n+++++++ REPLACE',
      '------- SEARCH\na\n=======\nb\n+++++++REPLACE',
      `${block('a', 'b')}and so on`,
      `${block('a', 'b')}------- SEARCH`,
    ]
    for (const diff of wrong) {
      const [text, result] = await edited('a\n', diff)
      expect([diff, text, result.slice(0, 33)]).toEqual([diff, 'a\n', 'error: Nothing was written. Block'])
    }
  })

  it('says that it changes nothing, and refuses files that are no text, or not there, or not read', async () => {
    expect(await edited('a\n', block('a', 'a'))).toEqual([
      'a\n',
      'ok: The blocks change nothing in f.txt. Nothing was written.',
    ])
    const binary = await holding(Uint8Array.of(0x61, 0xff, 0x62))
    await binary.call('read_file', { path: 'f.txt' })
    const diff = block('a', 'b')
    expect(await binary.call('replace_in_file', { path: 'f.txt', diff })).toMatch(
      /^error: "f.txt" is no text in UTF-8/,
    )
    expect(await binary.call('replace_in_file', { path: 'g', diff })).toMatch(/^error: "g" does not exist/)
    const { call, text } = await holding('a\n')
    expect(await call('replace_in_file', { path: 'f.txt', diff })).toMatch(/you have not read it/)
    expect(text()).toBe('a\n')
  })

  it('can be edited again without being read again', async () => {
    const { call, text } = await holding('a\n')
    await call('read_file', { path: 'f.txt' })
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const)
      expect(await call('replace_in_file', { path: 'f.txt', diff: block(from, to) })).toMatch(/^ok: Updated/)
    expect(text()).toBe('c\n')
  })

  it('shows a unified diff before it writes, or why it would fail', async () => {
    const { tool, context } = await holding('one\ntwo\n')
    const preview = (diff: string): unknown =>
      tool('replace_in_file').preview?.({ path: 'f.txt', diff }, context)
    expect(await preview(block('two', '2'))).toBe('--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n')
    expect(await preview(block('three', '3'))).toMatch(
      /^This call would fail\. Nothing was written\. Block 1/,
    )
  })
})

describe('after a crash', () => {
  /** A call whose process died after the intent, or after the change. */
  async function cutOff(): Promise<Box & { verdict: () => Promise<unknown>; write: (text: string) => void }> {
    const made = await holding('before')
    await made.call('read_file', { path: 'f.txt' })
    await made.call('write_to_file', { path: 'f.txt', content: 'after' })
    const context = { ...made.context, callId: 'call_2', idempotencyKey: 'call_2' }
    const verdict = async (): Promise<unknown> =>
      made.tool('write_to_file').verify?.({ path: 'f.txt', content: 'after' }, context)
    return { ...made, verdict, write: (text) => writeFileSync(join(made.root, 'f.txt'), text) }
  }

  it('the new content has happened, the old has not, and any other is unknown', async () => {
    const { verdict, write, root } = await cutOff()
    expect(await verdict()).toEqual({ happened: true, output: 'Updated f.txt: 1 line, 5 bytes.' })
    write('before')
    expect(await verdict()).toEqual({ happened: false })
    write('something else')
    expect(await verdict()).toEqual({ happened: 'unknown' })
    rmSync(join(root, 'f.txt'))
    expect(await verdict()).toEqual({ happened: 'unknown' })
  })

  it('a call without an intent has not happened', async () => {
    const { tool, context } = await cutOff()
    const verify = tool('write_to_file').verify?.(
      { path: 'f.txt', content: 'after' },
      { ...context, callId: 'call_9' },
    )
    expect(await verify).toEqual({ happened: false })
  })

  it('a conversation knows only what it has read itself', async () => {
    const { root, call } = await holding('before')
    await call('read_file', { path: 'f.txt' })
    const other = await callerOf(root)
    expect(await other('write_to_file', { path: 'f.txt', content: 'x' })).toMatch(/you have not read it/)
    expect(await call('write_to_file', { path: 'f.txt', content: 'x' })).toMatch(/^ok: Updated/)
  })
})
