/** Breakpoints: where they stop, what can be done there, and that an edit is an entry. */
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { type BreakpointStop, breakpoint } from '../../src/plugin/index.ts'
import { type Json, MAX_OUTPUT_BYTES } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { type Death, eagerTimer, livenessOf, Mortal } from '../recovery/mortal.ts'
import { bench, calls, entryLines, gate, KEY, probe, quiet, until } from '../turn/kit.ts'

const told = (lines: string[], act: (stop: BreakpointStop) => unknown = () => {}) => ({
  on: async (stop: BreakpointStop) => {
    lines.push(`${stop.when} ${stop.tool} ${JSON.stringify(stop.args)}`)
    await act(stop)
  },
})

describe('a breakpoint', () => {
  it('stops before and after the chosen tools only, and shows the turn', async () => {
    const lines: string[] = []
    const seen: unknown[] = []
    const look = (stop: BreakpointStop) =>
      seen.push([stop.agent, stop.task, stop.iteration, stop.trace.at(-1)?.type, stop.result?.output])
    const { agent } = bench({
      name: 'clerk',
      script: [calls('look', ['pay', { n: 7 }]), 'Done'],
      tools: [probe('look'), probe('pay')],
      plugins: [breakpoint({ before: ['pay'], after: ['pay'], ...told(lines, look) })],
    })
    await agent.input('Pay')
    expect(lines).toEqual(['before pay {"n":7}', 'after pay {"n":7}'])
    expect(seen).toEqual([
      ['clerk', 'Pay', 1, 'llm_call', undefined],
      ['clerk', 'Pay', 1, 'tool_execution', { n: 7 }],
    ])
  })

  it('edits the arguments before, and the result that the model reads after', async () => {
    const edit = ({ when, edit: put }: BreakpointStop) =>
      put(when === 'before' ? { n: 2 } : { paid: 'nothing' })
    const pay = probe('pay', ({ n }) => ({ paid: n ?? 0 }))
    const { agent, model, store } = bench({
      script: [calls(['pay', { n: 1 }]), 'Done'],
      tools: [pay],
      plugins: [breakpoint({ before: true, after: true, ...told([], edit) })],
      on: { afterTools: ({ results }) => void outputs.push(...results.map(({ output }) => output)) },
    })
    const outputs: Json[] = []
    expect(await entryLines(agent.executeTurn('Pay'))).toEqual([
      '1 input "Pay"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '5 model.end call_1:pay',
      '6 phase beforeEachTool call_1 args',
      '7 tool.start call_1 pay',
      '8 tool.end call_1 ok',
      '9 phase afterEachTool call_1 results',
      '10 phase afterTools',
      '11 model.start 2',
      '12 model.end "Done"',
      '13 turn.end stop',
    ])
    const entries = await store.read(KEY)
    expect(entries[6]?.data['args']).toEqual({ n: 2 })
    expect(entries[7]?.data['output']).toEqual({ paid: 2 })
    expect(outputs).toEqual([{ paid: 'nothing' }])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('nothing')
    expect(JSON.stringify(await agent.getMessages())).toContain('nothing')
    expect((await agent.trace()).map(({ type }) => type)).toEqual([
      ...[
        'user_input',
        'llm_call',
        'hook_change',
        'tool_execution',
        'hook_change',
        'llm_call',
        'turn_result',
      ],
    ])
  })

  it('is read back the same by another process', async () => {
    const { agent, another } = bench({
      script: [calls('pay', 'pay'), 'Done'],
      tools: [probe('pay')],
      plugins: [breakpoint({ after: ['pay'], on: ({ callId, edit }) => edit(`edited ${callId}`) })],
    })
    await agent.input('Pay')
    await agent.shutdown()
    const messages = await another().getMessages()
    expect(messages).toEqual(await agent.getMessages())
    expect(messages[2]).toMatchObject({ content: [{ output: 'edited call_1' }, { output: 'edited call_2' }] })
  })

  it('steps to the next tool, whichever it is, and continues after that', async () => {
    const lines: string[] = []
    const { agent } = bench({
      script: [calls('one'), calls('two'), calls('three'), 'Done'],
      tools: [probe('one'), probe('two'), probe('three')],
      plugins: [
        breakpoint({ before: ['one'], ...told(lines, ({ tool, step }) => tool === 'one' && step()) }),
      ],
    })
    await agent.input('Go')
    expect(lines).toEqual(['before one {}', 'after one {}', 'before two {}'])
  })

  it('aborts the turn: nothing starts any more', async () => {
    const pay = probe('pay')
    const { agent } = bench({
      script: [calls('pay'), 'Done'],
      tools: [pay],
      plugins: [breakpoint({ before: ['pay'], on: ({ abort }) => abort('too much') })],
    })
    const outcome = await agent.executeTurn('Pay').outcome
    expect(outcome).toMatchObject({
      reason: 'stop',
      stopped: { by: 'breakpoint/beforeEachTool', reason: 'too much' },
    })
    expect(pay.ran).toEqual([])
  })

  it('refuses edits that cannot be stored, and options that are none', async () => {
    const { agent } = bench({
      script: [calls('pay'), 'Done'],
      tools: [probe('pay')],
      plugins: [breakpoint({ after: ['pay'], on: ({ edit }) => edit('x'.repeat(MAX_OUTPUT_BYTES)) })],
    })
    const { error } = await agent.executeTurn('Pay').outcome
    expect(error).toMatchObject({ code: 'hook-failed', message: expect.stringContaining('at most') })
    expect(() => breakpoint({ before: ['a'] } as never)).toThrow('on of breakpoint() must be a function')
    expect(() => breakpoint({ before: 'pay', on: () => {} } as never)).toThrow('before of breakpoint()')
    expect(() => breakpoint({ tool: 'pay', on: () => {} } as never)).toThrow('breakpoint() has no "tool"')
  })

  it('stops only its own of a hundred agents', async () => {
    const held = gate()
    const stopped: string[] = []
    const agents = Array.from({ length: 100 }, (_, i) => {
      const on = async ({ agent, edit }: BreakpointStop): Promise<void> => {
        stopped.push(agent)
        if (i === 50) await held.promise
        edit({ n: i })
      }
      const ran: (number | undefined)[] = []
      const pay = probe('pay', ({ n }) => void ran.push(n))
      const plugins = [breakpoint({ before: ['pay'], on })]
      const made = bench({
        name: `a${i}`,
        script: [calls('pay'), 'Done'],
        tools: [pay],
        plugins,
        realTime: true,
      })
      return { agent: made.agent, ran }
    })
    const turns = agents.map(({ agent }) => agent.executeTurn('Pay').outcome)
    await Promise.all(turns.filter((_, i) => i !== 50))
    expect(agents[50]?.agent.state.status).toBe('busy')
    held.resolve()
    await Promise.all(turns)
    expect(agents.map(({ ran }) => ran)).toEqual(agents.map((_, i) => [i]))
    expect(stopped.toSorted()).toEqual(agents.map((_, i) => `a${i}`).toSorted())
  })

  it('that a cancel finds waiting lets the turn end', async () => {
    const { agent, clock } = bench({
      script: [calls('pay'), 'Done'],
      tools: [probe('pay')],
      plugins: [breakpoint({ before: ['pay'], on: () => new Promise(() => {}) })],
    })
    const turn = agent.executeTurn('Pay')
    await until('it stops', async () => (await agent.trace()).some(({ type }) => type === 'llm_call'))
    await quiet()
    await turn.cancel()
    clock.advance(10_000)
    expect((await turn.outcome).reason).toBe('cancelled')
  })
})

interface Played {
  readonly paid: readonly (number | undefined)[]
  readonly read: string
  readonly appends: number
  readonly edits: number
}

async function play(death?: Death): Promise<Played> {
  const clock = new ManualClock(1000)
  const mortals: Mortal[] = []
  const store = memoryStore({ clock, liveness: livenessOf(mortals) })
  const paid: (number | undefined)[] = []
  const begin = (dying?: Death): [Agent, Mortal] => {
    const mortal = new Mortal(`p${mortals.length + 1}`, store, dying)
    mortals.push(mortal)
    const script = ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done' : calls(['pay', { n: 1 }])
    const run = ({ n }: { n?: number | undefined }) =>
      mortal.act('effect', () => {
        paid.push(n)
        return { paid: n ?? 0 }
      })
    const on = ({ when, edit }: BreakpointStop): void =>
      edit(when === 'before' ? { n: 2 } : { paid: 'edited' })
    const agent = new Agent({
      contextId: KEY.contextId,
      model: new ScriptedModel(script, { timer: eagerTimer }),
      tools: [probe('pay', run, { replay: 'safe' })],
      plugins: [breakpoint({ before: ['pay'], after: ['pay'], on })],
      ...{ store: mortal.store, clock, timer: eagerTimer, ids: mortal.ids },
    })
    return [agent, mortal]
  }
  const [agent, mortal] = begin(death)
  const ended = agent.executeTurn('Go').outcome.then(() => 'ended')
  if ((await Promise.race([ended, mortal.died.then(() => 'died')])) === 'died') {
    const [other] = begin()
    await other.start()
    await other.turn?.outcome
    if ((await store.read(KEY)).length === 0) await other.executeTurn('Go').outcome
  }
  const entries = await store.read(KEY)
  const edits = entries.filter(({ type, data }) => type === 'phase' && data['changes'] !== undefined).length
  const read = JSON.stringify((await begin()[0].getMessages())[2])
  return { paid, read, appends: mortal.counts.append, edits }
}

describe('an edit', () => {
  it('survives a death at any append and effect: no run with other arguments, no other result', async () => {
    const plain = await play()
    expect(plain.paid).toEqual([2])
    expect(plain.read).toContain('edited')
    const deaths = (['append', 'effect'] as const).flatMap((of) =>
      Array.from({ length: of === 'append' ? plain.appends : 1 }, (_, i) => i + 1).flatMap((at) =>
        (['before', 'after'] as const).map((when): Death => ({ of, at, when })),
      ),
    )
    for (const death of deaths) {
      const { paid, read, edits } = await play(death)
      expect([death, new Set(paid), edits]).toEqual([death, new Set([2]), 2])
      expect(read.replaceAll(/p\d\./g, '')).toBe(plain.read.replaceAll(/p\d\./g, ''))
    }
  })
})
