/** Each of the checks fails when what it looks for is there: journals and records are changed by hand. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Entry, type EntryEvent, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { PLAYS } from '../recovery/plays.ts'
import { type Script, World } from '../recovery/world.ts'
import type { EffectLine, Line } from './record.ts'
import { type Evidence, judge, type Verdict } from './verdict.ts'

let store: Store
let lines: readonly Line[]
let text = ''

beforeAll(async () => {
  store = memoryStore()
  const world = new World(() => store)
  await world.process(PLAYS.find(({ name }) => name.startsWith('two tools at once')) as Script).run()
  const effects = world.effects.flatMap(({ tool, callId, key }): EffectLine[] => [
    { what: 'effect', phase: 'begin', tool, callId, key },
    { what: 'effect', phase: 'end', tool, callId, key },
  ])
  const entries = await store.read({ ...LOCAL_OWNER, contextId: 'talk' })
  lines = [...effects, ...entries.map((entry): Line => ({ what: 'told', event: entry as EntryEvent }))]
  text = (await judgeIt({})).text
})

function judgeIt(different: Partial<Evidence>): Promise<Verdict> {
  const unsettled = new Map<string, 'never' | 'safe'>()
  const compared = text === '' ? {} : { whole: text }
  const evidence = { store, owner: LOCAL_OWNER, lines, unsettled, repeatable: ['look'], ...compared }
  return judge({ ...evidence, ...different })
}

/** The same store, but for what it reads. */
function changed(change: (entries: readonly Entry[]) => readonly Entry[]): Store {
  return new Proxy(store, {
    get: (target, name): unknown => {
      const value: unknown = Reflect.get(target, name)
      if (name === 'read')
        return async (...given: Parameters<Store['read']>) => change(await target.read(...given))
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

function without(type: string): Store {
  return changed((entries) => {
    const last = entries.findLast((entry) => entry.type === type)
    return entries.filter((entry) => entry !== last)
  })
}

describe('a verdict', () => {
  it('on what nobody has touched finds nothing', async () => {
    const { wrongs, unknown } = await judgeIt({})
    expect(wrongs).toEqual({ lost: [], second: [], illegal: [], open: [], other: [] })
    expect(unknown).toBe(0)
  })

  it('finds an entry that readers were told and that is not there', async () => {
    const { wrongs } = await judgeIt({ store: without('input') })
    expect(wrongs.lost).toEqual(['input both was told as entry 1 and is not there'])
    expect(wrongs.other).toContainEqual(expect.stringContaining('it cannot be read'))
  })

  it('finds an entry that is there and says something else', async () => {
    const { wrongs } = await judgeIt({
      store: changed((entries) =>
        entries.map((entry) =>
          entry.seq === 1 ? { ...entry, data: { ...entry.data, message: 'none' } } : entry,
        ),
      ),
    })
    expect(wrongs.lost).toHaveLength(1)
    expect(wrongs.other).toContainEqual(expect.stringContaining('it reads:'))
  })

  it('finds an effect that came twice, unless it may', async () => {
    const again = (tool: string) =>
      judgeIt({
        lines: [...lines, ...lines.filter((line) => line.what === 'effect' && line.tool === tool)],
      })
    expect((await again('pay')).wrongs.second).toEqual([expect.stringMatching(/^pay \S+ was done 2 times$/)])
    expect((await again('look')).wrongs.second).toEqual([])
  })

  it('finds a call without its result, which every vendor refuses', async () => {
    const cutOff = changed((entries) => {
      const end = entries.findIndex(({ type }) => type === 'tool.end')
      return entries.slice(0, end)
    })
    const { wrongs } = await judgeIt({ store: cutOff })
    expect(wrongs.illegal[0]).toMatch(/^talk: asked \S+, answered $/)
    expect(wrongs.illegal.map((problem) => problem.split(': ')[1])).toEqual(
      expect.arrayContaining(['anthropic', 'openai-chat', 'openai-responses', 'google']),
    )
  })

  it('finds a turn without an end', async () => {
    const { wrongs } = await judgeIt({ store: without('turn.end') })
    expect(wrongs.open).toContainEqual('talk: turns 1 were begun and  ended')
  })

  it('finds a result that nobody can know although nobody was killed, and counts it', async () => {
    const { wrongs, unknown } = await judgeIt({
      store: changed((entries) =>
        entries.map((entry) =>
          entry.type === 'tool.end' ? { ...entry, data: { ...entry.data, status: 'unknown' } } : entry,
        ),
      ),
    })
    expect(unknown).toBe(3)
    expect(wrongs.other).toContainEqual(expect.stringContaining('nobody died while it ran'))
  })
})
