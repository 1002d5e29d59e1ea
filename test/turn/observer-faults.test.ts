/** Thrown values, hanging observers and the parts of a request that no observer gets. */
import { expect, it } from 'vitest'
import type { Telemetry } from '../../src/loop/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { bench, calls, probe } from './kit.ts'

const UNREADABLE: readonly [string, () => unknown][] = [
  [
    'an object whose stack cannot be read',
    () => ({
      get stack() {
        throw new Error('no stack')
      },
      message: 'boom',
    }),
  ],
  [
    'a proxy that refuses everything',
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no reading')
          },
        },
      ),
  ],
]

const OBSERVER: Telemetry = { context: () => ({}) }

it.each(UNREADABLE)('a tool that throws %s has failed, also before an observer', async (_, thrown) => {
  const fail = probe('fail', () => {
    throw thrown()
  })
  const { agent } = bench({ script: [calls('fail'), 'Done'], tools: [fail], telemetry: OBSERVER })
  expect((await agent.executeTurn('Go').outcome).text).toBe('Done')
})

it.each(UNREADABLE)('a hook that throws %s has failed, also before an observer', async (_, thrown) => {
  const afterLlm = (): never => {
    throw thrown()
  }
  const { agent } = bench({ script: ['Done'], on: { afterLlm }, telemetry: OBSERVER })
  expect((await agent.executeTurn('Go').outcome).error?.['code']).toBe('hook-failed')
})

it('an observer that never completes a turn does not keep it from its limits', async () => {
  const telemetry: Telemetry = { context: () => ({ completing: () => new Promise<void>(() => {}) }) }
  const onComplete = (): void => {}
  const limits = { durationMs: 50 }
  const { agent } = bench({ script: ['Done'], on: { onComplete }, telemetry, limits, realTime: true })
  expect((await agent.executeTurn('Go').outcome).text).toBe('Done')
})

it('an observer gets no key and no password, however short', async () => {
  const seen: unknown[] = []
  const telemetry: Telemetry = {
    context: () => ({
      step: (step, work) => {
        if (step.kind === 'model') seen.push(step.request.settings)
        void work()
      },
    }),
  }
  const settings = { apiKey: 'k3y', baseURL: 'https://user:pa55@models.example/v1', temperature: 0 }
  const { agent } = bench({ model: new ScriptedModel(['Done']), settings, telemetry })
  await agent.executeTurn('Go').outcome
  expect(seen).toEqual([{ baseURL: 'https://models.example/v1', temperature: 0 }])
})
