/** Conversations that are longer than the model takes: they go on with a summary, or say what does not fit. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../src/index.ts'
import { WireServer } from './server.ts'
import { named, SPEAKERS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => {
  wire.reset()
  wire.otherwise = { text: 'Fine.' }
})

const WORDS = 'The cat sat on the mat and looked at the moon. '
/** About a thousand tokens. */
const LONG = WORDS.repeat(90)
const summary: Partial<AgentConfig> = { autoCompact: { strategy: 'summary' } }
const lengths = () => wire.asked.map(({ body }) => JSON.stringify(body).length)

describe.each(SPEAKERS)('%s', (speaker) => {
  it('goes on with a summary in pieces when nobody knew how much it takes', async () => {
    const settings = { contextTokens: 1_000_000 }
    const agent = talk(summary).with(named(wire, speaker, settings))
    for (const text of ['one', 'two', 'three', 'four', 'five', 'six'])
      expect((await agent.executeTurn(`${text} ${LONG}`).outcome).reason).toBe('stop')
    // A model that takes less than half of what was said, and less than what a summary of it needs.
    wire.longest = 12_000
    const outcome = await agent.executeTurn('hello').outcome
    expect([outcome.reason, outcome.text, wire.problems]).toEqual(['stop', 'Fine.', []])
    wire.asked.length = 0
    expect((await agent.executeTurn('and again').outcome).text).toBe('Fine.')
    expect(wire.asked).toHaveLength(1)
  })

  it('is never sent more than it is known to take', async () => {
    const agent = talk(summary).with(named(wire, speaker, { contextTokens: 3000 }))
    for (const text of ['one', 'two', 'three', 'four', 'five', 'six']) {
      const outcome = await agent.executeTurn(`${text} ${LONG}`).outcome
      expect([text, outcome.reason, wire.problems]).toEqual([text, 'stop', []])
    }
    // At least three characters of these words are a token.
    expect(Math.max(...lengths())).toBeLessThan(3000 * 5)
  })

  it('says with numbers that even the newest message does not fit, and goes on with a shorter one', async () => {
    const agent = talk(summary).with(named(wire, speaker, { contextTokens: 2000 }))
    const { error, reason } = await agent.executeTurn(LONG.repeat(3)).outcome
    expect([reason, error?.code, error?.['kind']]).toEqual(['failed', 'prompt-too-long', 'context-length'])
    expect(error?.message).toMatch(
      /^The prompt is too long for [\w/.-]+: about \d+ tokens, and it can be sent 2000 tokens at once\. The system prompt has \d+, tools have \d+, messages \d+\./,
    )
    expect(wire.asked).toEqual([])
    expect((await agent.executeTurn('hello').outcome).text).toBe('Fine.')
    expect(wire.problems).toEqual([])
  })

  it('ends with what was refused when it takes nothing at all', async () => {
    wire.longest = 10
    const agent = talk(summary).with(named(wire, speaker, { contextTokens: 1_000_000 }))
    for (const text of [LONG, 'hello']) {
      const { error, reason } = await agent.executeTurn(text).outcome
      expect([reason, error?.['kind']]).toEqual(['failed', 'context-length'])
    }
    expect(wire.asked.length).toBeLessThan(10)
  })
})
