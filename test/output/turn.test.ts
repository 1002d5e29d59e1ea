/** The structured output of a turn: validated, returned to the model if invalid, and the same for every reader. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/entry/grounding.ts'
import { runTurn } from '../../src/entry/operate.ts'
import {
  Agent,
  defineTool,
  jsonSchema,
  memoryStore,
  type StandardSchema,
  type TurnOutcome,
} from '../../src/index.ts'
import type { CompleteContext } from '../../src/plugin/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import type { ScriptedRequest } from '../../src/testing/scripted-model.ts'
import { bench, calls, entryLines, gate, journal, KEY, probe, promptLines, said } from '../turn/kit.ts'

const weather = z.object({ city: z.string(), degrees: z.number() })
const VALID = '{"city":"Rome","degrees":21}'
const RETURNED =
  'Your reply is not the required output. degrees: Invalid input: expected number, received string. Reply again with one JSON value that fits the JSON Schema, and nothing else.'

describe('the output of an agent', () => {
  it('is the last reply as data, in the outcome and in the journal', async () => {
    const { agent, store, model } = bench({ script: [VALID], output: weather, systemPrompt: 'Be brief.' })
    const outcome = await agent.executeTurn('weather?').outcome
    expect(outcome).toMatchObject({ status: 'completed', text: VALID, output: { city: 'Rome', degrees: 21 } })
    expect((await store.read(KEY)).at(-1)?.data['output']).toEqual({ city: 'Rome', degrees: 21 })
    const [system] = model.calls[0]?.prompt ?? []
    expect(system?.content).toBe(
      'Be brief.\n\nReply with one JSON value that fits this JSON Schema, and nothing else: no other text, no code fence.\n{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"]}',
    )
  })

  it('comes after tools, whose texts in between do not count', async () => {
    const look = probe('look')
    const script = [{ text: 'One moment.', calls: [{ tool: 'look' }] }, VALID]
    const { agent, store } = bench({ script, output: weather, tools: [look] })
    const turn = agent.executeTurn('weather?')
    expect((await turn.outcome).output).toEqual({ city: 'Rome', degrees: 21 })
    expect(look.ran).toHaveLength(1)
    expect(await said(store)).toEqual([
      'user "weather?"',
      'assistant "One moment." call_1:look',
      'tool call_1:ok',
      `assistant ${JSON.stringify(VALID)}`,
    ])
  })

  it('is asked for again with the reason while a reply is invalid', async () => {
    const { agent, model } = bench({ script: ['{"city":"Rome","degrees":"21"}', VALID], output: weather })
    const turn = agent.executeTurn('weather?')
    expect(await entryLines(turn)).toEqual([
      '1 input "weather?"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '5 model.end "{\\"city\\":\\"Rome\\",\\"degrees\\":\\"21\\"}"',
      `6 note output ${JSON.stringify(RETURNED)}`,
      '7 model.start 2',
      `8 model.end ${JSON.stringify(VALID)}`,
      '9 turn.end stop',
    ])
    expect((await turn.outcome).output).toEqual({ city: 'Rome', degrees: 21 })
    expect(promptLines(model, 1).slice(1)).toEqual([
      'user "weather?"',
      'assistant "{\\"city\\":\\"Rome\\",\\"degrees\\":\\"21\\"}"',
      `user ${JSON.stringify(RETURNED)}`,
    ])
  })

  it('fails the turn after the last invalid reply, with its text and the reasons', async () => {
    const { agent, model } = bench({ script: ['a', 'b', '{}'], output: weather, outputRetries: 2 })
    const outcome = await agent.executeTurn('weather?').outcome
    expect(outcome).toMatchObject({
      status: 'failed',
      text: '{}',
      error: {
        code: 'invalid-output',
        message:
          '3 replies are not the required output. The last one: city: Invalid input: expected string, received undefined; degrees: Invalid input: expected number, received undefined.',
        issues: [
          'city: Invalid input: expected string, received undefined',
          'degrees: Invalid input: expected number, received undefined',
        ],
      },
    })
    expect(outcome).not.toHaveProperty('output')
    expect(model.calls).toHaveLength(3)
  })

  it('is demanded again by the turn that continues a failed one', async () => {
    const { agent } = bench({ script: ['no', VALID], output: weather, outputRetries: 0 })
    expect((await agent.executeTurn('weather?').outcome).error?.code).toBe('invalid-output')
    expect((await agent.executeTurn(null).outcome).output).toEqual({ city: 'Rome', degrees: 21 })
  })

  it('counts in the limits, and is absent after one', async () => {
    const { agent } = bench({ script: ['no', 'no'], output: weather, limits: { iterations: 2 } })
    const outcome = await agent.executeTurn('weather?').outcome
    expect(outcome).toMatchObject({ reason: 'max-iterations', limit: 'iterations', text: 'no' })
    expect(outcome).not.toHaveProperty('output')
  })

  it('is the result of the schema, with its defaults and transformations', async () => {
    const output = z.object({ n: z.string().transform(Number), unit: z.string().default('C') })
    const { agent } = bench({ script: ['{"n":"21"}'], output })
    expect((await agent.executeTurn('weather?').outcome).output).toEqual({ n: 21, unit: 'C' })
  })

  it('fails the turn, and asks no model again, if its value cannot be stored', async () => {
    const output = z.array(z.string()).transform((names) => new Set(names))
    const { agent, model } = bench({ script: ['["a"]', '["a"]'], output })
    const { reason, error } = await agent.executeTurn('go').outcome
    expect([reason, error?.code, model.calls.length]).toEqual(['failed', 'invalid-output', 1])
    expect(error?.message).toContain('cannot be stored as JSON: ')
  })

  it('may be null, a number or a list', async () => {
    const output = z.union([z.null(), z.number(), z.array(z.boolean())])
    const { agent } = bench({ script: ['null', '-1.5e2', '[true]'], output })
    for (const expected of [null, -150, [true]])
      expect(await agent.executeTurn('go').outcome).toMatchObject({ reason: 'stop', output: expected })
  })

  it('reaches the hooks that complete a turn, and hooks run in every iteration', async () => {
    const seen: (Pick<CompleteContext, 'outcome' | 'output'> | number)[] = []
    const { agent } = bench({
      script: ['no', VALID],
      output: weather,
      on: {
        afterIteration: ({ iteration }) => void seen.push(iteration),
        onComplete: ({ outcome, output }) =>
          void seen.push({ outcome, ...(output === undefined ? {} : { output }) }),
      },
    })
    await agent.executeTurn('weather?').outcome
    expect(seen).toEqual([1, 2, { outcome: 'stop', output: { city: 'Rome', degrees: 21 } }])
  })

  it('is not waited for when the turn is cancelled or out of time', async () => {
    const begun = gate()
    const hanging: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          begun.resolve()
          return new Promise<never>(() => {})
        },
        jsonSchema: { input: () => ({}) },
      },
    }
    const cancelled = bench({ script: ['{}'], output: hanging })
    const turn = cancelled.agent.executeTurn('go')
    await begun.promise
    await turn.cancel()
    expect((await turn.outcome).reason).toBe('cancelled')
    const { agent } = bench({ script: ['{}'], output: hanging, limits: { durationMs: 1 }, realTime: true })
    expect((await agent.executeTurn('go').outcome).limit).toBe('durationMs')
  })

  it('is asked for again if the validator throws', async () => {
    const throwing = z.string().transform((text) => {
      if (text !== 'right') throw new Error('it is wrong')
      return text
    })
    const { agent, model } = bench({ script: ['"wrong"', '"right"'], output: throwing })
    expect((await agent.executeTurn('go').outcome).output).toBe('right')
    expect(promptLines(model, 1).at(-1)).toContain('It cannot be checked: it is wrong.')
  })

  it('has no secrets', async () => {
    const { agent, store } = bench({
      script: ['{"key":"tok-5up3rs3cr3t"}'],
      output: z.object({ key: z.string() }),
    })
    const { output } = await agent.executeTurn('key?', { credentials: { token: 'tok-5up3rs3cr3t' } }).outcome
    expect(output).toEqual({ key: '[redacted]' })
    expect(JSON.stringify(await store.read(KEY))).not.toContain('5up3rs3cr3t')
  })

  it.each([
    [{ handles: true }, { id: 'prj-7-champigny' }],
    [{ hideIds: true }, { id: 'Champigny' }],
  ])('has ids as %j says', async (grounding, expected) => {
    const project = entity('project')
    const list = defineTool({
      name: 'list',
      description: 'Lists projects.',
      input: z.object({}),
      run: () => [{ id: 'prj-7-champigny', name: 'Champigny' }],
      returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
    })
    const script = [
      calls('list'),
      ({ prompt }: ScriptedRequest) => {
        const [, id = ''] = /"id":"([^"]+)"/.exec(JSON.stringify(prompt)) ?? []
        return JSON.stringify({ id })
      },
    ]
    const { agent } = bench({
      script,
      tools: [list],
      entities: [project],
      grounding,
      output: z.object({ id: z.string() }),
    })
    const outcome = await agent.executeTurn('which?').outcome
    expect(outcome.output).toEqual(expected)
  })

  it('is beyond the built-in model, which says so, and a fallback gives it', async () => {
    const alone = bench({ model: reflex(), output: weather })
    expect((await alone.agent.executeTurn('weather?').outcome).error).toMatchObject({
      code: 'model',
      message: 'holdfast/reflex writes no text or data on request. Name another model.',
    })
    const { agent } = bench({ model: [reflex(), new ScriptedModel([VALID])], output: weather })
    expect((await agent.executeTurn('weather?').outcome).output).toEqual({ city: 'Rome', degrees: 21 })
  })
})

describe('the output of one turn', () => {
  const city = z.object({ city: z.string() })

  it('has a schema of its own, and the next turn has none', async () => {
    const { agent, store } = bench({ script: ['{"city":"Rome"}', 'Hello.'] })
    expect((await agent.executeTurn('where?', { output: city }).outcome).output).toEqual({ city: 'Rome' })
    const next = await agent.executeTurn('hi').outcome
    expect([next.text, next.output]).toEqual(['Hello.', undefined])
    const stored = (await store.read(KEY)).filter(({ data }) => data['outputSchema'] !== undefined)
    expect(stored.map(({ type }) => type)).toEqual(['input', 'turn.start'])
  })

  it('replaces that of the agent', async () => {
    const { agent } = bench({ script: ['{"city":"Rome"}', VALID], output: weather })
    expect((await agent.executeTurn('where?', { output: city }).outcome).output).toEqual({ city: 'Rome' })
    expect((await agent.executeTurn('weather?').outcome).output).toEqual({ city: 'Rome', degrees: 21 })
  })

  it('stays with the turns that answer its requests or continue it', async () => {
    const pay = probe('pay', () => 'paid', { approve: 'always' })
    const script = [calls('pay'), '{"city":"Rome"}']
    const { agent } = bench({ script, tools: [pay] })
    const waiting = await agent.executeTurn('pay', { output: city }).outcome
    expect([waiting.status, waiting.output]).toEqual(['input-required', undefined])
    const [request] = waiting.requests
    const outcome = await agent.answer({ [request?.requestId ?? '']: true }).outcome
    expect([outcome.turn, outcome.output]).toEqual([2, { city: 'Rome' }])
  })

  it('stays while a message from before the request waits', async () => {
    const pay = probe('pay', () => 'paid', { approve: 'always' })
    const { agent } = bench({ script: [calls('pay'), '{"city":"Rome"}'], tools: [pay] })
    const turns = [agent.executeTurn('pay', { output: city }), agent.executeTurn('and hurry')]
    const [first, second] = await Promise.all(turns.map((turn) => turn.outcome))
    expect([first?.status, second?.status]).toEqual(['input-required', 'input-required'])
    const [request] = await agent.requests()
    const outcome = await agent.answer({ [request?.requestId ?? '']: true }).outcome
    expect([outcome.turn, outcome.output]).toEqual([3, { city: 'Rome' }])
  })

  it('is judged by each caller’s schema, also if their JSON Schemas are the same', async () => {
    const even = z.number().refine((n) => n % 2 === 0, 'odd')
    const odd = z.number().refine((n) => n % 2 === 1, 'even')
    const { agent } = bench({ script: ['1', '2', '2', '3'] })
    const turns = [agent.executeTurn('even', { output: even }), agent.executeTurn('odd', { output: odd })]
    const outcomes = await Promise.all(turns.map((turn) => turn.outcome))
    expect(outcomes.map(({ output }) => output)).toEqual([2, 3])
  })

  it('is the same for a follower and for whoever comes later, who have no schema', async () => {
    const { agent, another } = bench({ script: ['{"city":"Rome"}'] })
    await agent.executeTurn('where?', { output: city }).outcome
    const turn = await another().lastTurn()
    expect((await turn?.outcome)?.output).toEqual({ city: 'Rome' })
  })

  it('is refused for a message that steers, and if it is no schema', async () => {
    const { agent, store } = bench({ script: [] })
    const steering = await agent.executeTurn('x', { output: city, whileBusy: 'steer' }).outcome
    expect(steering.error?.message).toBe(
      "output cannot be set for a message that steers the running turn; use whileBusy: 'queue'.",
    )
    const wrong = await agent.executeTurn('x', { output: { type: 'object' } as never }).outcome
    expect(wrong.error?.message).toBe(
      'output must be a schema: z.object({ … }) of Zod, Valibot or ArkType, or jsonSchema({ … }), not an object.',
    )
    expect(() => new Agent({ contextId: 'c', outputRetries: 1.5 })).toThrow(
      'outputRetries must be a whole number from 0 on, not 1.5.',
    )
    expect(await journal(store)).toEqual([])
  })
})

it('runTurn returns the output, and continues from its entries', async () => {
  const model = new ScriptedModel(['no', VALID])
  const entries = []
  const run = runTurn({ model, message: 'weather?', output: weather })
  for (;;) {
    const { value, done } = await run.next()
    if (!done) entries.push(...value)
    if (done || entries.some(({ type }) => type === 'note')) break
  }
  await run.return(undefined as never)
  const again = runTurn({ model, message: null, entries, output: weather })
  for (;;) {
    const { value, done } = await again.next()
    if (!done) continue
    expect(value).toMatchObject({ outcome: 'stop', output: { city: 'Rome', degrees: 21 } })
    expectTypeOf(value.output).toEqualTypeOf<{ city: string; degrees: number } | undefined>()
    break
  }
})

it('the types of the outputs', () => {
  const model = new ScriptedModel([])
  const typed = () => new Agent({ contextId: 'c', store: memoryStore(), model, output: weather })
  type Weather = { city: string; degrees: number }
  expectTypeOf(typed).returns.toEqualTypeOf<Agent<Weather>>()
  type Executed<O> = Promise<TurnOutcome<O>>
  const turns = (agent: Agent<Weather>) => ({
    own: agent.executeTurn('x').outcome,
    other: agent.executeTurn('x', { output: jsonSchema<{ a: 1 }>({}) }).outcome,
    plain: new Agent({ contextId: 'c', model }).executeTurn('x', { metadata: {} }).outcome,
  })
  expectTypeOf(turns).returns.toEqualTypeOf<{
    own: Executed<Weather>
    other: Executed<{ a: 1 }>
    plain: Executed<unknown>
  }>()
  expectTypeOf<Agent<Weather>>().toExtend<Agent>()
})
