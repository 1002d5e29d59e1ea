/**
 * A disk that is full when an effect has ended. The process that knows the result keeps it and hands it in when there is
 * room; nobody calls it unknown before that process is gone.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemTimer, type Timer } from '../../src/base/index.ts'
import { END, graph, list, START } from '../../src/graph/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { type Entry, type EntryData, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { toolResult } from '../../src/tool/index.ts'
import { moduleFile } from '../build/programs.ts'
import { bench, calls, gate, KEY, probe, said, until } from '../turn/kit.ts'
import { type Child, SQLITE_MODULE, workplace } from './kit.ts'
import { keyOf, newId } from './talk.ts'

const place = workplace()
const KIB = 1024
const RESULT = 'r'.repeat(150 * KIB)

/** A file that has no room for `RESULT` until something is erased. */
async function fullFile(): Promise<{ store: SqliteStore; makeRoom: () => Promise<void> }> {
  const store = sqliteStore(place.path(), { synchronous: 'NORMAL', maxBytes: 500 * KIB })
  const large = keyOf('large')
  const data = { message: 'm'.repeat(300 * KIB) }
  await store.append({ key: large, id: newId(), since: 0, inbox: [{ type: 'input', key: 'k', data }] })
  return { store, makeRoom: async () => void (await store.erase(large)) }
}

async function settledIn(store: Store, type: 'tool.end' | 'effect.end' = 'tool.end', key = KEY) {
  const entries = await store.read(key)
  return entries
    .filter((entry: Entry) => entry.type === type)
    .map(({ data }) => data as EntryData['tool.end'])
    .map(({ status, output }) => [status, output === RESULT])
}

/** Waits for room are short. */
const TIME: { readonly realTime: true; readonly timer: Timer } = {
  realTime: true,
  timer: { ...systemTimer, wait: (ms, options) => systemTimer.wait(ms / 20, options) },
}
const script = [calls('pay'), 'Paid']

describe('a result that finds the disk full', () => {
  it('is settled as ok when there is room again and the turn goes on', async () => {
    const { store, makeRoom } = await fullFile()
    const pay = probe('pay', () => RESULT)
    const { agent, model } = bench({ store, tools: [pay], script, ...TIME })
    expect(await agent.executeTurn('Pay').outcome).toMatchObject({ error: { code: 'store-full' } })
    expect(await agent.executeTurn(null).outcome).toMatchObject({ error: { code: 'store-full' } })
    await makeRoom()
    expect(await agent.executeTurn(null).outcome).toMatchObject({ reason: 'stop', text: 'Paid' })
    expect(await settledIn(store)).toEqual([['ok', true]])
    expect(pay.ran).toHaveLength(1)
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('rrrr')
    await said(store)
    await store.close()
  })

  it('is taken by another agent of the same process, too', async () => {
    const { store, makeRoom } = await fullFile()
    const pay = probe('pay', () => RESULT)
    const { agent, another } = bench({ store, tools: [pay], script, ...TIME })
    await agent.executeTurn('Pay').outcome
    await makeRoom()
    const next = another()
    await next.start()
    expect(await next.turn?.outcome).toMatchObject({ reason: 'stop', text: 'Paid' })
    expect(await settledIn(store)).toEqual([['ok', true]])
    expect(pay.ran).toHaveLength(1)
    await store.close()
  })

  it('is handed in by itself, so that another process finds it', async () => {
    const { store, makeRoom } = await fullFile()
    const { agent } = bench({ store, tools: [probe('pay', () => RESULT)], script, ...TIME })
    await agent.executeTurn('Pay').outcome
    await makeRoom()
    const inbox = async () => (await store.inbox(KEY)).map(({ type }) => type)
    await expect.poll(inbox).toEqual(['late-result'])
    await store.close()
  })

  it('is handed in when its agent is shut down', async () => {
    const { store, makeRoom } = await fullFile()
    const { agent } = bench({ store, tools: [probe('pay', () => RESULT)], script, ...TIME })
    await agent.executeTurn('Pay').outcome
    await makeRoom()
    await agent.shutdown()
    expect((await store.inbox(KEY)).map(({ type }) => type)).toEqual(['late-result'])
    await store.close()
  })

  it('is told afterwards if somebody else has ended the turn meanwhile', async () => {
    const inner = memoryStore()
    let isFull = false
    const refused = { at: () => isFull, how: 'refuse', code: 'store-full' } as const
    const store = faultyStore(inner, [refused])
    const done = gate()
    const pay = probe('pay', () => done.promise.then(() => RESULT))
    const turns = [calls('pay'), 'Else', 'Paid']
    const { agent, another } = bench({ store, tools: [pay], script: turns, ...TIME, leaseMs: 300 })
    const turn = agent.executeTurn('Pay')
    await until('it runs', () => pay.ran.length === 1)
    isFull = true
    done.resolve()
    expect(await turn.outcome).toMatchObject({ error: { code: 'store-full' } })
    const elsewhere = another({ store: inner })
    await elsewhere.start()
    expect(await elsewhere.turn?.outcome).toMatchObject({ text: 'Else' })
    expect(await settledIn(inner)).toEqual([['unknown', false]])
    isFull = false
    expect(await agent.executeTurn('And?').outcome).toMatchObject({ text: 'Paid' })
    const late = (await inner.read(KEY)).filter(({ type }) => type === 'tool.late')
    expect(late.map(({ data }) => data['status'])).toEqual(['ok'])
    await said(inner)
  })

  it('of a sub-agent counts what that has used, and what people read of it stays', async () => {
    const { store, makeRoom } = await fullFile()
    const usage = { inputTokens: 70, outputTokens: 7, cachedTokens: 0, costUsd: 0 }
    const pay = probe('pay', () => toolResult(RESULT, 'All of it', { usage }), { maxResultBytes: 1 << 20 })
    const { agent } = bench({ store, tools: [pay], script, ...TIME })
    await agent.executeTurn('Pay').outcome
    await makeRoom()
    const outcome = await agent.executeTurn(null).outcome
    expect(outcome.usage.inputTokens).toBeGreaterThanOrEqual(70)
    const [end] = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ status: 'ok', display: 'All of it', usage })
    await store.close()
  })

  it('shows the ids that it would have shown', async () => {
    const { store, makeRoom } = await fullFile()
    const project = entity('project')
    const rows = [{ id: 'p-11', name: 'Champigny', text: RESULT }]
    const look = probe('pay', () => rows, {
      returns: () => project.rows(rows, { id: 'id', label: 'name' }),
    })
    const { agent } = bench({ store, tools: [look], entities: [project], script, ...TIME })
    await agent.executeTurn('Pay').outcome
    await makeRoom()
    await agent.executeTurn(null).outcome
    const [end] = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(end?.data['seen']).toMatchObject([{ entity: 'project', id: 'p-11' }])
    await store.close()
  })

  it('of a step of a graph is what the node gets when the run goes on', async () => {
    const { store, makeRoom } = await fullFile()
    let paid = 0
    const flow = graph({ state: { sizes: list<number>() } })
      .addNode('pay', async (_, { step }) => {
        const receipt = await step('charge', () => {
          paid += 1
          return RESULT
        })
        return { sizes: [receipt.length] }
      })
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile({ store, timer: TIME.timer })
    const contextId = 'flow'
    expect((await flow.stream({}, { contextId }).outcome).error?.code).toBe('store-full')
    await makeRoom()
    expect((await flow.invoke(null, { contextId })).state.sizes).toEqual([RESULT.length])
    expect(paid).toBe(1)
    expect(await settledIn(store, 'effect.end', { ...LOCAL_OWNER, contextId })).toEqual([['ok', true]])
    await store.close()
  })
})

describe('a snapshot that finds the disk full', () => {
  it('stops nothing: it can be made later', async () => {
    const store = memoryStore()
    const saveSnapshot: Store['saveSnapshot'] = () => Promise.reject(new Error('no room'))
    const full = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = name === 'saveSnapshot' ? saveSnapshot : Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const note = probe('note')
    const rounds = Array.from({ length: 60 }, () => calls('note'))
    const { agent } = bench({
      store: full,
      tools: [note],
      script: [...rounds, 'Done'],
      limits: { iterations: 100 },
    })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', text: 'Done' })
    expect(note.ran).toHaveLength(60)
  })
})

/** An agent whose tool fills the disk before it returns; told to, it goes on. */
const PAYER = `
  import { writeFileSync, rmSync } from 'node:fs'
  const [path, filler] = args
  const { Agent, defineTool, jsonSchema } = await import(${JSON.stringify(moduleFile('index.ts'))})
  const { sqliteStore } = await import(${JSON.stringify(SQLITE_MODULE)})
  const { ScriptedModel } = await import(${JSON.stringify(moduleFile('testing/index.ts'))})
  const store = sqliteStore(path)
  let paid = 0
  const pay = defineTool({
    name: 'pay', description: 'pays', input: jsonSchema({ type: 'object' }),
    run: () => {
      paid += 1
      if (filler) for (let size = 1 << 20; size >= 512; ) {
        try { writeFileSync(filler, Buffer.alloc(size), { flag: 'a' }) } catch { size /= 2 }
      }
      return { receipt: 'r'.repeat(200_000) }
    },
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'pay' }] }, 'Paid'])
  const agent = new Agent({ contextId: 'talk', store, model, tools: [pay] })
  const first = await agent.executeTurn('Pay').outcome
  say(first.error?.code ?? first.reason)
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.destroy()
  if (filler) rmSync(filler)
  const second = await agent.executeTurn(null).outcome
  const ends = (await store.read({ tenant: 'local', actor: 'local', contextId: 'talk' })).filter(({ type }) => type === 'tool.end')
  say({ reason: second.reason, text: second.text, paid, statuses: ends.map(({ data }) => data.status) })
  await agent.shutdown()
  await store.close()
`

const PAID = { reason: 'stop', text: 'Paid', paid: 1, statuses: ['ok'] }

async function continueTurn(child: Child): Promise<unknown> {
  expect(await child.next()).toBe('store-full')
  child.process.stdin?.write('there is room now\n')
  return child.next()
}

/** A file system of one megabyte, where this user may have one. */
function smallDisk(): { folder: string; remove: () => void } | undefined {
  const folder = place.folder()
  try {
    execFileSync('bash', ['-c', `mount -t tmpfs -o size=1m tmpfs ${folder}`], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  return { folder, remove: () => void execFileSync('bash', ['-c', `umount -l ${folder}`]) }
}

describe.skipIf(process.platform !== 'linux')('a disk that is really full', () => {
  it('or a file that may not grow: what was paid is settled once there is room', async () => {
    const child = place.start(PAYER, { args: [place.path()], shell: 'ulimit -S -f 150; trap "" XFSZ' })
    expect(await child.next()).toBe('store-full')
    execFileSync('bash', ['-c', `prlimit --fsize=unlimited --pid ${child.process.pid}`])
    child.process.stdin?.write('there is room now\n')
    expect(await child.next()).toEqual(PAID)
    expect(await child.exited).toBe(0)
  })

  it('of one megabyte: what was paid is settled once there is room', async ({ skip }) => {
    const disk = smallDisk()
    skip(disk === undefined, 'this user may not mount a file system')
    if (disk === undefined) return
    try {
      const child = place.start(PAYER, { args: [join(disk.folder, 'a.db'), join(disk.folder, 'filler')] })
      expect(await continueTurn(child)).toEqual(PAID)
      expect(await child.exited).toBe(0)
    } finally {
      disk.remove()
    }
  })
})
