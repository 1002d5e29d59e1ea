/** System prompts in files: folders, front matter, variables, and their record in the journal. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { promptFile } from '../../src/turn/index.ts'
import { bench, KEY, promptLines } from './kit.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-prompts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

const CLERK =
  '---\nversion: 3\nlabel: "production"\nowner: accounts\n---\nYou are a clerk of {{ company }}.\n'

describe('a system prompt in a file', () => {
  it('is that of the agent’s name in a folder, and recorded with the turn', async () => {
    file('agents/clerk.md', CLERK.replace('{{ company }}', 'Acme'))
    const { agent, model, store } = bench({
      name: 'clerk',
      systemPrompt: `${folder}/agents/`,
      script: ['Hi', 'Hi'],
    })
    await agent.input('Hello')
    expect(promptLines(model, 0)[0]).toBe('system "You are a clerk of Acme."')
    expect(agent.session.messages[0]).toEqual({ role: 'system', content: 'You are a clerk of Acme.' })
    const start = (await store.read(KEY)).find(({ type }) => type === 'turn.start')
    expect(start?.data['prompt']).toEqual({
      name: 'clerk',
      version: '3',
      label: 'production',
      hash: expect.stringMatching(/^[\w-]{22}$/),
    })
  })

  it('has variables, given once or for each turn', async () => {
    const path = file('clerk.md', CLERK)
    const fixed = bench({
      systemPrompt: promptFile(path, { variables: { company: 'Acme' } }),
      script: ['Hi'],
    })
    await fixed.agent.input('Hello')
    expect(promptLines(fixed.model, 0)[0]).toBe('system "You are a clerk of Acme."')
    const each = bench({
      systemPrompt: promptFile(path, { variables: async ({ turn }) => ({ company: `Acme ${turn}` }) }),
      script: ['Hi', 'Hi'],
    })
    await each.agent.input('Hello')
    await each.agent.input('Hello')
    expect([0, 1].map((call) => promptLines(each.model, call)[0])).toEqual([
      'system "You are a clerk of Acme 1."',
      'system "You are a clerk of Acme 2."',
    ])
  })

  it('has the hash of its content', () => {
    const hashes = ['a', 'b', 'a'].map((text) => promptFile(file('hash.md', text)).version.hash)
    expect(hashes[0]).toBe(hashes[2])
    expect(hashes[0]).not.toBe(hashes[1])
  })

  it('may be without front matter, have Windows line ends, or be a plain text', () => {
    expect(promptFile(file('plain.txt', ' Be brief. \n'))).toMatchObject({
      version: { name: 'plain' },
      fixed: 'Be brief.',
    })
    expect(promptFile(file('win.md', '---\r\nname: w\r\n---\r\nBe brief.\r\n'))).toMatchObject({
      version: { name: 'w' },
      fixed: 'Be brief.',
    })
    expect(promptFile(file('rule.md', 'One\n---\nTwo')).fixed).toBe('One\n---\nTwo')
  })

  it.each([
    ['after a byte order mark', '\uFEFF---\nname: clerk\n---\nBe brief.', { name: 'clerk' }],
    [
      'with a value that ends in dashes',
      '---\nlabel: a---\nname: clerk\n---\nBe brief.',
      { name: 'clerk', label: 'a---' },
    ],
    ['that is empty', '---\n---\nBe brief.', { name: 'front' }],
  ])('may have front matter %s', (_what, text, version) => {
    expect(promptFile(file('front.md', text))).toMatchObject({ version, fixed: 'Be brief.' })
  })

  it.each([
    [
      'a missing file',
      () => bench({ systemPrompt: join(folder, 'clark.md') }),
      /clark\.md cannot be read\. Did you mean .*clerk\.md\?/,
    ],
    [
      'a missing file of a folder',
      () => bench({ name: 'nobody', systemPrompt: `${folder}/` }),
      'nobody.md cannot be read',
    ],
    ['a folder without a name', () => bench({ systemPrompt: 'prompts/' }), 'give the agent a `name`'],
    [
      'a name that leaves the folder',
      () => bench({ name: '../x', systemPrompt: 'prompts/' }),
      'name cannot be a file',
    ],
    [
      'a missing variable',
      () => bench({ systemPrompt: file('v.md', 'Hi {{company}} {{x}}') }),
      'v.md has {{company}}: give it as promptFile(',
    ],
    [
      'an unused variable',
      () => promptFile(file('u.md', '{{name}}'), { variables: { name: 'x', nam: 'y' } }),
      'has "nam", which',
    ],
    [
      'a wrong value',
      () => promptFile(file('w.md', '{{name}}'), { variables: { name: {} as never } }),
      'variables.name must be a text or a number',
    ],
    [
      'no values',
      () => promptFile(file('n.md', '{{name}}'), { variables: [] as never }),
      'variables must be an object',
    ],
    [
      'broken front matter',
      () => promptFile(file('b.md', '---\nversion 3\n---\n')),
      'b.md:2 is no line of front matter: "version 3"',
    ],
    [
      'an unknown option',
      () => promptFile(file('o.md', 'x'), { vars: {} } as never),
      'Write variables instead',
    ],
    [
      'something else',
      () => bench({ systemPrompt: 7 as never }),
      'systemPrompt must be a text, a path, promptFile() or a function, not 7',
    ],
  ])('%s is an error', (_, make, message) => {
    expect(make).toThrow(message)
  })

  it('fails the turn if its function throws or misses a variable', async () => {
    const path = file('clerk.md', CLERK)
    const wrong = bench({ systemPrompt: promptFile(path, { variables: () => ({}) }), script: ['Hi'] })
    const { error } = await wrong.agent.executeTurn('Hello').outcome
    expect(error).toMatchObject({ message: expect.stringContaining('has {{company}}') })
  })

  it('is no file if it has spaces', async () => {
    const { agent, model } = bench({ systemPrompt: 'Read notes.md', script: ['Hi'] })
    await agent.input('Hello')
    expect(promptLines(model, 0)[0]).toBe('system "Read notes.md"')
  })
})
