/** Hooks where a turn is put down and taken up again, cancelled, or out of time (R8, R14). */
import { expect, it } from 'vitest'
import type { Hooks } from '../../src/hook/index.ts'
import { everywhere } from '../hook/kit.ts'
import { bench, calls, gate, journal, probe, promptLines, STORES, said, until } from '../turn/kit.ts'
import { slowBench } from './kit.ts'

const REFUSED = { error: { status: 400, message: 'No.' } } as const
const BUSY = { error: { status: 500, message: 'Busy.' } } as const

it('a turn whose model failed is failed, though it was paused before the hook for errors ran', async () => {
  const { agent, another, pauseMeanwhile } = slowBench(REFUSED, { on: { onError: () => {} } })
  agent.executeTurn('Hi')
  await pauseMeanwhile()
  const other = another()
  await other.start()
  expect((await other.turn?.outcome)?.reason).toBe('failed')
})

it('the hook for errors is told of a failed model call by whoever takes the turn up', async () => {
  const told: string[] = []
  const on: Hooks = { onError: ({ error }) => void told.push(error.message) }
  const { agent, clock, another, pauseMeanwhile } = slowBench(BUSY, { on })
  agent.executeTurn('Hi')
  await pauseMeanwhile()
  expect(told).toEqual([])
  clock.advance(60_000)
  const other = another()
  await other.start()
  expect((await other.turn?.outcome)?.text).toBe('Done')
  expect(told).toHaveLength(1)
})

it.each(STORES)(
  'what a call came to while a hook hung is kept when the turn is cancelled (%s)',
  async (_name, open) => {
    const hanging = gate()
    const on: Hooks = { afterEachTool: () => (hanging.resolve(), new Promise(() => {})) }
    const slow = probe('slow', (_, { signal }) => {
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve('paid')))
    })
    const { agent, store } = bench({
      script: [calls('quick', 'slow')],
      tools: [probe('quick'), slow],
      on,
      store: open(),
    })
    const turn = agent.executeTurn('Go')
    await hanging.promise
    await turn.cancel('enough')
    expect((await turn.outcome).reason).toBe('cancelled')
    expect((await said(store)).at(-1)).toBe('tool call_1:ok call_2:ok')
  },
)

it('the hook for limits runs in the process that takes up a turn whose time is over', async () => {
  const told: string[] = []
  const config = { on: everywhere(told), limits: { durationMs: 1000 } }
  const { agent, clock, another, pauseMeanwhile } = slowBench(BUSY, config)
  agent.executeTurn('Hi')
  await pauseMeanwhile()
  told.length = 0
  clock.advance(2000)
  const other = another()
  await other.start()
  expect(await other.turn?.outcome).toMatchObject({ reason: 'limit', limit: 'durationMs' })
  expect(told).toContain('onLimit durationMs')
  expect(told).toContain('onComplete limit')
})

it('a hook that keeps something from the model sees what was said while it was tried again', async () => {
  const on: Hooks = {
    beforeLlm: ({ prompt, edit }) => {
      const messages = prompt.messages.map((message) => ({
        ...message,
        content: JSON.parse(JSON.stringify(message.content).replaceAll('4711', '****')),
      }))
      edit({ messages })
    },
  }
  const { agent, clock, model, isAsked, answer } = slowBench(BUSY, { on })
  const turn = agent.executeTurn('My code is 4711')
  await isAsked()
  agent.executeTurn('4711, I said', { whileBusy: 'steer' })
  answer()
  const ticking = setInterval(() => clock.advance(60_000), 1)
  expect((await turn.outcome).text).toBe('Done')
  clearInterval(ticking)
  const shown = JSON.stringify(model.calls[1]?.prompt)
  expect(shown).toContain('****, I said')
  expect(shown).not.toContain('4711')
})

it('a hook that wants nothing changed any more is not held to what it wanted before', async () => {
  const on: Hooks = {
    beforeLlm: ({ prompt, edit }) => {
      if (JSON.stringify(prompt.messages).includes('steady')) return
      edit({ system: 'Be brief.', messages: prompt.messages.slice(-1) })
    },
  }
  const systemPrompt = 'Take your time.'
  const { agent, clock, model, isAsked, answer } = slowBench(BUSY, { systemPrompt, on })
  const turn = agent.executeTurn('Hi')
  await isAsked()
  agent.executeTurn('steady', { whileBusy: 'steer' })
  answer()
  const ticking = setInterval(() => clock.advance(60_000), 1)
  expect((await turn.outcome).text).toBe('Done')
  clearInterval(ticking)
  expect(promptLines(model, 1)[0]).toBe('system "Take your time."')
})

it('a call that ran is told of, though the hook of another has stopped the turn', async () => {
  const told: string[] = []
  const on: Hooks = {
    afterEachTool: ({ result, stop }) => {
      told.push(`${result.tool} ${result.status}`)
      if (result.tool === 'quick') stop('enough')
    },
  }
  const slow = gate()
  const tools = [probe('quick'), probe('slow', () => slow.promise.then(() => 'paid'))]
  const { agent, store } = bench({ script: [calls('quick', 'slow')], tools, on })
  const turn = agent.executeTurn('Go')
  await until('the quick one ended', async () =>
    (await journal(store)).some((line) => line.includes('call_1 ok')),
  )
  slow.resolve()
  expect((await turn.outcome).reason).toBe('stop')
  expect(told).toEqual(['quick ok', 'slow ok'])
})
