/** A store that cannot be read while a turn looks something up: the turn stays open, and another driver goes on. */
import { expect, it } from 'vitest'
import { entity } from '../../src/grounding/index.ts'
import { HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { bench, calls, journal, probe } from './kit.ts'

/** A store whose reads fail while `fails` is set. */
function unreadable(store: Store, broken: { fails: boolean }): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if ((name === 'read' || name === 'lookup') && broken.fails)
          return Promise.reject(new HoldfastError('store-failed', { message: 'The disk is gone.' }))
        return Reflect.apply(value, target, args)
      }
    },
  })
}

it('a journal that cannot be read while a call is prepared keeps the reply, and the call runs later', async () => {
  const broken = { fails: false }
  const store = memoryStore()
  const send = probe('send', undefined, { replay: 'never' })
  const { agent, another, model } = bench({
    // The turn outgrows its window, so that its beginning is read again.
    script: [
      ...Array.from({ length: 6 }, () => calls('look')),
      () => {
        broken.fails = true
        return calls('send')
      },
      'Sent.',
    ],
    store: unreadable(store, broken),
    tools: [probe('look'), send],
    maxMessages: 4,
    realTime: true,
  })
  const failed = await agent.executeTurn('go').outcome
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'store-failed', stored: true } })
  expect((await journal(store)).slice(-2)).toEqual(['29 model.end call_7:send', '30 release trouble'])
  broken.fails = false
  const other = another({ store })
  await other.start()
  expect(await other.turn?.outcome).toMatchObject({ status: 'completed', text: 'Sent.' })
  expect((await journal(store)).slice(30, 35)).toEqual([
    '31 claim 2',
    '32 tool.start call_7 send',
    '33 tool.end call_7 ok',
    '34 model.start 8',
    '35 model.end "Sent."',
  ])
  expect(send.ran).toEqual(['call_7'])
  expect(model.calls).toHaveLength(8)
})

it('a prompt that cannot be read is no failure of the model: no fallback is asked, and the turn stays open', async () => {
  const broken = { fails: false }
  const store = memoryStore()
  const project = entity('project')
  const models = [new ScriptedModel(['One']), new ScriptedModel(['Two'])]
  const { agent, another } = bench({
    store: unreadable(store, broken),
    model: models,
    entities: [project],
    realTime: true,
  })
  await agent.start()
  await agent.select(project.select('p-7'))
  broken.fails = true
  // The label of the choice is looked up for the prompt.
  const failed = await agent.executeTurn('go').outcome
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'store-failed', stored: true } })
  expect((await journal(store)).slice(-2)).toEqual(['7 model.start 1', '8 release trouble'])
  broken.fails = false
  const other = another({ store })
  await other.start()
  expect(await other.turn?.outcome).toMatchObject({ status: 'completed', text: 'One' })
  expect((await journal(store)).slice(8)).toEqual([
    '9 claim 3',
    '10 model.start 1',
    '11 model.end "One"',
    '12 turn.end stop',
  ])
})

it('ids that cannot be looked up leave their call requested, and it is judged again', async () => {
  const broken = { fails: false }
  const store = memoryStore()
  const project = entity('project')
  const open = defineTool({
    name: 'open',
    description: 'Opens a project',
    input: jsonSchema({
      type: 'object',
      properties: { projectId: { type: 'string', ...project.id() } },
      required: ['projectId'],
    }),
    run: () => 'opened',
  })
  const { agent, another } = bench({
    script: [
      ...Array.from({ length: 8 }, (_, at) => `Reply ${at}`),
      () => {
        broken.fails = true
        return calls(['open', { projectId: 'p-8' }])
      },
      'Which one?',
    ],
    store: unreadable(store, broken),
    entities: [project],
    tools: [open],
    maxMessages: 4,
    realTime: true,
  })
  await agent.input('The project is p-7.')
  for (let turn = 0; turn < 7; turn++) await agent.input('And?')
  const failed = await agent.executeTurn('Open it').outcome
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'store-failed', stored: true } })
  broken.fails = false
  const other = another({ store })
  await other.start()
  expect(await other.turn?.outcome).toMatchObject({ status: 'completed', text: 'Which one?' })
  expect((await journal(store)).slice(-8)).toEqual([
    '53 model.start 1',
    '54 model.end call_1:open',
    '55 release trouble',
    '56 claim 10',
    '57 tool.end call_1 rejected',
    '58 model.start 2',
    '59 model.end "Which one?"',
    '60 turn.end stop',
  ])
})
