/** Options of methods are checked like those of constructors, at the call. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importContext } from '../../src/entry/import.ts'
import { forkContext, listStuck, pruneContext, viewsOf } from '../../src/entry/operate.ts'
import { Agent, askUser, LOCAL_OWNER, memoryStore, toolResult } from '../../src/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { fakeToolContext } from '../../src/testing/tool-context.ts'
import { openSqlite } from '../turn/kit.ts'

const key = { ...LOCAL_OWNER, contextId: 'talk' }
const store = memoryStore()
const agent = new Agent({ contextId: 'talk', store, model: new ScriptedModel(['Hi.']) })
const { messageStore } = viewsOf(store)

const thrownBy = async (work: () => unknown): Promise<Error & { code?: string }> => {
  try {
    await work()
  } catch (error) {
    return error as Error
  }
  return new Error('nothing was thrown')
}

describe('an option that is not known is refused by', () => {
  it.each<[string, () => unknown, string]>([
    ['getMessages', () => agent.getMessages({ limit: 1 } as never), 'Write maxMessages instead.'],
    ['getMessages', () => agent.getMessages(1 as never), 'getMessages() takes options as an object, not 1.'],
    ['getRecent', () => messageStore.getRecent('talk', { limit: 1 } as never), 'Write maxMessages instead.'],
    ['fork', () => agent.fork('b', { att: 1 } as never), 'fork() has no "att". Did you mean at?'],
    ['forkContext', () => forkContext(store, key, { contextId: 'b', att: 1 } as never), 'Did you mean at?'],
    [
      'pruneContext',
      () => pruneContext(store, key, { keepTurn: 1 } as never),
      'pruneContext() has no "keepTurn". Did you mean keepTurns?',
    ],
    ['cancel', () => agent.cancel({ reason: 'slow' } as never), 'The reason of a cancel must be a text.'],
    [
      'a turn',
      () => agent.executeTurn(null).cancel({ reason: 'slow' } as never),
      'The reason of a cancel must be a text.',
    ],
    [
      'writeFile',
      () => agent.artifacts.writeFile('a.md', 'x', { mimeType: 'text/plain' } as never),
      'writeFile() has no "mimeType". Write mediaType instead.',
    ],
    [
      'createFile',
      () => agent.artifacts.createFile('a.md', { nam: 'x' } as never),
      'createFile() has no "nam". Did you mean name?',
    ],
    [
      'writeData',
      () => agent.artifacts.writeData('a', 1, { mediaType: 'x' } as never),
      'writeData() has no "mediaType".',
    ],
    ['createDataset', () => agent.artifacts.createDataset('a', { schem: {} } as never), 'mean schema?'],
    ['read', () => agent.artifacts.read('a.md', { v: 7 } as never), 'read() has no "v".'],
    [
      'listStuck',
      () => listStuck(store, { olderThan: 0 } as never),
      'listStuck() has no "olderThan". Did you mean olderThanMs?',
    ],
    ['importContext', () => importContext(store, key, { messages: [] } as never), 'Write history instead.'],
    ['compact', () => agent.compact({ stratgy: 'x' } as never), 'Did you mean strategy?'],
    ['importMessages', () => agent.importMessages([], { fromat: 'x' } as never), 'Did you mean format?'],
    ['toolResult', () => toolResult({}, 'x', { error: true } as never), 'Write failed: true instead.'],
    [
      'toolResult',
      () => toolResult({}, 'x', { seen: [null] } as never),
      'each of `seen` must be { entity, id }',
    ],
    [
      'toolResult',
      () => toolResult({}, 'x', { usage: { inputTokens: 1 } } as never),
      '`usage` must have the',
    ],
    ['askUser', () => (askUser as (given: object) => void)({ nam: 'x' }), 'It takes no options.'],
    ['reflex', () => reflex({ pace: 1 } as never), 'reflex() has no "pace". Did you mean paceMs?'],
    [
      'ScriptedModel',
      () => new ScriptedModel([], { nam: 'x' } as never),
      'ScriptedModel has no "nam". Did you mean name?',
    ],
    [
      'fakeToolContext',
      () => fakeToolContext({ credential: {} } as never),
      'fakeToolContext() has no "credential". Did you mean credentials?',
    ],
  ])('%s: %#', async (_, call, message) => {
    const error = await thrownBy(call)
    expect(error.message).toContain(message)
    expect(error.code).toBe('invalid-option')
    // The stack must contain the line to repair.
    expect(error.stack).toContain(fileURLToPath(import.meta.url))
  })

  it.each([
    ['memory', () => memoryStore()],
    ['sqlite', () => openSqlite()],
  ])('the verbs of a store that read: %s', async (_, open) => {
    const opened = open()
    const problems = [
      thrownBy(() => opened.read(key, { max: 1 } as never)),
      thrownBy(() => opened.list({ tenant: 'x' } as never)),
      thrownBy(() => opened.list({ owner: LOCAL_OWNER, max: 1 } as never)),
      thrownBy(() => opened.lookup(key, { index: 'turn', perfix: 'x' } as never)),
      thrownBy(async () => {
        for await (const entry of opened.watch(key, { from: 1 } as never)) expect(entry).toBeUndefined()
      }),
    ]
    expect((await Promise.all(problems)).map(({ message }) => message)).toEqual([
      'read() has no "max". Write limit instead.',
      'list() has no "tenant". Write owner: { tenant, actor } instead.',
      'list() has no "max". Write limit instead.',
      'lookup() has no "perfix". Did you mean prefix?',
      'watch() has no "from". Write since instead.',
    ])
  })
})
