/** A real agent with each vendor's real package, against a server that is as strict as the vendor. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore, type Store, type TurnOutcome } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { journal } from '../turn/kit.ts'
import { DIALECTS, keyOf, type Step, WireServer } from './server.ts'
import type { Call, Trouble } from './speaking.ts'
import { eventually, lines, made, named, SPEAKERS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => wire.reset())
afterEach(() => wire.settle())

const ask = (...calls: Call[]): Step => ({ calls })
const call = (id: string, tool: string, args: object | string = {}): Call => ({ id, tool, args })

describe.each(SPEAKERS)('%s', (speaker) => {
  it.each(['by its name', 'as an object'])('has two turns with parallel calls, %s', async (how) => {
    const model = how === 'by its name' ? named(wire, speaker) : made(wire, speaker)
    const agent = talk().with(model)
    wire.reset(
      ask(call('functions.weather:0', 'weather', { city: 'Rome' }), call('x'.repeat(90), 'clock')),
      { text: 'It is sunny at noon.' },
      { ...ask(call('again|1', 'weather', { city: 'Oslo' })), text: 'One moment.' },
      { text: 'It is sunny there too.' },
    )
    const first = await agent.executeTurn('weather in Rome, and the time?').outcome
    expect([first.reason, first.text]).toEqual(['stop', 'It is sunny at noon.'])
    expect(first.usage).toMatchObject({ inputTokens: 40, cachedTokens: 32, outputTokens: 10 })
    const second = await agent.executeTurn('and in Oslo?').outcome
    expect([second.reason, second.text]).toEqual(['stop', 'It is sunny there too.'])
    expect(lines(await agent.getMessages())).toEqual([
      'user "weather in Rome, and the time?"',
      '-> weather -> clock',
      'weather ok {"city":"Rome","sky":"blue"}, clock ok "noon"',
      'It is sunny at noon.',
      'user "and in Oslo?"',
      'One moment. -> weather',
      'weather ok {"city":"Oslo","sky":"blue"}',
      'It is sunny there too.',
    ])
    expect(wire.asked.map((one) => one.speaker)).toEqual([speaker, speaker, speaker, speaker])
  })

  it('takes old results in their compact form, next to what it thought before', async () => {
    const city = `Rome ${'and beyond '.repeat(30)}`
    const step = (id: string): Step => ({
      thought: 'a deep thought',
      ...ask(call(id, 'weather', { city }), call(`${id}2`, 'weather', { city: 'Oslo' })),
    })
    wire.reset(step('a'), { text: 'Sunny.' }, step('b'), { text: 'Sunny.' }, { text: 'Yes.' })
    const agent = talk({ toolResultTurns: 1 }).with(named(wire, speaker))
    for (const asked of ['weather?', 'and now?', 'sure?']) {
      const { reason } = await agent.executeTurn(asked).outcome
      expect(reason).toBe('stop')
    }
    const [before = '', last = ''] = wire.asked.slice(-2).map(({ body }) => JSON.stringify(body))
    expect([before.includes('left out here'), last.includes('left out here')]).toEqual([false, true])
    // Of two rounds with two results each, one result is long and old.
    expect(last.match(/"sky/g)).toHaveLength(3)
    expect(last.split('deep thought').length).toBe(before.split('deep thought').length)
  })

  it('says why a request was refused', async () => {
    wire.reset({ refuse: { status: 400, message: 'The tool schema is too clever.' } })
    const outcome = await talk().with(named(wire, speaker)).executeTurn('hello').outcome
    expect(failureOf(outcome)).toEqual(['failed', 'invalid', 'The tool schema is too clever.', 400])
  })

  it('says that a key is wrong, and not which', async () => {
    const key = `${keyOf(DIALECTS[speaker])}-wrong`
    const outcome = await talk()
      .with(named(wire, speaker, { apiKey: key }))
      .executeTurn('hello').outcome
    expect(failureOf(outcome)).toEqual(['failed', 'auth', 'Incorrect API key provided: [key]', 401])
  })

  it('fails when a vendor has trouble for longer than it is worth waiting', async () => {
    const trouble: Step = { refuse: { status: speaker === 'anthropic' ? 529 : 500, message: 'Overloaded' } }
    wire.reset(trouble, trouble)
    const clock = new ManualClock()
    const { store, with: agentWith } = talk(time(clock))
    const turn = agentWith(named(wire, speaker, { retries: 1 })).executeTurn('hello')
    await retried(store)
    clock.advance(1000)
    const outcome = await turn.outcome
    expect(failureOf(outcome)).toEqual([
      'failed',
      'overloaded',
      'Overloaded',
      speaker === 'anthropic' ? 529 : 500,
    ])
    expect(wire.asked).toHaveLength(2)
  })

  it('waits as long as it was told to after a 429, and then goes on', async () => {
    const told = speaker === 'google' ? { retryDelay: '7s' } : { headers: { 'retry-after': '7' } }
    wire.reset({ refuse: { status: 429, message: 'Slow down', ...told } }, { text: 'Here I am.' })
    const clock = new ManualClock()
    const { store, with: agentWith } = talk(time(clock))
    const turn = agentWith(named(wire, speaker)).executeTurn('hello')
    await retried(store)
    clock.advance(6999)
    await new Promise((later) => setTimeout(later, 20))
    expect(wire.asked).toHaveLength(1)
    clock.advance(1)
    const outcome = await turn.outcome
    expect([outcome.reason, outcome.text, wire.asked.length]).toEqual(['stop', 'Here I am.', 2])
  })

  it('waits by the millisecond where the vendor counts in them', async () => {
    wire.reset(
      {
        refuse: {
          status: 429,
          message: 'Slow down',
          headers: { 'retry-after-ms': '5', 'retry-after': '60' },
        },
      },
      { text: 'Here I am.' },
    )
    const outcome = await talk().with(named(wire, speaker)).executeTurn('hello').outcome
    expect([outcome.reason, outcome.text]).toEqual(['stop', 'Here I am.'])
  })

  it.each<[string, 'cut' | 'early' | Trouble]>([
    ['loses its connection', 'cut'],
    ['ends without its end', 'early'],
    ['turns into an error', { status: speaker === 'anthropic' ? 529 : 500, message: 'Overloaded' }],
  ])('asks again when a reply %s, and runs none of its calls', async (_, ends) => {
    wire.reset({ begin: { text: 'I will', calls: [call('half', 'clock')] }, ends }, { text: 'Here I am.' })
    const clock = new ManualClock()
    const { store, with: agentWith } = talk(time(clock))
    const turn = agentWith(named(wire, speaker)).executeTurn('hello')
    await retried(store)
    clock.advance(1000)
    expect((await turn.outcome).text).toBe('Here I am.')
    expect((await journal(store)).filter((line) => line.includes('tool.'))).toEqual([])
  })

  it.each(['cut', 'early'] as const)('says that a reply was not complete (%s)', async (ends) => {
    wire.reset({ begin: { text: 'I will', calls: [call('half', 'clock')] }, ends })
    const outcome = await talk()
      .with(named(wire, speaker, { retries: 0 }))
      .executeTurn('hello').outcome
    const message = expect.stringMatching(/^The reply of [\w/.-]+ ended before it was complete\.$/)
    expect(failureOf(outcome)).toEqual(['failed', 'cut-off', message, undefined])
  })

  it.each([
    [500, 'overloaded'],
    [429, 'rate-limit'],
    [400, 'invalid'],
  ] as const)('knows what a %i in the middle of a reply means', async (status, kind) => {
    wire.reset({ begin: { text: 'I will' }, ends: { status, message: 'Not now' } })
    const outcome = await talk()
      .with(named(wire, speaker, { retries: 0 }))
      .executeTurn('hello').outcome
    expect(failureOf(outcome).slice(0, 3)).toEqual(['failed', kind, 'Not now'])
  })

  it('can be cancelled in the middle of a reply, and goes on legally', async () => {
    wire.reset({ begin: { thought: 'hm', text: 'It is ' }, ends: 'stall' }, { text: 'Right.' })
    const agent = talk().with(named(wire, speaker))
    const turn = agent.executeTurn('hello')
    for await (const event of turn) if (event.type === 'text.delta') await turn.cancel()
    const outcome = await turn.outcome
    expect(outcome.reason).toBe('cancelled')
    await eventually('the connection is closed', () => wire.left === 1)
    expect((await agent.executeTurn('never mind').outcome).text).toBe('Right.')
    expect(lines(await agent.getMessages())).toEqual([
      'user "hello"',
      outcome.text,
      'user "never mind"',
      'Right.',
    ])
  })

  it('can be cancelled in the middle of a round, and goes on legally', async () => {
    wire.reset(ask(call('a', 'clock'), call('b', 'stuck')), { text: 'Right.' })
    const agent = talk({ graceMs: 1 }).with(named(wire, speaker))
    const turn = agent.executeTurn('hello')
    for await (const event of turn) if (event.type === 'tool.end') await turn.cancel()
    expect((await turn.outcome).reason).toBe('cancelled')
    expect((await agent.executeTurn('never mind').outcome).text).toBe('Right.')
    const [, , results] = lines(await agent.getMessages())
    expect(results).toMatch(/^clock ok "noon", stuck unknown /)
  })

  it('is given up when it stalls for too long', async () => {
    wire.reset({ begin: { text: 'It is' }, ends: 'stall' })
    const outcome = await talk()
      .with(named(wire, speaker, { timeoutMs: 50, retries: 0 }))
      .executeTurn('hello').outcome
    expect([outcome.reason, outcome.error?.['kind']]).toEqual(['failed', 'timeout'])
  })
})

function failureOf({ reason, error }: TurnOutcome): unknown[] {
  return [reason, error?.['kind'], error?.message, error?.['status']]
}

/** A failed call is in the journal, and is to be repeated. */
async function retried(store: Store): Promise<void> {
  await eventually('a retry', async () => (await journal(store)).some((line) => line.endsWith(' retry')))
}

function time(clock: ManualClock) {
  return { clock, timer: clock, store: memoryStore({ clock }) }
}
