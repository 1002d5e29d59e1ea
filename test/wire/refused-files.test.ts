/** A file that a vendor refuses fails the turn that brought it, and no turn after it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore, type UserContent } from '../../src/index.ts'
import { type FilePart, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { journal } from '../turn/kit.ts'
import { WireServer } from './server.ts'
import { named, SPEAKERS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => {
  wire.reset()
  wire.otherwise = { text: 'Fine.' }
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const png: FilePart = { type: 'file', mediaType: 'image/png', name: 'good.png', data: PNG }
const bmp: FilePart = { type: 'file', mediaType: 'image/bmp', name: 'photo.bmp', data: 'Qk0AAAAA' }
const look = (...files: FilePart[]): UserContent => [{ type: 'text', text: 'look' }, ...files]
const lastBody = () => JSON.stringify(wire.asked.at(-1)?.body)
const UNREAD = 'Here was the file \\"photo.bmp\\" (image/bmp). It could not be read.'

describe.each(SPEAKERS)('%s', (speaker) => {
  it('fails the turn that brought a file which it refuses, and goes on without the file', async () => {
    const agent = talk().with(named(wire, speaker))
    const refused = await agent.executeTurn(look(bmp)).outcome
    expect([refused.reason, refused.error?.['kind']]).toEqual(['failed', 'file-refused'])
    expect(refused.error?.message).toContain('refused the file "photo.bmp" (image/bmp): ')
    wire.problems.length = 0
    for (const text of ['never mind, hello', 'and again']) {
      const outcome = await agent.executeTurn(text).outcome
      expect([outcome.reason, outcome.text, wire.problems]).toEqual(['stop', 'Fine.', []])
      expect(lastBody()).toContain(UNREAD)
    }
  })

  it('leaves out only the one of several files that it refuses', async () => {
    const agent = talk().with(named(wire, speaker))
    const others = ['a', 'b'].map((name) => ({ ...png, name: `${name}.png` }))
    const refused = await agent.executeTurn(look(png, bmp, ...others)).outcome
    expect(refused.error).toMatchObject({ kind: 'file-refused', files: [{ name: 'photo.bmp' }] })
    wire.problems.length = 0
    expect((await agent.executeTurn('hello').outcome).text).toBe('Fine.')
    expect(wire.problems).toEqual([])
    expect(lastBody().split(PNG)).toHaveLength(4)
    expect(lastBody()).toContain(UNREAD)
  })

  it('keeps a good file when something else is refused', async () => {
    const refuse = { status: 400, message: 'The tool schema is too clever.' }
    wire.otherwise = { refuse }
    const agent = talk().with(named(wire, speaker))
    const { error } = await agent.executeTurn(look(png)).outcome
    expect([error?.['kind'], error?.message]).toEqual(['invalid', refuse.message])
    wire.otherwise = { text: 'Fine.' }
    expect((await agent.executeTurn('hello').outcome).text).toBe('Fine.')
    expect(lastBody()).toContain(PNG)
  })

  it('says nothing of a file while nobody can say what was wrong', async () => {
    const agent = talk().with(named(wire, speaker, { retries: 0 }))
    wire.script = [{ refuse: { status: 503, message: 'Overloaded' } }]
    const { error } = await agent.executeTurn(look(bmp)).outcome
    expect(error?.['kind']).toBe('invalid')
    wire.problems.length = 0
    const outcome = await agent.executeTurn('hello').outcome
    expect([outcome.reason, outcome.text]).toEqual(['stop', 'Fine.'])
    expect(lastBody()).toContain(UNREAD)
  })

  it('goes on after a history was imported with a file that it refuses', async () => {
    const agent = talk().with(named(wire, speaker))
    await agent.importMessages([
      { role: 'user', content: look(bmp, png) },
      { role: 'assistant', content: [{ type: 'text', text: 'Nice.' }] },
    ])
    const warnings: unknown[] = []
    const turn = agent.executeTurn('hello')
    for await (const event of turn) if (event.type === 'warning') warnings.push(event.data.code)
    expect([(await turn.outcome).text, warnings]).toEqual(['Fine.', ['file-refused']])
    expect(lastBody()).toContain(PNG)
    expect(lastBody()).toContain(UNREAD)
    wire.problems.length = 0
    expect((await agent.executeTurn('again').outcome).text).toBe('Fine.')
    expect(wire.problems).toEqual([])
  })

  it('lets the next model read what it refuses, and does not try it again itself', async () => {
    const takes = speaker === 'google' ? 'compatible' : 'google'
    const file: FilePart =
      speaker === 'google'
        ? { ...png, mediaType: 'image/gif', name: 'x.gif' }
        : { ...png, mediaType: 'image/heic', name: 'x.heic' }
    const agent = talk().with([named(wire, speaker), named(wire, takes)])
    for (const said of [look(file), 'and now?']) {
      const outcome = await agent.executeTurn(said).outcome
      expect([outcome.reason, outcome.text]).toEqual(['stop', 'Fine.'])
    }
    expect(wire.problems).toHaveLength(1)
    expect(wire.asked.at(-1)?.speaker).toBe(speaker)
    expect(lastBody()).toContain('It could not be read.')
  })

  it('goes on when an address that it has read before cannot be read any more', async () => {
    const url = 'https://example.com/old.png'
    const agent = talk().with(named(wire, speaker))
    expect((await agent.executeTurn(look({ ...png, data: url }, png)).outcome).text).toBe('Fine.')
    wire.gone = url
    expect((await agent.executeTurn('hello').outcome).text).toBe('Fine.')
    expect(lastBody()).toContain('It could not be read.')
    expect(lastBody()).toContain(PNG)
  })

  it.each([
    ['broken base64', { ...png, data: 'not base64 at all!' }],
    ['a name with half a character', { ...png, mediaType: 'application/pdf', name: '🎉.pdf'.slice(1) }],
    ['a type that is none', { ...png, mediaType: 'png' }],
  ])('goes on in a conversation that was stored with %s', async (_, file) => {
    const { store, with: agentWith } = talk()
    const key = { ...LOCAL_OWNER, contextId: 'talk' }
    await store.append({
      key,
      id: 'old',
      since: 0,
      inbox: [{ type: 'input', key: 'old', data: { message: look(file) } }],
    })
    const agent = agentWith(named(wire, speaker))
    expect((await agent.executeTurn('hello').outcome).text).toBe('Fine.')
    wire.problems.length = 0
    expect((await agent.executeTurn('and again').outcome).text).toBe('Fine.')
    expect(wire.problems).toEqual([])
  })
})

it('what was refused stays refused in another process, and after a fork', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'refused-'))
  const path = join(folder, 'talk.db')
  const first = sqliteStore(path)
  const agent = talk({ store: first }).with(named(wire, 'anthropic'))
  await agent.executeTurn(look(bmp)).outcome
  await agent.fork('copy')
  await agent.shutdown()
  await first.close()
  wire.reset()
  wire.otherwise = { text: 'Fine.' }
  const second = sqliteStore(path)
  for (const contextId of ['talk', 'copy']) {
    const again = talk({ store: second, contextId }).with(named(wire, 'anthropic'))
    expect((await again.executeTurn('hello').outcome).text).toBe('Fine.')
    expect(lastBody()).toContain(UNREAD)
    await again.shutdown()
  }
  expect(wire.problems).toEqual([])
  await second.close()
  await rm(folder, { recursive: true })
})

it('a turn that goes on without a message reads that its file was refused', async () => {
  const agent = talk().with(named(wire, 'openai-responses'))
  await agent.executeTurn(look(bmp)).outcome
  wire.problems.length = 0
  expect((await agent.executeTurn(null).outcome).text).toBe('Fine.')
  expect(wire.problems).toEqual([])
  expect(lastBody()).toContain(UNREAD)
})

it('what asking for the cause took is counted', async () => {
  const { usage } = await talk().with(named(wire, 'anthropic')).executeTurn(look(bmp)).outcome
  expect(usage.inputTokens).toBeGreaterThan(0)
})

const WRONG: readonly (readonly [string, object, string])[] = [
  ['a type that is none', { mediaType: 'png' }, 'mediaType must be a type and a subtype'],
  ['broken base64', { data: 'not base64 at all!' }, 'data is not valid base64'],
  ['base64 with line breaks', { data: `${PNG.slice(0, 40)}\n${PNG.slice(40)}` }, 'data is not valid base64'],
  ['a data URL without base64', { data: 'data:image/png,abcd' }, 'a data URL must hold base64'],
  ['half a character in its name', { name: '🎉.pdf'.slice(1) }, 'name holds half of a character'],
  ['a blank name', { name: ' ' }, 'name must be a text that is not blank'],
  ['an address that is none', { data: 'http://' }, 'data is not a URL'],
  ['too much of it', { data: 'A'.repeat(30_000_004) }, 'Send fewer or smaller files'],
]

it.each(WRONG)('a file with %s is refused when it is given, and nothing is stored', async (_, file, said) => {
  const { store, with: agentWith } = talk({ store: memoryStore() })
  const agent = agentWith(named(wire, 'anthropic'))
  const { error } = await agent.executeTurn(look({ ...png, ...file })).outcome
  expect([error?.code, error?.message]).toEqual(['invalid-option', expect.stringContaining(said)])
  expect(error?.message).toContain('Nothing was stored.')
  expect(await journal(store)).toEqual([])
})
