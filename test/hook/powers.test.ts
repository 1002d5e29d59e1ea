/** The actions of each hook: add a note, change the prompt or a call, end the turn; and those it does not get. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { CanAdd } from '../../src/hook/hook-context.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { HOOK_NAMES, type HookName, hookKind, NO_USAGE } from '../../src/protocol/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import {
  bench,
  calls,
  journal,
  KEY,
  messageLine,
  probe,
  promptLines,
  STORES,
  said,
  until,
} from '../turn/kit.ts'
import { everywhere } from './kit.ts'

const look = () => probe('look', ({ n = 0 }) => ({ n }))
const adding = (name: HookName, text: string): Hooks => ({ [name]: ({ add }: CanAdd) => add(text) })

describe.each(STORES)('to add a message, on %s', (_, open) => {
  const talk = async (on: Hooks) => {
    const { agent, model, store } = bench({
      store: open(),
      script: [calls('look'), 'Done'],
      tools: [look()],
      on,
    })
    await agent.executeTurn('Look').outcome
    return { lines: await said(store), model, journal: await journal(store) }
  }

  it.each([
    [
      'afterUserInput',
      ['user "Look"', 'user "Note"', 'assistant call_1:look', 'tool call_1:ok', 'assistant "Done"'],
    ],
    [
      'beforeIteration',
      [
        'user "Look"',
        'user "Note"',
        'assistant call_1:look',
        'tool call_1:ok',
        'user "Note"',
        'assistant "Done"',
      ],
    ],
    [
      'beforeLlm',
      [
        'user "Look"',
        'user "Note"',
        'assistant call_1:look',
        'tool call_1:ok',
        'user "Note"',
        'assistant "Done"',
      ],
    ],
    [
      'afterLlm',
      [
        'user "Look"',
        'assistant call_1:look',
        'tool call_1:ok',
        'user "Note"',
        'assistant "Done"',
        'user "Note"',
      ],
    ],
    [
      'beforeTools',
      ['user "Look"', 'assistant call_1:look', 'tool call_1:ok', 'user "Note"', 'assistant "Done"'],
    ],
    [
      'afterTools',
      ['user "Look"', 'assistant call_1:look', 'tool call_1:ok', 'user "Note"', 'assistant "Done"'],
    ],
    [
      'afterIteration',
      [
        'user "Look"',
        'assistant call_1:look',
        'tool call_1:ok',
        'user "Note"',
        'assistant "Done"',
        'user "Note"',
      ],
    ],
    [
      'onComplete',
      ['user "Look"', 'assistant call_1:look', 'tool call_1:ok', 'assistant "Done"', 'user "Note"'],
    ],
  ] as const)('in %s puts it where it breaks no round (R9)', async (name, expected) => {
    expect((await talk(adding(name, 'Note'))).lines).toEqual(expected)
  })

  it.each(['onAgentReady', 'beforeEachTool', 'afterEachTool', 'onError', 'onLimit'] as const)(
    'in %s there is no way to',
    async (name) => {
      const points: object[] = []
      const on = { [name]: (point: object) => void points.push(point) } as Hooks
      const tools = [
        probe('look', () => {
          throw new Error('broken')
        }),
      ]
      const { agent } = bench({
        store: open(),
        script: [calls('look')],
        tools,
        limits: { iterations: 1 },
        on,
      })
      await agent.executeTurn('Look').outcome
      expect(points.length).toBeGreaterThan(0)
      for (const point of points) expect(Object.keys(point)).not.toContain('add')
    },
  )

  it('says who did, and is seen by the model in the call that follows', async () => {
    const { model, journal: lines } = await talk(adding('beforeLlm', 'Mind the gap.'))
    expect(lines.filter((line) => line.includes('note'))).toHaveLength(2)
    expect(lines[4]).toBe('5 note beforeLlm "Mind the gap."')
    expect(promptLines(model, 0).at(-1)).toBe('user "Mind the gap."')
  })

  it.each([[''], ['   '], [undefined], [7]])('does not work with %o', async (text) => {
    const { agent } = bench({ store: open(), on: adding('beforeLlm', text as never) })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({
      reason: 'failed',
      error: { code: 'hook-failed', hook: 'beforeLlm' },
    })
  })

  it('does not work when the hook is over', async () => {
    const late: unknown[] = []
    const on: Hooks = {
      beforeLlm: ({ add }) => {
        setTimeout(() => {
          try {
            add('Late')
          } catch (error) {
            late.push((error as Error).message)
          }
        }, 1)
      },
      afterLlm: () => new Promise((resolve) => setTimeout(resolve, 10)),
    }
    const { agent, store } = bench({ store: open(), script: ['Done'], on })
    await agent.input('Hi')
    expect(late).toEqual([
      'The hook beforeLlm has returned: call this before it returns, and await its asynchronous work',
    ])
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Done"'])
  })
})

describe('to hide a tool from one model call', () => {
  const on: Hooks = {
    beforeLlm: ({ edit, iteration }) => (iteration > 0 ? undefined : edit({ tools: ['look'] })),
  }

  it('keeps a model from calling it all the same: it is answered like a tool that does not exist', async () => {
    const drop = probe('drop')
    const script = [calls('drop', 'look'), calls('drop'), 'Done']
    const { agent, store } = bench({ script, tools: [look(), drop], on })
    await agent.input('Hi')
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(ends.map(({ data }) => [data['callId'], data['status']])).toEqual([
      ['call_1', 'rejected'],
      ['call_2', 'ok'],
      ['call_3', 'ok'],
    ])
    expect(ends[0]?.data['output']).toMatchObject({ code: 'unknown-tool', tools: ['look'] })
    expect(drop.ran).toEqual(['call_3'])
  })

  it('holds for the process that takes the turn over', async () => {
    const drop = probe('drop')
    // With this hook the reply is durable before its call is prepared.
    const both = { ...on, afterLlm: () => {} }
    const { agent, another, store } = bench({
      script: [calls('drop'), 'Done'],
      tools: [look(), drop],
      on: both,
    })
    const turn = agent.executeTurn('Hi', { manual: true })
    await until('the model has replied', async () => {
      await turn.step()
      return (await store.read(KEY)).some(({ type }) => type === 'model.end')
    })
    expect((await journal(store)).at(-1)).toMatch(/model.end/)
    await agent.shutdown()
    const other = another({ on: {} })
    await other.start()
    expect((await other.turn?.outcome)?.text).toBe('Done')
    expect(drop.ran).toEqual([])
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant call_1:drop',
      'tool call_1:rejected',
      'assistant "Done"',
    ])
  })
})

describe('to edit the prompt', () => {
  it('changes what this one call is shown, and the journal keeps the difference', async () => {
    const on: Hooks = {
      beforeLlm: ({ prompt, edit, iteration }) => {
        if (iteration > 0) return
        edit({ system: `${prompt.system} Be brief.`, tools: ['look'] })
        edit({ messages: [...prompt.messages.slice(1), { role: 'user', content: 'It is Monday.' }] })
      },
    }
    const { agent, model, store } = bench({
      script: ['One', calls('look'), 'Two'],
      tools: [look(), probe('other')],
      systemPrompt: 'Be kind.',
      on,
    })
    await agent.input('First')
    await agent.input('Second')
    expect(promptLines(model, 1)).toEqual([
      'system "Be kind. Be brief."',
      'user "[What was said before is left out here.]"',
      'assistant "One"',
      'user "Second"',
      'user "It is Monday."',
    ])
    expect(model.calls[1]?.tools.map(({ name }) => name)).toEqual(['look'])
    expect(promptLines(model, 2)).toEqual([
      'system "Be kind."',
      'user "First"',
      'assistant "One"',
      'user "Second"',
      'assistant tool-call:look',
      'tool tool-result:look',
    ])
    expect(model.calls[2]?.tools.map(({ name }) => name)).toEqual(['look', 'other'])
    const phases = (await store.read(KEY)).filter(({ type, turn }) => type === 'phase' && turn === 2)
    expect(phases[0]?.data['changes']).toMatchObject({
      prompt: {
        messages: {
          of: 3,
          splices: [
            { at: 0, remove: 1, insert: [] },
            { at: 3, remove: 0, insert: [{ role: 'user', content: 'It is Monday.' }] },
          ],
        },
      },
    })
    expect((await agent.getMessages()).map(messageLine)).toContain('user "First"')
  })

  it('is seen by the hooks after it', async () => {
    const systems: string[] = []
    const plugin = (name: string) => ({
      name,
      on: {
        beforeLlm: ({ prompt, edit }) => {
          systems.push(prompt.system)
          edit({ system: `${prompt.system}${name}` })
        },
      } satisfies Hooks,
    })
    const { agent, model } = bench({
      script: ['Done'],
      systemPrompt: '-',
      plugins: [plugin('a'), plugin('b')],
    })
    await agent.input('Hi')
    expect([...systems, model.calls[0]?.prompt[0]?.content]).toEqual(['-', '-a', '-ab'])
  })

  it('cannot break a round: what is left of it is repaired (R9)', async () => {
    const on: Hooks = {
      beforeLlm: ({ prompt, edit, iteration }) => {
        if (iteration === 1) edit({ messages: prompt.messages.filter(({ role }) => role !== 'assistant') })
        if (iteration === 2) edit({ messages: prompt.messages.filter(({ role }) => role !== 'tool') })
      },
    }
    const { agent, model, store } = bench({
      script: [calls('look'), calls('look'), 'Done'],
      tools: [look()],
      on,
    })
    await agent.input('Look')
    for (const { prompt } of model.calls) {
      const parts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
      const count = (wanted: string) => parts.filter(({ type }) => type === wanted).length
      expect(count('tool-result')).toBe(count('tool-call'))
    }
    expect((await journal(store)).filter((line) => line.includes('warning'))).toEqual([
      expect.stringContaining('warning prompt-repaired'),
      expect.stringContaining('warning prompt-repaired'),
    ])
  })
})

describe('to edit a call', () => {
  it.each<[string, Hooks]>([
    [
      'afterLlm',
      { afterLlm: ({ reply, edit }) => reply.calls.forEach(({ callId }) => edit(callId, { n: 7 })) },
    ],
    [
      'beforeTools',
      { beforeTools: ({ pending, edit }) => pending.forEach(({ callId }) => edit(callId, { n: 7 })) },
    ],
  ])('works in %s', async (_, on) => {
    const tool = probe('look', ({ n = 0 }) => ({ looked: n }))
    const { agent, store } = bench({ script: [calls(['look', { n: 1 }]), 'Done'], tools: [tool], on })
    await agent.input('Look')
    const started = (await store.read(KEY)).find(({ type }) => type === 'tool.start')
    expect(started?.data['args']).toEqual({ n: 7 })
    expect(JSON.stringify(await agent.getMessages())).toContain('"looked":7')
    await said(store)
  })

  it('works in beforeEachTool, before approval asks about it', async () => {
    const on: Hooks = { beforeEachTool: ({ pending, edit }) => edit({ ...(pending.args as object), n: 2 }) }
    const pay = probe('pay', undefined, { approve: 'always' })
    const { agent } = bench({ script: [calls(['pay', { n: 900 }]), 'Done'], tools: [pay], on })
    const { requests } = await agent.executeTurn('Pay').outcome
    expect(requests).toMatchObject([{ about: { args: { n: 2 } } }])
    await agent.answer({ 'call_1/approval': true }).outcome
    expect(JSON.stringify(await agent.getMessages())).toContain('"n":2')
  })

  it('to arguments that the tool does not take is an error that the model reads', async () => {
    const on: Hooks = { beforeEachTool: ({ edit }) => edit({ n: 'many' }) }
    const tool = look()
    const { agent, store } = bench({ script: [calls('look'), 'Done'], tools: [tool], on })
    await agent.input('Look')
    expect([tool.ran, (await said(store))[2]]).toEqual([[], 'tool call_1:rejected'])
  })

  it('to null is what later hooks get, and so is a result', async () => {
    const told: unknown[] = []
    const on: Hooks = {
      beforeTools: [
        ({ edit }) => edit('call_1', null),
        ({ pending }) => void told.push(...pending.map(({ args }) => args)),
      ],
      beforeEachTool: ({ pending }) => void told.push(pending.args),
      afterEachTool: [({ edit }) => edit(null), ({ result }) => void told.push(result.output)],
      afterTools: ({ results }) => void told.push(...results.map(({ output }) => output)),
    }
    const { agent } = bench({ script: [calls(['look', { n: 1 }]), 'Done'], tools: [look()], on })
    await agent.input('Look')
    expect(told).toEqual([null, null, null, null])
  })

  it('can repair what the model wrote badly', async () => {
    const on: Hooks = {
      afterLlm: ({ reply, edit }) => reply.calls.forEach(({ callId }) => edit(callId, { n: 3 })),
    }
    const tool = look()
    const { agent } = bench({ script: [calls(['look', '{"n": oops']), 'Done'], tools: [tool], on })
    await agent.input('Look')
    expect(tool.ran).toEqual(['call_1'])
  })

  it('of which there is none fails the turn', async () => {
    const on: Hooks = { beforeTools: ({ edit }) => edit('call_9', {}) }
    const { agent, store } = bench({ script: [calls('look')], tools: [look()], on })
    expect((await agent.executeTurn('Look').outcome).error?.message).toBe(
      'The hook beforeTools failed: no call "call_9" is pending',
    )
    expect(await said(store)).toEqual(['user "Look"', 'assistant call_1:look', 'tool call_1:not-run'])
  })
})

describe('to reject a call', () => {
  it.each(['afterLlm', 'beforeTools'] as const)('in %s leaves the others', async (name) => {
    const on = {
      [name]: ({ reject, iteration }: { reject: (id: string, why: string) => void; iteration: number }) => {
        if (iteration === 1) reject('call_1', 'not today')
      },
    } as Hooks
    const tool = look()
    const { agent, store } = bench({ script: [calls('look', 'look'), 'Done'], tools: [tool], on })
    await agent.input('Look')
    expect(tool.ran).toEqual(['call_2'])
    expect((await said(store))[2]).toBe('tool call_1:rejected call_2:ok')
    expect(JSON.stringify(await agent.getMessages())).toContain('not today')
  })

  it('of all of them lets the model go on', async () => {
    const told: string[] = []
    const on: Hooks = {
      beforeTools: ({ pending, reject }) => pending.forEach(({ callId }) => reject(callId, 'no')),
      beforeEachTool: () => void told.push('beforeEachTool'),
      afterTools: ({ results }) => void told.push(...results.map(({ status }) => status)),
    }
    const { agent, store } = bench({ script: [calls('look', 'look'), 'Done'], tools: [look()], on })
    expect(await agent.input('Look')).toBe('Done')
    expect(told).toEqual(['rejected', 'rejected'])
    await said(store)
  })

  it('is to throw in beforeEachTool', async () => {
    const on: Hooks = {
      beforeEachTool: ({ pending }) => {
        if (pending.callId === 'call_1') throw new Error('only on Mondays')
      },
    }
    const tool = look()
    const { agent, store } = bench({ script: [calls('look', 'look'), 'Done'], tools: [tool], on })
    expect(await agent.input('Look')).toBe('Done')
    expect([tool.ran, (await said(store))[2]]).toEqual([['call_2'], 'tool call_1:rejected call_2:ok'])
    expect(JSON.stringify(await agent.getMessages())).toContain('Rejected: only on Mondays')
  })
})

describe('to stop closes what was opened', () => {
  const READ = ['beforeIteration 0', 'beforeLlm 0', 'afterLlm 1 "I look."']
  const ROUND = [...READ, 'beforeTools call_1 call_2']
  const END = ['afterIteration 1', 'onComplete stop']
  const NOT_RUN = ['afterEachTool call_1:not-run', 'afterEachTool call_2:not-run']
  const FAILED = [
    ...['beforeEachTool call_1', 'afterEachTool call_1:ok', 'beforeEachTool call_2', 'onError tool'],
    ...['afterEachTool call_2:error', 'afterTools call_1:ok call_2:error'],
  ]
  const cases: readonly (readonly [HookName, readonly string[]])[] = [
    ['afterUserInput', ['onComplete stop']],
    ['beforeIteration', ['beforeIteration 0', 'afterIteration 0', 'onComplete stop']],
    ['beforeLlm', ['beforeIteration 0', 'beforeLlm 0', 'afterIteration 0', 'onComplete stop']],
    ['afterLlm', [...READ, ...NOT_RUN, ...END]],
    ['beforeTools', [...ROUND, ...NOT_RUN, 'afterTools call_1:not-run call_2:not-run', ...END]],
    [
      'beforeEachTool',
      [...ROUND, 'beforeEachTool call_1', ...NOT_RUN, 'afterTools call_1:not-run call_2:not-run', ...END],
    ],
    [
      'afterEachTool',
      [
        ...[...ROUND, 'beforeEachTool call_1', 'afterEachTool call_1:ok', 'afterEachTool call_2:not-run'],
        ...['afterTools call_1:ok call_2:not-run', ...END],
      ],
    ],
    ['onError', [...ROUND, ...FAILED, ...END]],
    ['afterTools', [...ROUND, ...FAILED, ...END]],
  ]

  async function stopIn(name: HookName, without?: HookName): Promise<readonly string[]> {
    const told: string[] = []
    const stopping = { [name]: ({ stop }: { stop: (reason: string) => void }) => stop('enough') }
    const fail = probe('fail', () => {
      throw new Error('no')
    })
    const script = [{ text: 'I look.', calls: [{ tool: 'look' }, { tool: 'fail' }] }]
    const on = Object.entries(everywhere(told, stopping)).filter(([hook]) => hook !== without)
    const { agent, store } = bench({
      ...{ script, tools: [look(), fail], toolConcurrency: 1 },
      on: Object.fromEntries(on),
    })
    const { stopped } = await agent.executeTurn('Hi').outcome
    expect(stopped).toEqual({ by: name, reason: 'enough' })
    await said(store)
    return told.filter((line) => !/^(onAgentReady|afterUserInput)/.test(line))
  }

  it.each(cases)('in %s', async (name, expected) => {
    expect(await stopIn(name)).toEqual(expected)
  })

  it.each(cases)('in %s, whichever other hook there is not', async (name, expected) => {
    for (const without of HOOK_NAMES.filter((other) => other !== name)) {
      const told = expected.filter((line) => !line.startsWith(`${without} `))
      expect([without, await stopIn(name, without)]).toEqual([without, told])
    }
  })

  it('and the first who stopped is the one who did', async () => {
    const on: Hooks = { beforeLlm: ({ stop }) => stop('first'), afterIteration: ({ stop }) => stop('second') }
    const { agent } = bench({ script: [], on })
    expect((await agent.executeTurn('Hi').outcome).stopped).toEqual({ by: 'beforeLlm', reason: 'first' })
  })
})

describe('to stop', () => {
  const STOPPING = HOOK_NAMES.filter((name) => hookKind(name)?.stop)

  it.each(STOPPING)(
    'in %s ends the turn as stopped, with one outcome and a legal transcript',
    async (name) => {
      const told: string[] = []
      const on = {
        [name]: ({ stop }: { stop: (reason: string) => void }) => stop('enough'),
        onComplete: ({ outcome }: { outcome: string }) => void told.push(outcome),
      } as Hooks
      const tools = [
        look(),
        probe('fail', () => {
          throw new Error('broken')
        }),
      ]
      const { agent, model, store } = bench({ script: [calls('fail', 'look'), 'Done'], tools, on })
      const turn = agent.executeTurn('Look')
      expect((await turn.outcome).reason).toBe('stop')
      expect(told).toEqual(['stop'])
      expect(model.calls.length).toBeLessThanOrEqual(1)
      const end = (await store.read(KEY)).at(-1)
      expect(end?.data['stopped']).toEqual({ by: name, reason: 'enough' })
      await said(store)
      expect((await journal(store)).filter((line) => line.includes('turn.end'))).toHaveLength(1)
    },
  )

  it.each(['onAgentReady', 'onLimit', 'onComplete'] as const)('in %s there is no way to', async (name) => {
    const points: object[] = []
    const on = { [name]: (point: object) => void points.push(point) } as Hooks
    const { agent } = bench({ script: [calls('look')], tools: [look()], limits: { iterations: 1 }, on })
    await agent.executeTurn('Look').outcome
    expect(points.map((point) => 'stop' in point)).toEqual([false])
  })
})

describe('what a hook gets to know', () => {
  it('are the reply, the calls with what their tools do, and the results', async () => {
    const seen: unknown[] = []
    const tool = defineTool({
      name: 'count',
      description: 'Counts things.',
      input: jsonSchema({ type: 'object' }),
      run: () => 3,
    })
    const on: Hooks = {
      afterLlm: ({ reply: { text, finish, model } }) => void seen.push({ text, finish, model }),
      beforeTools: ({ pending }) => void seen.push(pending),
      beforeEachTool: ({ pending, task, principal }) => void seen.push({ pending, task, principal }),
      afterTools: ({ results }) => void seen.push(results.map(({ callId, status }) => ({ callId, status }))),
      onComplete: ({ text, usage }) => void seen.push({ text, some: usage.inputTokens > 0 }),
    }
    const { agent } = bench({
      script: [{ text: 'Hm.', ...(calls('count') as object) }, 'Three.'],
      tools: [tool],
      on,
    })
    await agent.input('How many?')
    const call = { callId: 'call_1', tool: 'count', args: {}, description: 'Counts things.' }
    const principal = { tenant: 'local', actor: 'local' }
    expect(seen).toEqual([
      { text: 'Hm.', finish: 'tool-calls', model: 'scripted/model' },
      [call],
      { pending: call, task: 'How many?', principal },
      [{ callId: 'call_1', status: 'ok' }],
      { text: 'Three.', finish: 'stop', model: 'scripted/model' },
      { text: 'Three.', some: true },
    ])
  })

  it('cannot be changed: neither usage nor output are those of the journal', async () => {
    const spend = (usage: unknown): void => {
      ;(usage as { costUsd: number }).costUsd = 100
    }
    const on: Hooks = {
      afterUserInput: ({ usage }) => expect(() => spend(usage)).toThrow(TypeError),
      afterLlm: ({ reply, usage }) => {
        for (const one of [usage, reply.usage]) expect(() => spend(one)).toThrow(TypeError)
      },
      onComplete: ({ output }) => expect(() => Object.assign(output as object, { n: 9 })).toThrow(TypeError),
    }
    const { agent } = bench({
      script: ['{"n":1}'],
      output: z.object({ n: z.number() }),
      limits: { costUsd: 50 },
      on,
    })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', output: { n: 1 } })
    expect(NO_USAGE.costUsd).toBe(0)
  })
})
