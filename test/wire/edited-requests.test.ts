/** Requests as hooks and people make them, which vendors would refuse, and replies that are no replies. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FILE_LIMITS } from '../../src/entry/model.ts'
import type { UserContent } from '../../src/index.ts'
import type { Hooks } from '../../src/plugin/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { journal } from '../turn/kit.ts'
import { WireServer } from './server.ts'
import { eventually, named, SPEAKERS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => wire.reset())
afterEach(() => wire.settle())

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const pictures = (from: number, count: number): UserContent =>
  Array.from({ length: count }, (_, index) => ({
    type: 'file',
    mediaType: 'image/png',
    name: `${from + index}.png`,
    data: PNG,
  }))
const lastBody = () => JSON.stringify(wire.asked.at(-1)?.body)

describe.each(SPEAKERS)('%s', (speaker) => {
  it('takes a prompt in which a hook repeats what was said, thoughts and calls included', async () => {
    wire.reset(
      { thought: 'hm', text: 'One moment.', calls: [{ id: 'a', tool: 'clock' }] },
      { thought: 'so', text: 'Noon.' },
      { text: 'Still noon.' },
    )
    const beforeLlm: Hooks['beforeLlm'] = ({ prompt: { messages }, edit }) => {
      const replies = messages.filter(({ role }) => role !== 'user')
      if (messages.length > 2) edit({ messages: [...messages, ...replies, ...messages.slice(-1)] })
    }
    const agent = talk({ on: { beforeLlm } }).with(named(wire, speaker))
    expect((await agent.executeTurn('the time?').outcome).text).toBe('Noon.')
    expect((await agent.executeTurn('and now?').outcome).text).toBe('Still noon.')
  })

  it('takes a prompt from which a hook took the tool that was to be called', async () => {
    wire.reset({ text: 'Noon.' })
    const beforeLlm: Hooks['beforeLlm'] = ({ edit }) => edit({ tools: ['weather'] })
    const model = named(wire, speaker, { toolChoice: { tool: 'clock' } })
    const { text } = await talk({ on: { beforeLlm } }).with(model).executeTurn('the time?').outcome
    expect(text).toBe('Noon.')
    expect(lastBody()).not.toContain('clock')
  })

  it('is not asked to call a tool that there is not: the turn says so', async () => {
    const { error } = await talk()
      .with(named(wire, speaker, { toolChoice: { tool: 'klock' } }))
      .executeTurn('the time?').outcome
    expect(error?.message).toBe(
      'settings.toolChoice names the tool "klock", which the agent does not have. Its tools are: weather, clock, stuck.',
    )
    expect(wire.asked).toEqual([])
  })

  it.each([
    ['at its beginning', {}],
    ['in its middle', { after: { text: 'It is' } }],
  ])('is asked again when a line of its reply is no JSON, %s', async (_, more) => {
    const raw = 'event: message_start\ndata: <html>502 Bad Gateway</html>\n\n'
    wire.reset({ raw, ...more }, { text: 'Noon.' })
    const clock = new ManualClock()
    const { store, with: agentWith } = talk({ clock, timer: clock, store: memoryStore({ clock }) })
    const turn = agentWith(named(wire, speaker)).executeTurn('the time?')
    await eventually('a retry', async () => (await journal(store)).some((line) => line.endsWith(' retry')))
    clock.advance(1000)
    expect((await turn.outcome).text).toBe('Noon.')
  })

  it('is shown the newest pictures, as many as it takes, however they came', async () => {
    wire.reset({ text: 'Nice.' }, { text: 'Nice, too.' }, { text: 'Very nice.' })
    const agent = talk().with(named(wire, speaker))
    for (const from of [0, 50, 100])
      expect((await agent.executeTurn(pictures(from, 50)).outcome).reason).toBe('stop')
    const { images = 150 } = FILE_LIMITS[speaker] ?? {}
    expect(lastBody().split(PNG)).toHaveLength(Math.min(images, 150) + 1)
    expect(lastBody().split('It is not shown any more')).toHaveLength(150 - Math.min(images, 150) + 1)
  })
})

it('a message with more pictures than a vendor takes shows the newest, and says so once', async () => {
  wire.reset({ calls: [{ id: 'a', tool: 'clock' }] }, { text: 'Nice.' })
  const turn = talk().with(named(wire, 'anthropic')).executeTurn(pictures(0, 150))
  const warnings: unknown[] = []
  for await (const event of turn) if (event.type === 'warning') warnings.push(event.data)
  expect((await turn.outcome).text).toBe('Nice.')
  expect(lastBody().split(PNG)).toHaveLength(101)
  expect(warnings).toEqual([
    {
      code: 'files-left-out',
      message:
        '50 of the files that were sent are not shown to anthropic/claude-sonnet-4-5: it takes no more at once. The newest are shown.',
    },
  ])
})
