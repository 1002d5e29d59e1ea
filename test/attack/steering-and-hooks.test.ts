/** What is said to a turn with hooks, at any of its events, is heard once, and told to the hooks first. */
import { expect, it } from 'vitest'
import { everywhere } from '../hook/kit.ts'
import { bench, calls, probe, said } from '../turn/kit.ts'

const EVENTS = 45

it.each([true, false])('steering at any event (autoSave: %s)', async (autoSave) => {
  for (let at = 1; at <= EVENTS; at++) {
    const told: string[] = []
    const seen: string[] = []
    const { agent, store, model } = bench({
      script: ({ prompt }) => {
        const rounds = prompt.filter(({ role }) => role === 'tool').length
        return rounds < 2 ? calls('look') : 'Done'
      },
      tools: [probe('look')],
      autoSave,
      on: everywhere(told, {
        beforeLlm: ({ prompt }) => {
          seen.push(JSON.stringify(prompt.messages))
        },
      }),
    })
    const turn = agent.executeTurn('Go')
    let count = 0
    let steered: Promise<unknown> | undefined
    for await (const _ of turn)
      if (++count === at) steered = agent.executeTurn('Faster', { whileBusy: 'steer' }).outcome
    await steered
    await agent.shutdown()
    const heard = (await said(store)).filter((line) => line === 'user "Faster"')
    expect({ at, heard: heard.length }).toEqual({ at, heard: steered === undefined ? 0 : 1 })
    const asked = told.filter((line) => line.startsWith('afterUserInput'))
    expect({ at, asked: asked.length }).toEqual({ at, asked: steered === undefined ? 1 : 2 })
    // Whatever a model was shown, the hooks were shown before.
    const shown = model.calls.filter(({ prompt }) => JSON.stringify(prompt).includes('Faster')).length
    expect({ at, shown }).toEqual({ at, shown: seen.filter((text) => text.includes('Faster')).length })
  }
})
