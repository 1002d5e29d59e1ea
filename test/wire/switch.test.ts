/** One journal that several vendors go on with, one after the other, whatever happened before. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ModelOptions, UserContent } from '../../src/index.ts'
import { type Speaker, type Step, WireServer } from './server.ts'
import type { Call } from './speaking.ts'
import { door, lines, named, SPEAKERS, TOOLS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => wire.reset())
afterEach(() => wire.settle())

const call = (id: string, tool: string, args: object | string = {}): Call => ({ id, tool, args })
const PAIRS = SPEAKERS.flatMap((from) => SPEAKERS.map((to) => [from, to] as const))

/** What the last request said, as text. */
function lastBody(): string {
  return JSON.stringify(wire.asked.at(-1)?.body)
}

/** A turn on a vendor with everything in it that another may choke on. */
const ODD: Step[] = [
  {
    thought: 'a deep thought',
    text: 'One moment. ',
    calls: [
      call('functions.weather:0', 'weather', { city: 'Rome' }),
      call(`call|${'x'.repeat(80)}`, 'clock'),
      call('same', 'files.read/all', { path: '/' }),
      call('same', '7-zip'),
      call('', 'weather', '{"city": "Ro'),
      call('b64+/=', 'weather', '[1]'),
    ],
  },
  { thought: 'a last thought', text: 'That was odd. ' },
]

describe.each(PAIRS)('from %s to %s', (from, to) => {
  it('the conversation goes on after a turn full of oddities', async () => {
    wire.reset(...ODD, { calls: [call('next', 'clock')] }, { text: 'Noon.' })
    const { with: agentWith } = talk()
    const first = await agentWith(named(wire, from)).executeTurn('weather?').outcome
    expect([first.reason, first.text]).toEqual(['stop', 'That was odd. '])
    const agent = agentWith(named(wire, to))
    const second = await agent.executeTurn('and the time?').outcome
    expect([second.reason, second.text]).toEqual(['stop', 'Noon.'])
    expect(wire.asked.map(({ speaker }) => speaker)).toEqual([from, from, to, to])
    const [, asked = '', settled = ''] = lines(await agent.getMessages())
    expect(asked).toContain('-> weather -> clock -> files.read/all -> 7-zip -> weather -> weather')
    expect(settled).toMatch(/^weather ok .*, clock ok "noon", files.read\/all rejected .*, 7-zip rejected /)
  })

  it('the conversation goes on after a reply and a round that were cancelled', async () => {
    wire.reset(
      { begin: { thought: 'a deep thought', text: 'I think that ' }, ends: 'stall' },
      { thought: 'another thought', calls: [call('a', 'clock'), call('b', 'stuck')] },
      { thought: 'to the point', calls: [call('c', 'clock')] },
      { text: 'Noon.' },
    )
    const { with: agentWith } = talk({ graceMs: 1 })
    const agent = agentWith(named(wire, from))
    const reply = agent.executeTurn('the time?')
    for await (const event of reply) if (event.type === 'text.delta') await reply.cancel()
    const round = agent.executeTurn('quick!')
    for await (const event of round) if (event.type === 'tool.end') await round.cancel()
    const other = agentWith(named(wire, to))
    expect((await other.executeTurn('well?').outcome).text).toBe('Noon.')
    const [, , , , settled] = lines(await other.getMessages())
    expect(settled).toMatch(/^clock ok "noon", stuck unknown /)
  })

  it('the other takes over in the middle of a turn', async () => {
    const down: Step = { refuse: { status: 400, message: 'down' } }
    wire.reset(
      { thought: 'a deep thought', calls: [call('a', 'clock'), call('b', 'weather', { city: 'Rome' })] },
      down,
      { thought: 'my thought', calls: [call('c', 'clock')] },
      down,
      { text: 'Noon.' },
    )
    const model = [named(wire, from), named(wire, to)]
    const outcome = await talk().with(model).executeTurn('the time?').outcome
    expect([outcome.reason, outcome.text]).toEqual(['stop', 'Noon.'])
    expect(wire.asked.map(({ speaker }) => speaker)).toEqual([from, from, to, from, to])
  })
})

/** What a vendor is sent again of its own. OpenAI's chat is not here: it tells nobody what a model thought. */
const KEPT: readonly (readonly [Speaker, string])[] = [
  ['anthropic', 'anthropic-signature-of a deep thought'],
  ['openai-responses', 'openai-encrypted a deep thought'],
  ['google', 'google-signature-of a deep thought'],
  ['compatible', 'a deep thought'],
]

describe('a thought', () => {
  it.each(PAIRS.filter(([from, to]) => from !== to))('of %s is not shown to %s', async (from, to) => {
    wire.reset(
      { thought: 'a deep thought', calls: [call('a', 'clock')] },
      { text: 'Noon.' },
      { text: 'Yes.' },
    )
    const { with: agentWith } = talk()
    await agentWith(named(wire, from)).executeTurn('the time?').outcome
    await agentWith(named(wire, to)).executeTurn('sure?').outcome
    expect(lastBody()).not.toContain('deep thought')
    expect(lastBody()).toContain('Noon.')
  })

  it.each(KEPT)('of %s goes back to it within the turn and after it', async (speaker, kept) => {
    wire.reset(
      { thought: 'a deep thought', calls: [call('a', 'clock')] },
      { text: 'Noon.' },
      { text: 'Yes.' },
    )
    const agent = talk().with(named(wire, speaker))
    for (const asked of ['the time?', 'sure?']) {
      await agent.executeTurn(asked).outcome
      expect(lastBody()).toContain(kept)
    }
  })

  it.each(KEPT)('of %s that led to nothing is not sent again', async (speaker, kept) => {
    wire.reset({ thought: 'a deep thought' }, { text: 'Yes.' })
    const agent = talk().with(named(wire, speaker))
    for (const asked of ['the time?', 'are you there?']) await agent.executeTurn(asked).outcome
    expect(lastBody()).not.toContain(kept)
    expect(lastBody()).toContain('the time?')
  })
})

describe('a file that not everybody takes', () => {
  const packed: UserContent = [
    { type: 'text', text: 'listen' },
    { type: 'file', mediaType: 'audio/flac', name: 'a.flac', data: 'AAAA' },
  ]

  it.each(SPEAKERS)('does not keep %s from going on, and is named to it', async (speaker) => {
    wire.reset({ text: 'Nice.' })
    const { with: agentWith } = talk()
    await agentWith(named(wire, 'google')).executeTurn(packed).outcome
    // Whoever cannot take it is asked without it first, to be sure that it is the file.
    const check: Step[] = speaker === 'google' ? [] : [{ text: 'Yes.' }]
    wire.script = [...check, { calls: [call('a', 'clock')] }, { text: 'Noon.' }]
    const outcome = await agentWith(named(wire, speaker)).executeTurn('and the time?').outcome
    expect([outcome.reason, outcome.text]).toEqual(['stop', 'Noon.'])
    const shown =
      speaker === 'google'
        ? 'inlineData'
        : '[Here was the file \\"a.flac\\" (audio/flac). It could not be read.]'
    expect(lastBody()).toContain(shown)
  })

  it('is refused by who cannot take it, and then does not stand in the way', async () => {
    wire.reset({ text: 'Yes.' }, { text: 'Noon.' })
    const agent = talk().with(named(wire, 'anthropic'))
    const refused = await agent.executeTurn(packed).outcome
    expect([refused.reason, refused.error?.['kind'], refused.error?.message]).toEqual([
      'failed',
      'file-refused',
      expect.stringContaining("'media type: audio/flac' functionality not supported."),
    ])
    expect((await agent.executeTurn('never mind. The time?').outcome).text).toBe('Noon.')
  })
})

/** Ways to say that Claude should think. */
const THINKING: readonly (readonly [string, ModelOptions])[] = [
  [
    'with a budget',
    { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } } },
  ],
  ['by the general setting', { reasoning: 'high' }],
]

describe.each(THINKING)('anthropic that thinks, %s', (_, settings) => {
  const thinking = () => named(wire, 'anthropic', settings)
  const thinks = () => wire.asked.map(({ body }) => JSON.stringify((body as { thinking?: object }).thinking))

  it('thinks through a turn of its own, and in the next', async () => {
    wire.reset(
      { thought: 'hm', calls: [call('a', 'clock')] },
      { calls: [call('b', 'clock')] },
      { text: 'Noon.' },
      { thought: 'hm', text: 'Yes.' },
    )
    const agent = talk().with(thinking())
    expect((await agent.executeTurn('the time?').outcome).text).toBe('Noon.')
    expect((await agent.executeTurn('sure?').outcome).text).toBe('Yes.')
    expect(thinks().filter((one) => one?.includes('enabled'))).toHaveLength(4)
  })

  it.each(SPEAKERS)('takes over a turn of %s without thinking, and thinks in the next', async (from) => {
    wire.reset(
      { thought: 'a deep thought', calls: [call('a', 'clock')] },
      { refuse: { status: 400, message: 'down' } },
      { calls: [call('b', 'clock')] },
      { refuse: { status: 400, message: 'down' } },
      { text: 'Noon.' },
      { thought: 'hm', calls: [call('c', 'clock')] },
      { text: 'Still noon.' },
    )
    const { with: agentWith } = talk()
    const both = agentWith([from === 'anthropic' ? other() : named(wire, from), thinking()])
    expect((await both.executeTurn('the time?').outcome).text).toBe('Noon.')
    expect((await agentWith(thinking()).executeTurn('and now?').outcome).text).toBe('Still noon.')
    expect(
      thinks()
        .slice(-2)
        .filter((one) => one?.includes('enabled')),
    ).toHaveLength(2)
  })

  /** Another model of the same vendor, whose thoughts are not Claude Sonnet's. */
  const other = () => ({
    ...(named(wire, 'anthropic') as { settings: ModelOptions }),
    model: 'anthropic/claude-3-5-haiku',
  })
})

describe('a journal that has been with everybody', () => {
  it('can be gone on with by everybody', async () => {
    const { with: agentWith } = talk()
    for (const [at, speaker] of [...SPEAKERS, ...SPEAKERS].entries()) {
      wire.reset(
        { thought: `thought ${at}`, calls: [call('same', 'clock'), call('same', 'nope')] },
        { text: `Noon ${at}.` },
      )
      const outcome = await agentWith(named(wire, speaker)).executeTurn(`the time, for the ${at}th time?`)
        .outcome
      expect([speaker, outcome.reason, outcome.text, wire.problems]).toEqual([
        speaker,
        'stop',
        `Noon ${at}.`,
        [],
      ])
    }
    wire.reset()
  })

  it.each(SPEAKERS)('is legal for %s however little of it is shown', async (speaker) => {
    const { with: agentWith } = talk()
    wire.reset(...ODD, ...ODD)
    for (const asked of ['one', 'two']) await agentWith(named(wire, 'compatible')).executeTurn(asked).outcome
    for (let maxMessages = 1; maxMessages <= 9; maxMessages++) {
      wire.reset({ calls: [call('a', 'clock')] }, { calls: [call('b', 'clock')] }, { text: 'Noon.' })
      const agent = agentWith(named(wire, speaker), { maxMessages })
      const outcome = await agent.executeTurn('the time?').outcome
      expect([maxMessages, outcome.text, wire.problems]).toEqual([maxMessages, 'Noon.', []])
    }
  })

  it.each(SPEAKERS)('is legal for %s also in a turn that began with an answer', async (speaker) => {
    for (let maxMessages = 1; maxMessages <= 6; maxMessages++) {
      wire.reset(
        { calls: [call('a', 'door')] },
        ...[1, 2, 3].map((at) => ({ thought: `thought ${at}`, calls: [call('b', 'clock')] })),
        { text: 'Noon.' },
      )
      const agent = talk({ maxMessages, tools: [...TOOLS, door] }).with(named(wire, speaker))
      const { requests } = await agent.executeTurn('open, and tell the time').outcome
      const outcome = await agent.answer({ [requests[0]?.requestId ?? '']: true }).outcome
      expect([maxMessages, outcome.text, wire.problems]).toEqual([maxMessages, 'Noon.', []])
    }
  })
})
