/** The lifecycle of an agent as its stores and observers see it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { viewsOf } from '../../src/agent/index.ts'
import { HoldfastError, type Message } from '../../src/protocol/index.ts'
import type { AppendRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { decorate } from '../ownership/decorate.ts'
import { asking, bench, calls, gate, journal, KEY, probe, quiet, until } from '../turn/kit.ts'

describe('the metadata of the config', () => {
  it('is stored with the first turn, and once', async () => {
    const { agent, store } = bench({ script: ['One.', 'Two.'], metadata: { plan: 'basic' } })
    const { stateStore } = viewsOf(store)
    await agent.executeTurn('Hi').outcome
    expect((await stateStore.load('talk'))?.metadata).toEqual({ plan: 'basic' })
    await agent.executeTurn('Hi').outcome
    expect((await journal(store)).filter((line) => line.includes('state'))).toHaveLength(1)
  })

  it('is stored by saveState() before there is a turn', async () => {
    const { agent, store } = bench({ metadata: { plan: 'basic' } })
    await agent.saveState()
    expect((await viewsOf(store).stateStore.load('talk'))?.metadata).toEqual({ plan: 'basic' })
  })

  it('does not replace what was saved before', async () => {
    const { store, another } = bench({ script: ['One.'] })
    await viewsOf(store).stateStore.save('talk', { metadata: { plan: 'gold' } })
    const agent = another({ metadata: { plan: 'basic' } })
    await agent.executeTurn('Hi').outcome
    await agent.saveState()
    expect(agent.state.metadata).toEqual({ plan: 'gold' })
    expect((await viewsOf(store).stateStore.load('talk'))?.metadata).toEqual({ plan: 'gold' })
  })
})

it.each(Array.from({ length: 24 }, (_, ticks) => ticks))(
  'metadata that is saved while earlier metadata is being stored is stored, too, %d ticks later',
  async (ticks) => {
    const { agent, store } = bench({ script: ['One.'] })
    await agent.executeTurn('Hi').outcome
    const first = agent.saveState({ a: 1 })
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    await Promise.all([first, agent.saveState({ a: 2 })])
    expect((await viewsOf(store).stateStore.load('talk'))?.metadata).toEqual({ a: 2 })
  },
)

describe('the state store', () => {
  it('says paused, shutdown, and ready again after the next turn', async () => {
    const { agent, store } = bench({ script: ({ call }) => `Reply ${call}`, metadata: { plan: 'basic' } })
    const { stateStore } = viewsOf(store)
    const status = async () => (await stateStore.load('talk'))?.status
    await agent.executeTurn('Hi').outcome
    expect(await status()).toBe('ready')
    await agent.pause()
    expect(await status()).toBe('paused')
    await agent.resume()
    await agent.executeTurn('Hi').outcome
    expect(await status()).toBe('ready')
    await agent.shutdown()
    expect(await status()).toBe('shutdown')
    expect((await stateStore.load('talk'))?.metadata).toEqual({ plan: 'basic' })
    await agent.shutdown()
    await agent.start()
    await agent.shutdown()
    const saved = (await journal(store)).filter((line) => line.includes('state'))
    expect(saved).toHaveLength(3)
  })

  it('says so of a turn that was left open, and busy once somebody has taken it up', async () => {
    const held = [gate(), gate()]
    const slow = probe('slow', () => held[slow.ran.length - 1]?.promise)
    const { agent, store, another } = bench({ script: [calls('slow'), calls('slow'), 'Done'], tools: [slow] })
    const status = async () => (await viewsOf(store).stateStore.load('talk'))?.status
    agent.executeTurn('Hi')
    await until('the tool runs', () => slow.ran.length === 1)
    expect(await status()).toBe('busy')
    const pausing = agent.pause()
    held[0]?.resolve()
    await pausing
    expect(await status()).toBe('paused')
    const other = another()
    await other.start()
    await until('the tool runs again', () => slow.ran.length === 2)
    expect(await status()).toBe('busy')
    const stopping = other.shutdown()
    held[1]?.resolve()
    await stopping
    expect(await status()).toBe('shutdown')
  })

  it('says so whatever is stored in the meantime: the turn is continued by nobody but who resumes it', async () => {
    const held = gate()
    const slow = probe('slow', () => held.promise)
    const { agent, store } = bench({ script: [calls('slow'), 'Done'], tools: [slow] })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => slow.ran.length === 1)
    const pausing = agent.pause()
    held.resolve()
    await pausing
    for (let times = 0; times < 7; times++) {
      await viewsOf(store).stateStore.save('talk', { metadata: { times } })
      expect((await viewsOf(store).stateStore.load('talk'))?.status).toBe('paused')
      expect(await store.due()).toEqual([])
    }
    await agent.resume()
    expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'Done' })
    expect(slow.ran).toHaveLength(1)
  })

  it('says waiting while an answer is missing, whoever is shut down', async () => {
    const { agent, store } = bench({
      script: [calls('ask'), 'Done'],
      tools: [asking('ask', { kind: 'text', prompt: 'Why?' })],
    })
    await agent.executeTurn('Hi').outcome
    await agent.shutdown()
    expect((await viewsOf(store).stateStore.load('talk'))?.status).toBe('waiting')
  })

  it('knows nothing of a conversation that never was, also after a shutdown', async () => {
    const { agent, store } = bench({ metadata: { plan: 'basic' } })
    await agent.start()
    await agent.pause()
    await agent.shutdown()
    expect(await viewsOf(store).stateStore.load('talk')).toBeUndefined()
  })
})

describe('the message store', () => {
  it('takes the text of an assistant as it is', async () => {
    const { messageStore } = viewsOf(memoryStore())
    await messageStore.append('c', [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
    ])
    expect(await messageStore.getAll('c')).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] },
    ])
  })

  it.each([
    [{ role: 'system', content: 'Be brief.' }],
    [{ role: 'assistant', content: 7 }],
    [{ role: 'assistant', content: [{ text: 'without a type' }] }],
    [{ role: 'tool', content: 'red' }],
    ['Hello'],
  ])('refuses %j and stores nothing', async (message) => {
    const { messageStore } = viewsOf(memoryStore())
    const messages = [{ role: 'user', content: 'Hello' }, message] as Message[]
    await expect(messageStore.append('c', messages)).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('Message 2 of 2'),
    })
    expect(await messageStore.getAll('c')).toEqual([])
  })
})

describe('an agent', () => {
  it('that was shut down cannot be resumed, only started', async () => {
    const { agent } = bench({ script: ['Hello.'] })
    await agent.start()
    await agent.shutdown()
    await expect(agent.resume()).rejects.toMatchObject({ code: 'shutdown' })
    await agent.start()
    expect(await agent.input('Hi')).toBe('Hello.')
  })

  it('is busy inside of complete(), and ready after it', async () => {
    const { agent } = bench({ script: ({ call }) => `Reply ${call}` })
    await agent.start()
    const seen: string[] = []
    const done = Promise.withResolvers<void>()
    const turn = agent.executeTurn('Hi')
    turn.subscribe({
      complete: () => {
        seen.push(agent.state.status)
        queueMicrotask(() => done.resolve())
      },
    })
    await turn.outcome
    expect(agent.state.status).toBe('ready')
    await done.promise
    expect(seen).toEqual(['busy'])
    expect(agent.state.status).toBe('ready')
  })

  it('can be paused inside of complete(), or asked for the next turn', async () => {
    const { agent, store } = bench({ script: ({ call }) => `Reply ${call}` })
    await agent.start()
    const texts: string[] = []
    const paused = Promise.withResolvers<void>()
    const continueTurn = async () => {
      texts.push(await agent.input('And?'))
      await agent.pause()
      paused.resolve()
    }
    agent.executeTurn('Hi').subscribe({ complete: () => void continueTurn() })
    await paused.promise
    expect(texts).toEqual(['Reply 2'])
    expect((await viewsOf(store).stateStore.load('talk'))?.status).toBe('paused')
  })

  it('is not busy inside of complete() after a turn that failed or never began', async () => {
    const { agent } = bench({ script: [{ error: { status: 400 } }, 'Fine'] })
    await agent.start()
    const seen: string[] = []
    const complete = () => void seen.push(agent.state.status)
    const failing = agent.executeTurn('Hi')
    failing.subscribe({ complete })
    expect((await failing.outcome).status).toBe('failed')
    await until('it is told', () => seen.length === 1)
    const refused = agent.executeTurn('Hi', { signal: AbortSignal.abort() })
    refused.subscribe({ complete })
    await refused.outcome
    await until('both are told', () => seen.length === 2)
    expect(seen).toEqual(['ready', 'ready'])
    expect(agent.state.error).toBeDefined()
  })

  it('has the error of the last turn again after a restart, until a turn goes well in any process', async () => {
    const { agent, store } = bench({ script: [{ error: { status: 400, message: 'boom' } }] })
    await agent.executeTurn('Hi').outcome
    await agent.shutdown()
    const { agent: next } = bench({ script: ['Fine'], store })
    expect(next.state.error).toBeUndefined()
    await next.start()
    expect(next.state.error).toEqual(agent.state.error)
    expect(next.state.error).toMatchObject({ code: 'model', message: 'boom' })
    expect(await next.input('Again', { key: 'again' })).toBe('Fine')
    await agent.start()
    expect([next.state.error, agent.state.error]).toEqual([undefined, undefined])
  })
})

describe('a pause in the middle of a turn', () => {
  /** Pauses while a tool runs; calls `atRelease` with the release that follows. */
  async function pausing(atRelease: (request: AppendRequest) => Promise<void>, autoSave = true) {
    const memory = memoryStore()
    let isFirst = true
    const append = async (request: AppendRequest) => {
      const isRelease = request.entries?.some(({ type }) => type === 'release') ?? false
      if (isRelease && isFirst) {
        isFirst = false
        await atRelease(request)
      }
      return memory.append(request)
    }
    const store = decorate(memory, { append })
    const held = gate()
    const pay = probe('pay', () => held.promise.then(() => 'paid'))
    const { agent, another } = bench({ store, tools: [pay], script: [calls('pay'), 'Done.'], autoSave })
    const turn = agent.executeTurn('Pay')
    await until('the tool runs', () => pay.ran.length > 0)
    const paused = agent.pause()
    held.resolve()
    return { agent, another, memory, turn, paused }
  }

  it('is not refused because another process was let in, and resume() goes on', async () => {
    const { agent, turn, memory, paused } = await pausing(async ({ key, epoch = 0, since }) => {
      const release = { type: 'release', turn: 1, data: { reason: 'operator' } }
      await memory.append({ key, id: 'other', since, epoch, entries: [release] })
    })
    await paused
    await agent.resume()
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'Done.' })
  })

  it('that the store has no room for rejects, and resume() goes on', async () => {
    const { agent, turn, memory, paused } = await pausing(async () => {
      throw new HoldfastError('store-full', { message: 'There is no room.' })
    })
    await expect(paused).rejects.toMatchObject({ code: 'store-full' })
    await agent.resume()
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'Done.' })
    expect((await journal(memory)).map((line) => line.split(' ')[1]).slice(5)).toEqual([
      ...['tool.start', 'tool.end', 'model.start', 'release'],
      ...['claim', 'model.start', 'model.end', 'turn.end'],
    ])
  })
  it('that the store has no room for releases the turn with the entries that were held back', async () => {
    const full = async () => {
      throw new HoldfastError('store-full', { message: 'There is no room.' })
    }
    const { another, turn, memory, paused } = await pausing(full, false)
    await expect(paused).rejects.toMatchObject({ code: 'store-full' })
    expect((await journal(memory)).map((line) => line.split(' ')[1]).slice(5)).toEqual([
      ...['tool.start', 'tool.end', 'model.start', 'release'],
    ])
    const other = another({ autoSave: true })
    await other.start()
    expect(await other.turn?.outcome).toMatchObject({ reason: 'stop', text: 'Done.' })
    expect(turn.isEnded).toBe(false)
  })
})

describe('drive()', () => {
  it('leaves the turn of a paused agent alone', async () => {
    const held = gate()
    const pay = probe('pay', () => held.promise.then(() => 'paid'))
    const { agent, store } = bench({ tools: [pay], script: [calls('pay'), 'Done.'] })
    const turn = agent.executeTurn('Pay')
    await until('the tool runs', () => pay.ran.length > 0)
    const paused = agent.pause()
    held.resolve()
    await paused
    const before = await journal(store)
    expect(await agent.drive()).toEqual({ state: 'done' })
    expect(await journal(store)).toEqual(before)
    await agent.resume()
    expect((await turn.outcome).text).toBe('Done.')
  })

  it('that is called again and again ends with a shutdown, and the turn stays released', async () => {
    const memory = memoryStore()
    // Reads of the head take a while, as those of a file do.
    const head: typeof memory.head = async (key) => {
      await new Promise((resolve) => setTimeout(resolve))
      return memory.head(key)
    }
    const held = gate()
    const pay = probe('pay', () => held.promise.then(() => 'paid'))
    const { agent, model } = bench({
      store: decorate(memory, { head }),
      tools: [pay],
      script: [calls('pay'), 'Done.'],
    })
    await memory.append({
      ...{ key: KEY, id: 'post', since: 0 },
      inbox: [{ type: 'input', key: 'm', data: { message: 'Pay' } }],
    })
    const engine = (async () => {
      while ((await agent.drive()).state === 'again');
    })()
    await until('the tool runs', () => pay.ran.length > 0)
    const shutdown = agent.shutdown()
    await quiet()
    held.resolve()
    await Promise.all([shutdown, engine])
    expect((await journal(memory)).at(-1)).toMatch(/ release/)
    expect(model.calls).toHaveLength(1)
  })
  it('that is about to open a turn does not keep it after a shutdown', async () => {
    const memory = memoryStore()
    const [reached, posted, paid] = [gate(), gate(), gate()]
    let isFull = false
    const append: typeof memory.append = async (request) => {
      if (isFull) throw new HoldfastError('store-full', { message: 'There is no room.' })
      if (request.inbox?.[0]?.type === 'late-result') {
        reached.resolve()
        await posted.promise
      }
      return memory.append(request)
    }
    const pay = probe('pay', () => paid.promise.then(() => 'paid'))
    const store = decorate(memory, { append })
    const { agent } = bench({ store, tools: [pay], script: [calls('pay'), 'Done.'] })
    const turn = agent.executeTurn('Pay')
    await until('the tool runs', () => pay.ran.length > 0)
    isFull = true
    paid.resolve()
    expect((await turn.outcome).error).toMatchObject({ code: 'store-full' })
    isFull = false
    const driven = agent.drive()
    await reached.promise
    const shutdown = agent.shutdown()
    await quiet()
    posted.resolve()
    await Promise.all([driven, shutdown])
    expect((await memory.head(KEY))?.lease).toBeUndefined()
    expect((await journal(memory)).at(-1)).toMatch(/ release/)
  })
})

describe('await using', () => {
  it('shuts the agent down, and then closes the store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-using-'))
    const begun = await (async () => {
      await using store = sqliteStore(join(folder, 'a.db'))
      await using agent = bench({ script: ['Hi.'], store }).agent
      expect((await agent.executeTurn('Hi').outcome).text).toBe('Hi.')
      return { store, agent }
    })()
    expect(begun.agent.state.status).toBe('shutdown')
    await expect(begun.store.head({ tenant: 'local', actor: 'local', contextId: 'talk' })).rejects.toThrow(
      'was closed; open it again',
    )
    rmSync(folder, { recursive: true })
  })
})

it('an agent with a long name has turns', async () => {
  const { agent } = bench({ script: ['One.'], name: 'n'.repeat(300) })
  expect((await agent.executeTurn('Hi').outcome).text).toBe('One.')
})
