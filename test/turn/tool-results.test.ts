/** Old tool results in prompts: compact from one turn on, in steps, the same for every reader, and counted as shown. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { viewsOf } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { countTokens, type PromptMessage } from '../../src/model/index.ts'
import type { Entry, EntryData } from '../../src/protocol/index.ts'
import { type ScriptedFunction, ScriptedModel, type ScriptedReply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/index.ts'
import { runTurn } from '../../src/turn/index.ts'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'
import { type BenchOptions, bench, expectLegal, KEY, openSqlite, probe, sqlitePath } from './kit.ts'

const LONG = 'a row of a table with many columns '.repeat(12)

const project = entity('project', { scope: 'conversation' })
const list = defineTool({
  name: 'list',
  description: 'Lists projects.',
  input: z.object({}),
  run: () => [
    { id: 'p-11', name: 'Champigny', notes: LONG },
    { id: 'p-22', name: 'Bureau', notes: LONG },
  ],
  returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
})
const look = probe('look', () => LONG)

/** One tool call in each turn, then a text. `say`: no call. */
const oneCall = ({ prompt }: Parameters<ScriptedFunction>[0]): ScriptedReply => {
  const asked = prompt.findLastIndex(
    (message) => message.role === 'user' && /"(list|look|say|twice)"/.test(JSON.stringify(message)),
  )
  const answers = prompt.slice(asked).filter(({ role }) => role === 'tool').length
  const words = JSON.stringify(prompt[asked])
  if (words.includes('"say"') || answers >= (words.includes('"twice"') ? 2 : 1)) return { text: 'Done.' }
  return { calls: [{ tool: words.includes('"list"') ? 'list' : 'look' }] }
}

function talk(options: BenchOptions = {}) {
  return bench({ script: oneCall, tools: [list, look], ...options })
}

/** Each result of a prompt: `whole`, or its compact form. */
function shapes(prompt: readonly PromptMessage[] | undefined): string[] {
  return (prompt ?? [])
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .map(({ output }) => JSON.stringify((output as { readonly value: unknown }).value))
    .map((text) => (text.includes(LONG) ? 'whole' : text))
}

const LEFT = '"[look: ok, 420 characters, left out here]"'
const SHOWN = '{"shown":{"project":[{"id":"p-11","label":"Champigny"},{"id":"p-22","label":"Bureau"}]}}'

describe('old tool results', () => {
  it('are compact where there are entities: the last one to three turns are whole', async () => {
    const { agent, model } = talk({ entities: [project] })
    const whole: number[] = []
    for (const word of ['list', 'look', 'list', 'look', 'list', 'say', 'look', 'list', 'look', 'say']) {
      const before = model.calls.length
      await agent.input(word)
      whole.push(shapes(model.calls[before]?.prompt).filter((shape) => shape === 'whole').length)
    }
    expect(whole).toEqual([0, 1, 2, 3, 1, 2, 2, 3, 1, 2])
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual([
      SHOWN,
      LEFT,
      SHOWN,
      LEFT,
      SHOWN,
      LEFT,
      'whole',
      'whole',
    ])
  })

  it('are whole where there are none, unless a number is given', async () => {
    const { agent, model, another } = talk()
    for (let turn = 1; turn <= 5; turn++) await agent.input('look')
    await agent.input('say')
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual(Array(5).fill('whole'))
    await another({ toolResultTurns: 2 }).input('say')
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual([LEFT, LEFT, LEFT, LEFT, 'whole'])
  })

  it('become compact in steps, so that most prompts begin as the one before', async () => {
    const { agent, model } = talk({ toolResultTurns: 4 })
    for (let turn = 1; turn <= 20; turn++) await agent.input('look')
    const changed = model.calls.flatMap(({ prompt }, at) => {
      const before = model.calls[at - 1]?.prompt ?? []
      return JSON.stringify(prompt.slice(0, before.length)) === JSON.stringify(before) ? [] : [at]
    })
    // Two model calls in a turn: always the first of one, and in every third turn.
    expect(changed).toEqual([10, 16, 22, 28, 34])
    for (const { prompt } of model.calls)
      expect(shapes(prompt).filter((shape) => shape === 'whole').length).toBeLessThanOrEqual(5)
  })

  it('never change inside of a turn, however many calls it makes', async () => {
    const { agent, model } = talk({ toolResultTurns: 1 })
    for (const word of ['twice', 'twice', 'twice']) await agent.input(word)
    const turns = [model.calls.slice(3, 6), model.calls.slice(6, 9)]
    expect(
      turns.map((turn) => turn.map(({ prompt }) => shapes(prompt).filter((s) => s === 'whole').length)),
    ).toEqual([
      [2, 3, 4],
      [2, 3, 4],
    ])
  })

  it('stay in the journal as they were, and every reader shows the same', async () => {
    const path = sqlitePath()
    const store = openSqlite(path)
    const { agent, model } = talk({ store, realTime: true, entities: [project] })
    for (const word of ['list', 'look', 'list', 'look', 'say']) await agent.input(word)
    const shown = JSON.stringify(await agent.getMessages())
    expect(shown).toContain('left out here')
    expect(JSON.stringify(agent.session.messages)).toBe(shown)
    await agent.shutdown()
    await store.close()
    const again = talk({ store: openSqlite(path), realTime: true })
    await again.agent.start()
    expect(JSON.stringify(await again.agent.getMessages())).toBe(shown)
    expect(JSON.stringify(await viewsOf(again.store).messageStore.getAll('talk'))).toBe(shown)
    const fork = await again.agent.fork('branch')
    expect(JSON.stringify(await fork.getMessages())).toBe(shown)
    const entries = await again.store.read(KEY)
    const outputs = entries.filter(({ type }) => type === 'tool.end').map(({ data }) => JSON.stringify(data))
    expect(outputs.every((output) => output.includes(LONG))).toBe(true)
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual([SHOWN, LEFT, SHOWN, 'whole'])
  })

  it('are trimmed by the agent only: what an input says about it is not heard', async () => {
    const { agent, store, model } = talk()
    await agent.input('look')
    const { seq = 0 } = (await store.head(KEY)) ?? {}
    const data = { message: 'say', trimmedUpTo: seq }
    await store.append({ key: KEY, id: 'x', since: seq, inbox: [{ type: 'input', key: 'k', data }] })
    await agent.drive()
    await agent.input('say')
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual(['whole'])
  })

  it('are compact for a turn with a persistence of its own, too', async () => {
    let entries: readonly Entry[] = []
    const model = new ScriptedModel(oneCall)
    for (const message of ['look', 'look', 'say'])
      for await (const batch of runTurn({ model, tools: [look], message, entries, toolResultTurns: 1 }))
        entries = [...entries, ...batch]
    expect(shapes(model.calls.at(-1)?.prompt)).toEqual([LEFT, 'whole'])
  })

  it('have codes instead of ids where prompts have codes', async () => {
    const { agent, model } = talk({ entities: [project], toolResultTurns: 1, grounding: { handles: true } })
    for (const word of ['list', 'look', 'say']) await agent.input(word)
    const [old = ''] = shapes(model.calls.at(-1)?.prompt)
    expect(old).not.toContain('p-11')
    expect(old).toMatch(/^\{"shown":\{"project":\[\{"id":"p~\w{4}","label":"Champigny"\}/)
  })

  it('make prompts that every vendor takes', async () => {
    const { agent, model } = talk({ entities: [project], toolResultTurns: 1 })
    for (const word of ['list', 'twice', 'look', 'list', 'say']) await agent.input(word)
    expectLegal(await agent.getMessages())
    expect(shapes(model.calls.at(-1)?.prompt)).toContain(SHOWN)
    for (const { prompt, tools } of model.calls)
      for (const { vendor, body } of await vendorRequests({ prompt, tools }))
        expect({ vendor, problems: checkVendorRequest(vendor, body) }).toEqual({ vendor, problems: [] })
  })

  it('are at least of one turn whole: no other number is taken', () => {
    for (const toolResultTurns of [0, -1, Number.NaN, '3' as never])
      expect(() => talk({ toolResultTurns })).toThrow('toolResultTurns must be a number from 1 on')
  })
})

describe('tokens of old tool results', () => {
  it('count as they are shown in what a compaction reports', async () => {
    const { agent, store } = talk({ toolResultTurns: 1 })
    for (const word of ['look', 'look', 'look', 'look', 'say']) await agent.input(word)
    const { tokens } = await countTokens(await agent.getMessages())
    expect(await agent.compact({ keep: 10 })).toBe(true)
    const after = await countTokens(await agent.getMessages())
    const entry = (await store.read(KEY)).findLast(({ type }) => type === 'compact')
    expect((entry?.data as EntryData['compact'] | undefined)?.receipt).toMatchObject({
      tokensBefore: tokens,
      tokensAfter: after.tokens,
    })
    expect(JSON.stringify(await agent.getMessages())).toContain('left out here')
  })

  it('count as they are shown in how full the context is, before the provider has counted again', async () => {
    const percents: number[] = []
    const usage = { inputTokens: 600, outputTokens: 1 }
    const script: ScriptedFunction = (request) => ({ ...oneCall(request), usage })
    const { agent } = talk({
      script,
      settings: { contextTokens: 1000 },
      toolResultTurns: 1,
      on: { beforeIteration: ({ contextPercent = 0 }) => void percents.push(contextPercent) },
    })
    for (const word of ['look', 'look', 'say']) await agent.input(word)
    // Both begin with the provider's count and a few words; the last has one whole result less.
    const [, , second = 0, , third = 0] = percents
    expect(second).toBeGreaterThan(60)
    expect(third).toBeLessThan(second - 5)
  })

  it('are not in what a summary is made from', async () => {
    const { agent, model } = talk({ toolResultTurns: 1 })
    for (const word of ['look', 'look', 'say']) await agent.input(word)
    await agent.compact({ strategy: 'summary', keep: 1 })
    const asked = JSON.stringify(model.calls.at(-1)?.prompt)
    expect(asked).toContain('left out here')
    expect(asked.split(LONG)).toHaveLength(2)
  })
})
