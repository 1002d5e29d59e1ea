/** Hashes of model requests in the journal: the same wherever the turn runs. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../src/agent/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { fold, transcript } from '../../src/journal/index.ts'
import type { Entry, EntryData, SentHashes } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import type { ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { bench, calls, KEY, messageLine, openSqlite, probe, sqlitePath } from './kit.ts'

async function endsOf(store: Store): Promise<readonly EntryData['model.end'][]> {
  const entries = await store.read(KEY)
  expect(entries.filter(({ type }) => type === 'model.end').every(({ v }) => v === 2)).toBe(true)
  return entries.flatMap(({ type, data }) => (type === 'model.end' ? [data as EntryData['model.end']] : []))
}

const SCRIPT: readonly ScriptedStep[] = [
  { text: 'I look.', calls: [{ tool: 'look', args: { n: 2, more: { b: 1, a: [null, 'é'] } } }] },
  'One.',
  calls('look', 'look'),
  'Two.',
  'Three.',
]
const big = 'x'.repeat(100_000)

/** Three turns, on one agent or on a new one each time, with the store that `open` gives. */
async function talk(open: () => Store, restarts: boolean): Promise<readonly (SentHashes | undefined)[]> {
  const tools = [probe('look', ({ n = 0 }) => ({ z: n, a: { seen: true, big } }))]
  const { another } = bench({ script: SCRIPT, tools, systemPrompt: 'Be brief.', realTime: true })
  let store = open()
  let agent = another({ store })
  for (const message of ['Look', [{ type: 'text', text: 'Again' } as const], 'Well?']) {
    await agent.executeTurn(message).outcome
    if (!restarts) continue
    await agent.shutdown()
    store = open()
    agent = another({ store })
  }
  return (await endsOf(store)).map(({ sent }) => sent)
}

describe('the hashes of what a model was sent', () => {
  it('are the same on every store, and after every restart', async () => {
    const memory = memoryStore()
    const inMemory = await talk(() => memory, false)
    for (const restarts of [false, true]) {
      const path = sqlitePath()
      expect(await talk(() => openSqlite(path, { synchronous: 'NORMAL' }), restarts)).toEqual(inMemory)
    }
    expect(inMemory).toHaveLength(SCRIPT.length)
    expect(new Set(inMemory.map((sent) => sent?.messages)).size).toBe(SCRIPT.length)
    for (const name of ['system', 'tools', 'settings'] as const)
      expect(new Set(inMemory.map((sent) => sent?.[name])).size).toBe(1)
  })

  async function first(config: Partial<AgentConfig> & { on?: Hooks } = {}): Promise<SentHashes> {
    const { agent, store } = bench({ script: ['Hi.'], systemPrompt: 'A', tools: [probe('look')], ...config })
    await agent.executeTurn('Hello').outcome
    return (await endsOf(store))[0]?.sent as SentHashes
  }

  it.each([
    ['system', { systemPrompt: 'B' }],
    ['system', { on: { beforeLlm: ({ edit }) => edit({ system: 'B' }) } }],
    ['messages', { on: { beforeLlm: ({ add }) => add('Today is Monday.') } }],
    ['messages', { on: { beforeLlm: ({ edit }) => edit({ messages: [{ role: 'user', content: 'Bye' }] }) } }],
    ['tools', { tools: [probe('look', undefined, { description: 'looks' })] }],
    ['tools', { tools: [] }],
    ['settings', { settings: { temperature: 1 } }],
    [undefined, { on: { beforeLlm: () => {} } }],
    [undefined, { settings: { apiKey: 'k', timeoutMs: 9, headers: { a: 'b' } } }],
  ] as readonly (readonly [keyof SentHashes | undefined, Partial<AgentConfig> & { on?: Hooks }])[])(
    'differ in %s, and in nothing else, for %j',
    async (name, config) => {
      const [plain, other] = [await first(), await first(config)]
      // Without tools there is no choice of one.
      const isSame = (each: keyof SentHashes) =>
        plain[each] === other[each] || (each === 'settings' && config.tools?.length === 0)
      const names = ['system', 'messages', 'tools', 'settings'] as const
      expect(names.filter((each) => !isSame(each))).toEqual(name === undefined ? [] : [name])
    },
  )

  it('are in the entry of every attempt that was sent, and the same for the same', async () => {
    const script = [{ error: { status: 503, retryAfter: 0 } }, { error: { status: 400 } }]
    const { agent, store } = bench({ script })
    await agent.executeTurn('Hello').outcome
    const ends = await endsOf(store)
    expect(ends.map(({ finish }) => finish)).toEqual(['error', 'error'])
    expect(ends[0]?.sent).toEqual(ends[1]?.sent)
    expect(ends[0]?.sent?.messages).toHaveLength(16)
  })

  it('are absent where nothing was sent', async () => {
    const { agent, store } = bench({ model: 'openai-compatible/x' })
    await agent.executeTurn('Hello').outcome
    expect((await endsOf(store)).map(({ finish, sent }) => [finish, sent])).toEqual([['error', undefined]])
  })
})

describe('the journal with replies of format 2', () => {
  /** Written when the format was new. Never regenerate it: it stands for the files that users have. */
  const path = 'test/fixtures/model-end-v2.jsonl'

  async function played(): Promise<readonly Entry[]> {
    const script = [calls(['look', { n: 2 }]), { error: { status: 503, retryAfter: 0 } }, 'One.', 'Two.']
    const input = jsonSchema({ type: 'object', properties: { n: { type: 'number' } } })
    const look = defineTool({ name: 'look', description: 'Looks.', input, run: () => ({ seen: true }) })
    const { agent, store } = bench({ script, systemPrompt: 'Be brief.', tools: [look] })
    await agent.executeTurn('Look').outcome
    await agent.executeTurn('Again').outcome
    return store.read(KEY)
  }

  it('is read, and the same conversation has the same hashes today', async () => {
    const log = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
    expect(log.filter(({ type }) => type === 'model.end').map(({ v }) => v)).toEqual([2, 2, 2, 2])
    expect(transcript(log).map(messageLine)).toEqual([
      'user "Look"',
      'assistant call_1:look',
      'tool call_1:ok',
      'assistant "One."',
      'user "Again"',
      'assistant "Two."',
    ])
    expect(fold(log)).toMatchObject({ seq: log.length, turn: 2, outcome: 'stop', totals: { modelCalls: 4 } })
    const hashes = (entries: readonly Entry[]) =>
      entries.flatMap(({ data: { sent } }) => (sent === undefined ? [] : [sent]))
    expect(hashes(await played())).toEqual(hashes(log))
  })
})
