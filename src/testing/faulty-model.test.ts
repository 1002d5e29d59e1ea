import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../agent/index.ts'
import type { ModelStreamPart } from '../model/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { defineTool } from '../tool/index.ts'
import { faultyModel, type ModelFault } from './faulty-model.ts'
import { ScriptedModel, type ScriptedStep } from './scripted-model.ts'

const prompt = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] as const
const CALL: ScriptedStep = { text: 'Let me see.', calls: [{ tool: 'look', args: { n: 1 } }] }

/** The parts of one call of a model with this fault; `broke` if the stream fails. */
async function partsOf(fault: ModelFault, signal?: AbortSignal): Promise<readonly unknown[]> {
  const model = faultyModel(ScriptedModel.forever(CALL), [fault])
  const { stream } = await model.doStream(signal === undefined ? { prompt } : { prompt, abortSignal: signal })
  const parts: (ModelStreamPart | string)[] = []
  try {
    for await (const part of stream) parts.push(part)
  } catch (error) {
    parts.push(`broke: ${(error as Error).message}`)
  }
  return parts
}

const whole = await partsOf({ at: 99, how: 'cut', after: 0 })

describe('a faulty model', () => {
  it('is otherwise the model that it was given', async () => {
    const scripted = new ScriptedModel(['Hi.'])
    const model = faultyModel(scripted, [])
    await model.doStream({ prompt })
    expect([model.provider, model.modelId, model.calls.length]).toEqual(['scripted', 'model', 1])
    expect(() => model.done()).not.toThrow()
  })

  it('fails the calls that were named with a status, or without an answer, and no other', async () => {
    const model = faultyModel(ScriptedModel.forever('Hi.'), [
      { at: 1, how: 'error', status: 429, retryAfter: 2 },
      { at: (call, n) => n === 3 && call.prompt.length === 1, how: 'error' },
    ])
    await expect(model.doStream({ prompt })).rejects.toMatchObject({
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { 'retry-after': '2' },
    })
    await model.doStream({ prompt })
    await expect(model.doStream({ prompt })).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
    await model.doStream({ prompt })
  })

  it('cuts the stream after so many parts', async () => {
    expect(whole.length).toBeGreaterThan(5)
    expect(await partsOf({ at: 1, how: 'cut', after: 3 })).toEqual(whole.slice(0, 3))
    expect(await partsOf({ at: 1, how: 'cut', after: 0 })).toEqual([])
  })

  it('breaks the stream after so many parts, or says in it what is wrong', async () => {
    expect(await partsOf({ at: 1, how: 'error', after: 2 })).toEqual([
      ...whole.slice(0, 2),
      'broke: fetch failed',
    ])
    const sent = await partsOf({ at: 1, how: 'error', status: 529, after: 2 })
    expect(sent).toMatchObject([...whole.slice(0, 2), { type: 'error', error: { statusCode: 529 } }])
  })

  it('stalls until it is aborted, at once or after so many parts', async () => {
    const abort = new AbortController()
    const never = partsOf({ at: 1, how: 'stall' }, abort.signal)
    const parts = partsOf({ at: 1, how: 'stall', after: 2 }, abort.signal)
    const early = await Promise.race([
      never,
      parts,
      new Promise((resolve) => setTimeout(resolve, 20, 'nothing')),
    ])
    expect(early).toBe('nothing')
    abort.abort(new Error('enough'))
    await expect(never).rejects.toThrow('enough')
    expect(await parts).toEqual([...whole.slice(0, 2), 'broke: enough'])
  })

  it('talks nonsense: parts that are none, broken arguments, an end that nobody knows', async () => {
    const parts = await partsOf({ at: 1, how: 'garbage', what: 'parts' })
    expect(parts.slice(-whole.length)).toEqual(whole)
    expect(parts.slice(0, -whole.length)).toContain(null)
    const call = (await partsOf({ at: 1, how: 'garbage', what: 'arguments' })).find(isCall)
    expect(() => JSON.parse(call?.input ?? '{}') as unknown).toThrow(SyntaxError)
    expect((await partsOf({ at: 1, how: 'garbage', what: 'finish' })).at(-1)).toMatchObject({
      finishReason: { unified: 'sideways' },
      usage: { outputTokens: { total: Number.NaN } },
    })
  })
})

function isCall(part: unknown): part is ModelStreamPart {
  return (part as ModelStreamPart | null)?.type === 'tool-call'
}

/** Runs two turns of an agent whose model has this fault in its first call. */
async function twoTurnsWith(
  fault: ModelFault,
): Promise<{ reasons: string[]; types: string[]; sent: unknown[] }> {
  const model = faultyModel(
    new ScriptedModel(({ prompt: messages }) => {
      const users = messages.filter(({ role }) => role === 'user').length
      return messages.some(({ role }) => role === 'tool') || users > 1 ? 'Done.' : CALL
    }),
    [fault],
  )
  const store = memoryStore()
  const look = defineTool({
    name: 'look',
    description: 'looks',
    input: z.object({ n: z.number() }),
    run: () => 'seen',
  })
  const timer = {
    wait: () => new Promise<void>((resolve) => setTimeout(resolve, 1)),
    after: () => () => {},
  }
  const agent = new Agent({ contextId: 'talk', model, store, tools: [look], timer })
  const outcomes = [await agent.executeTurn('hello').outcome, await agent.executeTurn('again').outcome]
  const entries = await store.read({ ...agent.owner, contextId: 'talk' })
  return {
    reasons: outcomes.map(({ reason }) => reason),
    types: entries.map(({ type }) => type),
    sent: (await agent.getMessages()).filter(({ role }) => role === 'user').map(({ content }) => content),
  }
}

describe('an agent survives a model that', () => {
  it.each([
    ['is busy', { at: 1, how: 'error', status: 503 }, 'stop'],
    ['refuses the key', { at: 1, how: 'error', status: 401 }, 'failed'],
    ['loses the connection', { at: 1, how: 'error' }, 'stop'],
    ['loses the connection in the middle', { at: 1, how: 'error', after: 3 }, 'stop'],
    ['breaks off', { at: 1, how: 'cut', after: 4 }, 'stop'],
    ['breaks off before the first word', { at: 1, how: 'cut', after: 0 }, 'stop'],
    ['sends parts that are none', { at: 1, how: 'garbage', what: 'parts' }, 'failed'],
    ['sends broken arguments', { at: 1, how: 'garbage', what: 'arguments' }, 'stop'],
    ['ends for no known reason', { at: 1, how: 'garbage', what: 'finish' }, 'stop'],
  ] satisfies [string, ModelFault, string][])(
    '%s: one outcome for each turn, and both inputs are there',
    async (_, fault, reason) => {
      const { reasons, types, sent } = await twoTurnsWith(fault)
      expect(reasons).toEqual([reason, 'stop'])
      expect(types.filter((type) => type === 'turn.start')).toHaveLength(2)
      expect(types.filter((type) => type === 'turn.end')).toHaveLength(2)
      expect(sent).toEqual(['hello', 'again'])
    },
  )

  it('stalls: a cancel ends the turn, and the next one is as any other', async () => {
    const model = faultyModel(new ScriptedModel(['never heard', 'Here.']), [
      { at: 1, how: 'stall', after: 3 },
    ])
    const agent = new Agent({ contextId: 'talk', model })
    const turn = agent.executeTurn('hello')
    for await (const { type } of turn) if (type === 'text.delta') break
    await turn.cancel()
    expect(await turn.outcome).toMatchObject({ reason: 'cancelled', turn: 1 })
    expect(await agent.input('again')).toBe('Here.')
  })
})
