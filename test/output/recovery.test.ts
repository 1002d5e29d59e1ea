/** A turn with structured output whose process dies at any point comes to the same output in another process. */
import { expect, it } from 'vitest'
import { agentTool } from '../../src/agent/index.ts'
import type { EntryData, Json } from '../../src/protocol/index.ts'
import { jsonSchema } from '../../src/tool/index.ts'
import { deathsOf, playOut, type Result, sameText } from '../recovery/cut.ts'
import type { Process, Script } from '../recovery/world.ts'

const output = jsonSchema<{ n: number }>({
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
})

const returned = (issue: string): string =>
  `Your reply is not the required output. ${issue}. Reply again with one JSON value that fits the JSON Schema, and nothing else.`

const NO_JSON = returned('It has no JSON value')
const NO_NUMBER = returned('Instance does not have required property "n"')

const REPLIES: Script['replies'] = {
  count: [{ text: 'Let me see.', calls: [{ tool: 'pay' }] }, 'It is seven.'],
  [NO_JSON]: ['{}'],
  [NO_NUMBER]: ['{"n":7}'],
}

const pay = (process: Process) => process.tool('pay')

const PLAYS: readonly Script[] = [
  {
    name: 'the output of an agent, beside a tool and hooks',
    steps: [{ say: 'count' }],
    replies: REPLIES,
    config: (process) => ({
      tools: [pay(process)],
      output,
      on: { beforeIteration: () => {}, afterLlm: () => {}, onComplete: () => {} },
    }),
  },
  {
    name: 'the output of one turn, which others know from the journal',
    steps: [
      { once: ({ agent }) => agent.executeTurn('count', { key: 'c', output }).outcome, leaves: 'turn.end' },
    ],
    replies: REPLIES,
    config: (process) => ({ tools: [pay(process)] }),
  },
  {
    name: 'the same with an approval in between',
    steps: [
      { once: ({ agent }) => agent.executeTurn('count', { key: 'c', output }).outcome, leaves: 'turn.end' },
      { answer: () => true },
    ],
    replies: REPLIES,
    config: (process) => ({ tools: [process.tool('pay', { approve: 'always' })] }),
  },
  {
    name: 'the output of a sub-agent',
    steps: [{ say: 'ask' }],
    replies: { ask: [{ calls: [{ tool: 'helper', args: { message: 'count' } }] }, 'Seven.'] },
    config: (process) => ({
      tools: [
        agentTool({
          name: 'helper',
          description: 'Helps',
          agent: { model: process.model(REPLIES), tools: [pay(process)], output, maxClaims: 1000 },
        }),
      ],
    }),
  },
]

/** The outputs in the order of the journals, absent ones left out. */
function outputsIn({ journals }: Result): readonly Json[] {
  return Object.values(journals)
    .flat()
    .filter(({ type }) => type === 'turn.end')
    .flatMap(({ data }) => (data as EntryData['turn.end']).output ?? [])
}

it.each(PLAYS)('$name', async (play) => {
  const whole = await playOut(play, [])
  expect([whole.problems, outputsIn(whole)]).toEqual([[], [{ n: 7 }]])
  const deaths = deathsOf(whole)
  expect(deaths.length).toBeGreaterThan(10)
  const wrong: string[] = []
  for (const death of deaths) {
    const result = await playOut(play, [death])
    const isSame = sameText(result.text, whole.text) && JSON.stringify(outputsIn(result)) === '[{"n":7}]'
    const told = isSame ? [] : [`outputs ${JSON.stringify(outputsIn(result))} of:\n${result.text}`]
    wrong.push(...[...result.problems, ...told].map((problem) => `${JSON.stringify(death)}: ${problem}`))
  }
  expect(wrong).toEqual([])
})
