/** An exception of a hook ends the turn as failed, names the hook once, and the conversation can continue. */
import { describe, expect, it } from 'vitest'
import type { Hooks } from '../../src/hook/index.ts'
import { HOOK_NAMES, type HookName } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, calls, gate, journal, KEY, probe, quiet, said, until } from '../turn/kit.ts'

const broken = () =>
  probe('break', () => {
    throw new Error('broken')
  })
const throwing = (name: HookName): Hooks => ({
  [name]: () => {
    throw new Error('not like this')
  },
})
const IN_A_TURN = HOOK_NAMES.filter((name) => name !== 'onAgentReady' && name !== 'beforeEachTool')

describe('a hook that throws', () => {
  it.each(IN_A_TURN)(
    'in %s ends the turn as failed, with its name, and the next turn works',
    async (name) => {
      const { agent, another, store } = bench({
        script: [calls('look', 'break'), calls('look')],
        tools: [probe('look'), broken()],
        limits: { iterations: 2 },
        on: throwing(name),
      })
      const outcome = await agent.executeTurn('Look').outcome
      expect(outcome).toMatchObject({
        reason: 'failed',
        error: { code: 'hook-failed', hook: name, message: `The hook ${name} failed: not like this` },
      })
      expect((await journal(store)).filter((line) => line.includes('turn.end'))).toHaveLength(1)
      await said(store)
      const model = new ScriptedModel(['Here again'])
      expect(await another({ on: {}, model }).input('Hello?')).toBe('Here again')
      await said(store)
    },
  )

  it('of a plugin is named with it', async () => {
    const plugins = [{ name: 'guard', on: throwing('beforeLlm') }]
    const { agent } = bench({ plugins })
    expect((await agent.executeTurn('Hi').outcome).error).toMatchObject({ hook: 'guard/beforeLlm' })
  })

  it('in onAgentReady keeps the agent from starting, and from playing; later it may work', async () => {
    const failing = { fails: true }
    const on: Hooks = {
      onAgentReady: () => {
        if (failing.fails) throw new Error('no database')
      },
    }
    const { agent, store } = bench({ script: ['Hello'], on })
    await expect(agent.start()).rejects.toMatchObject({
      code: 'hook-failed',
      details: { hook: 'onAgentReady' },
    })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({
      reason: 'failed',
      error: { code: 'hook-failed' },
    })
    expect(await journal(store)).toEqual([])
    failing.fails = false
    await agent.start()
    expect(await agent.input('Hi')).toBe('Hello')
  })

  it('throws what is no error', async () => {
    const on: Hooks = {
      beforeLlm: () => Promise.reject(undefined),
    }
    expect((await bench({ on }).agent.executeTurn('Hi').outcome).error?.message).toBe(
      'The hook beforeLlm failed: undefined',
    )
  })

  it('throws what cannot be read', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const unreadable = () => Promise.reject(proxy)
    const { agent } = bench({ on: { beforeLlm: unreadable } })
    expect((await agent.executeTurn('Hi').outcome).error).toMatchObject({
      code: 'hook-failed',
      message: 'The hook beforeLlm failed: Something was thrown that cannot be read.',
    })
    const look = probe('look')
    const other = bench({
      script: [calls('look'), 'Done'],
      tools: [look],
      on: { beforeEachTool: unreadable },
    })
    expect(await other.agent.input('Hi')).toBe('Done')
    expect(look.ran).toEqual([])
    expect(await journal(other.store)).toContain('7 tool.end call_1 rejected')
  })

  it('does not take away what others had added before, if that was said', async () => {
    const on: Hooks = { ...throwing('afterLlm'), beforeLlm: ({ add }) => add('Kept') }
    const { agent, store } = bench({ script: ['Done'], on })
    await agent.executeTurn('Hi').outcome
    expect(await said(store)).toEqual(['user "Hi"', 'user "Kept"', 'assistant "Done"'])
  })

  it('while other calls run waits for them, and settles them', async () => {
    const slow = gate()
    const on: Hooks = {
      afterEachTool: ({ result }) => {
        if (result.callId === 'call_1') throw new Error('enough')
      },
    }
    const tools = [probe('quick'), probe('slow', () => slow.promise.then(() => 'late but done'))]
    const { agent, store } = bench({ script: [calls('quick', 'slow')], tools, on })
    const turn = agent.executeTurn('Go')
    await until('the quick one ended', async () =>
      (await journal(store)).some((line) => line.includes('call_1 ok')),
    )
    await quiet()
    slow.resolve()
    expect((await turn.outcome).error).toMatchObject({ hook: 'afterEachTool' })
    expect(await said(store)).toEqual([
      'user "Go"',
      'assistant call_1:quick call_2:slow',
      'tool call_1:ok call_2:ok',
    ])
  })
})

describe('a hook that hangs', () => {
  it.each(IN_A_TURN)('in %s does not outlive a cancelled turn', async (name) => {
    const hanging = gate()
    const on = { [name]: () => (hanging.resolve(), new Promise(() => {})) } as Hooks
    const { agent, store } = bench({
      script: [calls('look', 'break'), calls('look')],
      tools: [probe('look'), broken()],
      limits: { iterations: 2 },
      on,
    })
    const turn = agent.executeTurn('Look')
    await hanging.promise
    await turn.cancel('enough')
    expect((await turn.outcome).reason).toBe('cancelled')
    await said(store)
  })

  it('is not waited for when the time of the turn is up, and the end comes all the same', async () => {
    const on: Hooks = { beforeLlm: () => new Promise(() => {}), onComplete: () => new Promise(() => {}) }
    const { agent } = bench({ realTime: true, limits: { durationMs: 30 }, graceMs: 30, on })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'limit', limit: 'durationMs' })
  })
})

describe('inside of a hook', () => {
  it('the agent itself cannot be asked, which would wait for ever', async () => {
    const on: Hooks = { beforeLlm: async () => void (await agent.input('Me too')) }
    const { agent } = bench({ on })
    expect((await agent.executeTurn('Hi').outcome).error?.message).toContain('from inside its own turn')
  })
})

describe('secrets', () => {
  it('do not get into the journal through what hooks say (R19)', async () => {
    const on: Hooks = {
      beforeLlm: ({ add, edit, credentials }) => {
        add(`The key is ${String(credentials['token'])}.`)
        edit({ system: `Use ${String(credentials['token'])}.` })
      },
    }
    const { agent, store, model } = bench({ script: ['Done'], on })
    const auth = { credentials: { token: 'sesame-4711' } }
    await agent.executeTurn('Hi', { auth }).outcome
    const stored = JSON.stringify(await store.read(KEY))
    expect([stored.includes('sesame'), JSON.stringify(model.calls).includes('sesame')]).toEqual([
      false,
      false,
    ])
    expect(stored).toContain('The key is ')
  })
})
