/** The short version of `npm run load`: many agents at once, one that goes on and on, and what importing brings along. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../src/agent/index.ts'
import { SESSION_FORMAT } from '../src/journal/session.ts'
import { LOCAL_OWNER } from '../src/protocol/index.ts'
import type { Store } from '../src/store/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { ScriptedModel } from '../src/testing/scripted-model.ts'
import { defineTool, jsonSchema } from '../src/tool/index.ts'

let folder: string
let store: Store

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-load-'))
  store = sqliteStore(join(folder, 'load.db'), { synchronous: 'NORMAL' })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: jsonSchema({ type: 'object' }),
  run: () => ({ found: 'It is in the second drawer from the top.' }),
})

/** Asks for the tool when it was asked, and answers when it has the result. */
function model(latencyMs: number): ScriptedModel {
  const script = [{ text: 'I look.', calls: [{ tool: 'look', args: { where: 'desk' } }] }, 'In the desk.']
  return new ScriptedModel(({ prompt }) => script[prompt.at(-1)?.role === 'tool' ? 1 : 0] ?? '', {
    latencyMs,
  })
}

describe('a hundred agents on one file', () => {
  it('end every one of their turns, in the order of asking', async () => {
    const crowd = Array.from(
      { length: 100 },
      (_, i) => new Agent({ contextId: `agent-${i}`, store, model: model(2), tools: [look] }),
    )
    const ended = await Promise.all(
      crowd.map(async (agent) => {
        const outcomes: string[] = []
        for (let turn = 1; turn <= 3; turn++) {
          const outcome = await agent.executeTurn(`question ${turn}`).outcome
          outcomes.push(`${outcome.turn} ${outcome.reason} ${outcome.text}`)
        }
        return outcomes
      }),
    )
    const wanted = ['1 stop In the desk.', '2 stop In the desk.', '3 stop In the desk.']
    expect(ended).toEqual(crowd.map(() => wanted))
    const heads = await Promise.all(
      crowd.map((agent) => store.head({ ...agent.owner, contextId: agent.contextId })),
    )
    // Four commits a turn, ten entries: nothing was done twice and nothing was read again to be done.
    expect(heads.map((head) => [head?.seq, head?.epoch, head?.status])).toEqual(
      crowd.map(() => [30, 3, 'idle']),
    )
    await Promise.all(crowd.map((agent) => agent.shutdown()))
  })
})

describe('one agent that goes on and on', () => {
  it('holds as much after 300 turns as after 100, and reads nothing again', async () => {
    const reads = new Map<string, number>()
    const counted = countingReads(store, reads)
    const agent = new Agent({
      contextId: 'talk',
      store: counted,
      model: model(0),
      tools: [look],
      maxMessages: 20,
    })
    const heaps: number[] = []
    for (let turn = 1; turn <= 300; turn++) {
      expect((await agent.executeTurn('And where now?').outcome).reason).toBe('stop')
      if (turn % 100 === 0) heaps.push(await heapUsed())
    }
    const [first = 0, , last = Number.POSITIVE_INFINITY] = heaps
    expect(last / first).toBeLessThan(1.5)
    expect(reads.get('loadSnapshot')).toBe(1)
    expect(reads.get('append')).toBe(4 * 300)
    await agent.shutdown()
  })
})

describe('agents that live for one turn each', () => {
  it('leave a snapshot when it is worth one, so the next does not read from the beginning', async () => {
    const key = { ...LOCAL_OWNER, contextId: 'talk' }
    for (let turn = 1; turn <= 25; turn++) {
      const agent = new Agent({ contextId: key.contextId, store, model: model(0), tools: [look] })
      expect((await agent.executeTurn('And where now?').outcome).turn).toBe(turn)
      await agent.shutdown()
    }
    expect((await store.loadSnapshot(key, { format: SESSION_FORMAT }))?.seq).toBe(201)
  })
})

describe('importing the front door', () => {
  it('loads no validator, no vendor and no database', () => {
    const front = new URL('../src/index.ts', import.meta.url).href
    const program = `
      import { registerHooks } from 'node:module'
      const files = []
      registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
      await import(${JSON.stringify(front)})
      const builtins = process.moduleLoadList.filter((name) => /\\bsqlite\\b/.test(name))
      console.log(JSON.stringify({ files, builtins }))`
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    })
    const { files, builtins } = JSON.parse(output) as { files: string[]; builtins: string[] }
    expect(files).toContain(front)
    expect(files.filter((url) => url.includes('node_modules') || url.includes('sqlite'))).toEqual([])
    expect(builtins).toEqual([])
  })
})

function countingReads(inner: Store, counts: Map<string, number>): Store {
  return new Proxy(inner, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        counts.set(String(name), (counts.get(String(name)) ?? 0) + 1)
        return Reflect.apply(value, target, args)
      }
    },
  })
}

async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let i = 0; i < 2; i++) {
    await breathe()
    collect()
  }
  return process.memoryUsage().heapUsed
}
