/** The order and number of hook runs, and their entries in the journal. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HOOK_NAMES } from '../../src/protocol/index.ts'
import type { ScriptedStep } from '../../src/testing/index.ts'
import { bench, calls, entryLines, journal, probe, STORES, said } from '../turn/kit.ts'
import { everywhere } from './kit.ts'

const look = () => probe('look')
const fail = () =>
  probe('fail', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    throw new Error('broken')
  })

describe.each(STORES)('hooks, on %s', (_, open) => {
  it('run around a turn of two rounds in this order', async () => {
    const told: string[] = []
    const script = [calls('look', 'fail'), calls('look'), 'Done']
    const { agent } = bench({ store: open(), script, tools: [look(), fail()], on: everywhere(told) })
    await agent.start()
    expect(await agent.input('Look')).toBe('Done')
    expect(told).toEqual([
      'onAgentReady',
      'afterUserInput 0',
      'beforeIteration 0',
      'beforeLlm 0',
      'afterLlm 1 ""',
      'beforeTools call_1 call_2',
      'beforeEachTool call_1',
      'beforeEachTool call_2',
      'afterEachTool call_1:ok',
      'onError tool',
      'afterEachTool call_2:error',
      'afterTools call_1:ok call_2:error',
      'afterIteration 1',
      'beforeIteration 1',
      'beforeLlm 1',
      'afterLlm 2 ""',
      'beforeTools call_3',
      'beforeEachTool call_3',
      'afterEachTool call_3:ok',
      'afterTools call_3:ok',
      'afterIteration 2',
      'beforeIteration 2',
      'beforeLlm 2',
      'afterLlm 3 "Done"',
      'afterIteration 3',
      'onComplete stop',
    ])
  })

  it('are told of nothing that is not durable, and their phases are in the journal (R8)', async () => {
    const store = open()
    const durable: number[] = []
    const on = everywhere([], {
      afterLlm: async () => durable.push((await journal(store)).length),
      afterTools: async () => durable.push((await journal(store)).length),
    })
    const { agent } = bench({ store, script: [calls('look'), 'Done'], tools: [look()], on })
    expect(await entryLines(agent.executeTurn('Look'))).toEqual([
      '1 input "Look"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 phase afterUserInput',
      '5 phase beforeIteration',
      '6 phase beforeLlm',
      '7 model.start 1',
      '8 model.end call_1:look',
      '9 phase afterLlm',
      '10 phase beforeTools',
      '11 phase beforeEachTool call_1',
      '12 tool.start call_1 look',
      '13 tool.end call_1 ok',
      '14 phase afterEachTool call_1',
      '15 phase afterTools',
      '16 phase afterIteration',
      '17 phase beforeIteration',
      '18 phase beforeLlm',
      '19 model.start 2',
      '20 model.end "Done"',
      '21 phase afterLlm',
      '22 phase afterIteration',
      '23 phase onComplete',
      '24 turn.end stop',
    ])
    expect(durable).toEqual([8, 13, 20])
  })

  it('that are not there leave no trace', async () => {
    const { agent } = bench({ store: open(), script: [calls('look'), 'Done'], tools: [look()] })
    expect((await entryLines(agent.executeTurn('Look'))).filter((line) => line.includes('phase'))).toEqual([])
  })
})

it('entries and hooks come in the order that ARCHITECTURE.md shows', async () => {
  const steps: string[] = []
  const log = (kind: string, name: string) => {
    const isMore = steps.at(-1)?.startsWith(kind) ?? false
    if (isMore && kind === 'hooks') steps.push(`${steps.pop()} ${name}`)
    else steps.push(`${kind.padEnd(9)}${name}`)
  }
  const on = Object.fromEntries(HOOK_NAMES.map((name) => [name, () => log('hooks', name)]))
  const tool = probe('look', () => log('effect', 'tool'))
  const reply = (step: ScriptedStep) => () => {
    log('effect', 'model')
    return step
  }
  const script = [reply(calls('look')), reply('Done')]
  const { agent, store } = bench({ script, tools: [tool], on })
  const append = store.append.bind(store)
  store.append = async (request) => {
    const receipt = await append(request)
    log('commit', receipt.entries.map(({ type }) => type).join(' '))
    return receipt
  }
  await agent.start()
  steps.length = 0
  await agent.input('Look')
  const guide = readFileSync('ARCHITECTURE.md', 'utf8')
  expect(steps).toEqual(/### Entries and hooks[^`]*```\n([^`]*)\n```/.exec(guide)?.[1]?.split('\n'))
})

describe('plugins', () => {
  it('run in their order before the own hooks of the agent, and what closes something in reverse', async () => {
    const told: string[] = []
    const plugin = (name: string) => ({ name, on: everywhere(told, {}, `${name} `) })
    const { agent } = bench({
      script: [calls('look'), 'Done'],
      tools: [look()],
      plugins: [plugin('a'), () => plugin('b')],
      on: everywhere(told, {}, 'own '),
    })
    await agent.input('Look')
    const order = (hook: string) =>
      told
        .filter((line) => line.includes(` ${hook}`))
        .slice(0, 3)
        .map((line) => line.split(' ')[0])
    const forward = [
      'onAgentReady',
      'afterUserInput',
      'beforeIteration',
      'beforeLlm',
      'beforeTools',
      'beforeEachTool',
    ]
    for (const hook of [...forward, 'onComplete'])
      expect([hook, order(hook)]).toEqual([hook, ['a', 'b', 'own']])
    for (const hook of ['afterLlm', 'afterEachTool', 'afterTools', 'afterIteration'])
      expect([hook, order(hook)]).toEqual([hook, ['own', 'b', 'a']])
  })

  it('bring tools and parts of the prompt', async () => {
    const { agent, model } = bench({
      script: [calls('look'), 'Done'],
      systemPrompt: 'Be kind.',
      plugins: [
        { name: 'eyes', tools: [look()], prompt: 'You can look.' },
        { name: 'quiet', prompt: ' ' },
      ],
    })
    expect(await agent.input('Look')).toBe('Done')
    expect(model.calls[0]?.prompt[0]).toEqual({ role: 'system', content: 'Be kind.\n\nYou can look.' })
    expect(model.calls[0]?.tools.map(({ name }) => name)).toEqual(['look'])
  })

  it.each([
    ['an unknown hook', { on: { beforeTool: () => {} } }, /no "beforeTool". Did you mean beforeTools\?/],
    ['a hook that is no function', { on: { beforeTools: 'log' } }, /beforeTools must be a function/],
    ['hooks that are no object', { on: [] }, /hooks as an object/],
    ['a plugin without a name', { plugins: [{ on: {} }] }, /must have a name/],
    ['a plugin that is none', { plugins: ['reflect'] }, /A plugin must be an object/],
    ['no list', { plugins: { name: 'x' } }, /must be a list of plugins/],
    ['an unknown part', { plugins: [{ name: 'x', hooks: {} }] }, /The plugin x has no "hooks"/],
    ['two of one name', { plugins: [{ name: 'x' }, { name: 'x' }] }, /Two plugins are called "x"/],
    ['a tool that is there', { tools: [look()], plugins: [{ name: 'x', tools: [look()] }] }, /look/],
  ])('are refused at once with %s', (_, config, message) => {
    expect(() => bench(config as never)).toThrow(message)
  })
})

describe('what closes a turn', () => {
  it('is told for a limit, then for the end', async () => {
    const told: string[] = []
    const script = [calls('look'), calls('look')]
    const on = everywhere(told)
    const { agent, store } = bench({ script, tools: [look()], limits: { iterations: 2 }, on })
    const { reason } = await agent.executeTurn('Look').outcome
    expect([reason, ...told.slice(-3)]).toEqual([
      'max-iterations',
      'afterIteration 2',
      'onLimit iterations',
      'onComplete max-iterations',
    ])
    await said(store)
  })

  it.each([
    ['tokens', { tokens: 1 }, [calls('look')]],
    ['toolCalls', { toolCalls: 1 }, [calls('look', 'look')]],
    ['consecutiveFailures', { consecutiveFailures: 1 }, [calls('fail'), calls('look')]],
  ])('is told of the limit %s once', async (limit, limits, script) => {
    const told: string[] = []
    const { agent, store } = bench({ script, tools: [look(), fail()], limits, on: everywhere(told) })
    expect(await agent.executeTurn('Look').outcome).toMatchObject({ reason: 'limit', limit })
    expect(told.filter((line) => line.startsWith('on')).slice(-2)).toEqual([
      `onLimit ${limit}`,
      'onComplete limit',
    ])
    const times = (name: string) => told.filter((line) => line.startsWith(name)).length
    expect([times('afterIteration'), times('afterLlm')]).toEqual([
      times('beforeIteration'),
      times('beforeLlm'),
    ])
    await said(store)
  })

  it('is not told of a turn that waits, and the next one goes on with its round', async () => {
    const told: string[] = []
    const pay = probe('pay', undefined, { approve: 'always' })
    const script = [calls('look', 'pay'), 'Done']
    const { agent, store } = bench({ script, tools: [look(), pay], on: everywhere(told) })
    await agent.executeTurn('Pay').outcome
    expect(told.splice(0).slice(-4)).toEqual([
      'beforeTools call_1 call_2',
      'beforeEachTool call_1',
      'beforeEachTool call_2',
      'afterEachTool call_1:ok',
    ])
    await agent.answer({ 'call_2/approval': true }).outcome
    expect(told).toEqual([
      'afterEachTool call_2:ok',
      'afterTools call_1:ok call_2:ok',
      'afterIteration 0',
      'beforeIteration 0',
      'beforeLlm 0',
      'afterLlm 1 "Done"',
      'afterIteration 1',
      'onComplete stop',
    ])
    await said(store)
  })

  it('is not told of a turn that was cancelled or failed', async () => {
    const told: string[] = []
    const { agent } = bench({ script: [{ error: { status: 400, message: 'No.' } }], on: everywhere(told) })
    expect((await agent.executeTurn('Hi').outcome).reason).toBe('failed')
    expect(told.slice(-2)).toEqual(['beforeLlm 0', 'onError model'])
  })
})

describe('a model call that is tried again', () => {
  it('runs the hooks before it once, and the one for errors each time', async () => {
    const told: string[] = []
    const failing = { error: { status: 500, message: 'Busy.' } }
    const { agent, clock } = bench({ script: [failing, failing, 'Done'], on: everywhere(told) })
    const turn = agent.executeTurn('Hi')
    const ticking = setInterval(() => clock.advance(60_000), 1)
    expect((await turn.outcome).text).toBe('Done')
    clearInterval(ticking)
    expect(told).toEqual([
      'onAgentReady',
      'afterUserInput 0',
      'beforeIteration 0',
      'beforeLlm 0',
      'onError model',
      'onError model',
      'afterLlm 1 "Done"',
      'afterIteration 1',
      'onComplete stop',
    ])
  })
})

describe('what is said to a running turn', () => {
  it('is told to hooks before the model hears it', async () => {
    const told: string[] = []
    const on = everywhere(told)
    const nudging = probe('look', () => {
      agent.executeTurn('Faster', { whileBusy: 'steer' })
      return 'looked'
    })
    const { agent, model } = bench({ script: [calls('look'), 'Done'], tools: [nudging], on })
    await agent.executeTurn('Look').outcome
    expect(told.filter((line) => line.startsWith('afterUserInput'))).toEqual([
      'afterUserInput 0',
      'afterUserInput 1',
    ])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('Faster')
  })
})
