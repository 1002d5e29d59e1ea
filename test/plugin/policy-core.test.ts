/** Plugins that decide about calls: allow, ask and deny, before the tool's own rule, and in agents below. */
import { describe, expect, it } from 'vitest'
import { agentNode, agentTool } from '../../src/agent/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import type { PluginParts } from '../../src/hook/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import type { PolicyCall, PolicyDecision } from '../../src/tool/index.ts'
import { asking, bench, calls, entryLines, journal, probe, quiet, until } from '../turn/kit.ts'

type Decide = (call: PolicyCall) => unknown

function policy(decide: Decide, name = 'policy'): PluginParts {
  return { name, approve: decide as NonNullable<PluginParts['approve']> }
}

const always = (decision: PolicyDecision['decision'], more: Partial<PolicyDecision> = {}) =>
  policy(() => ({ decision, ...more }))

describe('a plugin with approve', () => {
  it('sees the call as the tool would get it', async () => {
    const seen: PolicyCall[] = []
    const { agent } = bench({
      script: [calls(['pay', { n: 5 }]), 'Done'],
      tools: [probe('pay')],
      plugins: [policy((call) => void seen.push(call))],
    })
    await agent.input('Pay')
    expect(seen).toMatchObject([
      { tool: 'pay', input: { n: 5 }, callId: 'call_1', contextId: 'talk', principal: { actor: 'local' } },
    ])
  })

  it('that allows a call is not followed by the question of the tool', async () => {
    const pay = probe('pay', undefined, { approve: 'always' })
    const { agent } = bench({ script: [calls('pay'), 'Done'], tools: [pay], plugins: [always('allow')] })
    expect(await agent.input('Pay')).toBe('Done')
    expect(pay.ran).toEqual(['call_1'])
  })

  it('without an opinion leaves the decision to the tool', async () => {
    const [free, dear] = [probe('free'), probe('dear', undefined, { approve: 'always' })]
    const { agent } = bench({
      script: [calls('free', 'dear'), 'Done'],
      tools: [free, dear],
      plugins: [policy(() => undefined)],
    })
    const { requests } = await agent.executeTurn('Go').outcome
    expect(requests).toMatchObject([{ requestId: 'call_2/approval', prompt: 'May "dear" be run?' }])
    expect([free.ran, dear.ran]).toEqual([['call_1'], []])
  })

  it('that asks gives its question or its reason', async () => {
    const { agent } = bench({
      script: [calls(['one', { n: 1 }], 'two'), 'Done'],
      tools: [probe('one'), probe('two')],
      plugins: [
        policy(({ tool }) =>
          tool === 'one' ? { decision: 'ask', reason: 'It is dear.' } : { decision: 'ask', prompt: 'Two?' },
        ),
      ],
    })
    const { requests } = await agent.executeTurn('Go').outcome
    expect(requests.map(({ prompt }) => prompt)).toEqual([
      'May "one" be run with {"n":1}? (It is dear.)',
      'Two?',
    ])
    expect(await agent.answer({ 'call_1/approval': true, 'call_2/approval': true }).outcome).toMatchObject({
      text: 'Done',
    })
  })

  it('that denies a call lets the model read the reason and go on', async () => {
    const pay = probe('pay')
    const { agent } = bench({
      script: [calls('pay'), 'Then not'],
      tools: [pay],
      plugins: [always('deny', { reason: 'Too late today.' })],
    })
    expect((await entryLines(agent.executeTurn('Pay'))).slice(4)).toEqual([
      '5 model.end call_1:pay',
      '6 tool.end call_1 rejected',
      '7 model.start 2',
      '8 model.end "Then not"',
      '9 turn.end stop',
    ])
    expect(pay.ran).toEqual([])
    expect(JSON.stringify((await agent.getMessages())[2])).toContain('Denied by policy: Too late today.')
  })

  it('that denies a call hard ends the turn: nothing else of the round runs', async () => {
    const [look, pay] = [probe('look'), probe('pay')]
    const { agent } = bench({
      script: [calls('look', 'pay', 'look'), 'never'],
      tools: [look, pay],
      plugins: [
        policy(({ tool }) =>
          tool === 'pay' ? { decision: 'deny', stop: true, reason: 'an attack' } : { decision: 'allow' },
        ),
      ],
    })
    const turn = agent.executeTurn('Pay')
    expect((await entryLines(turn)).slice(4)).toEqual([
      '5 model.end call_1:look call_2:pay call_3:look',
      '6 tool.end call_2 rejected',
      '7 phase approval call_2 stop',
      '8 tool.end call_1 not-run',
      '9 tool.end call_3 not-run',
      '10 turn.end stop',
    ])
    expect(await turn.outcome).toMatchObject({
      reason: 'stop',
      stopped: { by: 'policy', reason: 'an attack' },
    })
    expect([look.ran, pay.ran]).toEqual([[], []])
  })

  it.each<[string, readonly PolicyDecision['decision'][], string]>([
    ['ask over allow', ['allow', 'ask', 'allow'], 'asked'],
    ['deny over ask', ['ask', 'deny', 'allow'], 'denied'],
    ['allow if no other has an opinion', ['allow'], 'ran'],
  ])('among several: the strictest counts, %s', async (_, decisions, expected) => {
    const pay = probe('pay')
    const { agent } = bench({
      script: [calls('pay'), 'Done'],
      tools: [pay],
      plugins: decisions.map((decision, at) => policy(() => ({ decision }), `p${at}`)),
    })
    const { requests } = await agent.executeTurn('Pay').outcome
    const found = requests.length > 0 ? 'asked' : pay.ran.length > 0 ? 'ran' : 'denied'
    expect(found).toBe(expected)
  })

  it.each<[string, Decide]>([
    [
      'throws',
      () => {
        throw new Error('no disk')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no disk'))],
    ['returns true', () => true],
    ['returns a word', () => 'allow'],
    ['returns an unknown decision', () => ({ decision: 'yes' })],
    ['returns odd grants', () => ({ decision: 'allow', grants: 'all' })],
    ['returns null', () => null],
  ])('that %s asks, even for a tool that never asks', async (_, decide) => {
    const pay = probe('pay')
    const { agent, store } = bench({
      script: [calls('pay'), 'Done'],
      tools: [pay],
      plugins: [policy(decide), policy(() => ({ decision: 'allow' }), 'other')],
    })
    const { requests } = await agent.executeTurn('Pay').outcome
    expect(requests).toMatchObject([
      { prompt: 'May "pay" be run? (You are asked because the approval policy policy failed.)' },
    ])
    expect(pay.ran).toEqual([])
    expect(await journal(store)).toContain('6 warning approve-failed')
  })

  it('does not answer for a call that may have happened before, but denies it', async () => {
    const pay = probe('pay', () => new Promise(() => {}), { timeoutMs: 1000 })
    let decision: PolicyDecision = { decision: 'allow' }
    const { agent, clock } = bench({
      script: [calls('pay'), 'Hm', calls('pay'), calls('pay'), 'Done'],
      tools: [pay],
      plugins: [policy(() => decision)],
    })
    const first = agent.executeTurn('Pay')
    await until('it runs', () => pay.ran.length === 1)
    await quiet()
    clock.advance(1000)
    await quiet()
    clock.advance(5000)
    await first.outcome
    const { requests } = await agent.executeTurn('Again').outcome
    expect(requests).toMatchObject([{ prompt: expect.stringContaining('nobody knows whether it happened') }])
    decision = { decision: 'deny' }
    expect(await agent.answer({ [requests[0]?.requestId ?? '']: false }).outcome).toMatchObject({
      text: 'Done',
    })
    expect(pay.ran).toHaveLength(1)
  })

  it('holds for the calls of agents below, and both have to allow one', async () => {
    const [inner, secret] = [probe('inner'), probe('secret')]
    const model = new ScriptedModel([calls('inner', 'secret'), 'Below'])
    const below = agentTool({
      name: 'below',
      description: 'works',
      agent: { model, tools: [inner, secret], plugins: [policy(() => ({ decision: 'allow' }), 'own')] },
    })
    const seen: string[] = []
    const { agent } = bench({
      script: [calls(['below', { message: 'go' }]), 'Done'],
      tools: [below],
      plugins: [
        policy(({ tool }) => {
          seen.push(tool)
          return tool === 'secret' ? { decision: 'deny', reason: 'secret' } : { decision: 'allow' }
        }),
      ],
    })
    expect(await agent.input('Go')).toBe('Done')
    expect(seen).toEqual(['below', 'inner', 'secret'])
    expect([inner.ran.length, secret.ran.length]).toEqual([1, 0])
  })
})

describe('the policy of an agent', () => {
  it('holds for an agent in a graph that a tool runs', async () => {
    const secret = probe('secret')
    const model = new ScriptedModel([calls('secret'), 'Below'])
    const seen: string[] = []
    const { agent, store } = bench({
      script: [calls('flow'), 'Done'],
      tools: () => [
        probe('flow', async () => {
          const flow = graph({ state: { text: value<string>() } })
            .addNode('work', agentNode({ model, tools: [secret] }), {
              input: () => 'go',
              output: (text) => ({ text }),
            })
            .addEdge(START, 'work')
            .addEdge('work', END)
            .compile({ store })
          return (await flow.invoke({}, { contextId: 'flow' })).state.text ?? ''
        }),
      ],
      plugins: [
        policy(({ tool }) => {
          seen.push(tool)
          return tool === 'secret' ? { decision: 'deny' } : undefined
        }),
      ],
    })
    expect(await agent.input('Go')).toBe('Done')
    expect([seen, secret.ran]).toEqual([['flow', 'secret'], []])
  })
})

describe('a hard rejection by the person', () => {
  it('ends the turn, a soft one does not', async () => {
    const pay = probe('pay', undefined, { approve: 'always' })
    const { agent } = bench({ script: [calls('pay', 'pay'), 'Fine', calls('pay'), 'never'], tools: [pay] })
    await agent.executeTurn('Pay').outcome
    const soft = await agent.answer({
      'call_1/approval': false,
      'call_2/approval': { approved: false, stop: false },
    }).outcome
    expect(soft).toMatchObject({ text: 'Fine' })
    const { requests } = await agent.executeTurn('Again').outcome
    const id = requests[0]?.requestId ?? ''
    const turn = agent.answer({ [id]: { approved: false, stop: true, reason: 'enough' } })
    expect((await entryLines(turn)).slice(-3)).toEqual([
      `31 tool.end ${id.split('/')[0]} rejected`,
      `32 phase approval ${id.split('/')[0]} stop`,
      '33 turn.end stop',
    ])
    expect(await turn.outcome).toMatchObject({ stopped: { by: 'approval', reason: 'enough' } })
    expect(pay.ran).toEqual([])
  })

  it('of a question below ends the turn above, too', async () => {
    const model = new ScriptedModel([calls('pay'), 'never'])
    const pay = probe('pay', undefined, { approve: 'always' })
    const below = agentTool({ name: 'below', description: 'works', agent: { model, tools: [pay] } })
    const { agent } = bench({ script: [calls(['below', { message: 'go' }]), 'never'], tools: [below] })
    const { requests } = await agent.executeTurn('Go').outcome
    const outcome = await agent.answer({ [requests[0]?.requestId ?? '']: { approved: false, stop: true } })
      .outcome
    expect(outcome).toMatchObject({ reason: 'stop', stopped: { by: 'approval' } })
    expect(pay.ran).toEqual([])
  })

  it('is none in an answer of another kind', async () => {
    const { agent } = bench({
      script: [calls('sure'), 'Done'],
      tools: [asking('sure', { kind: 'data', prompt: 'What?' })],
    })
    const { requests } = await agent.executeTurn('Go').outcome
    const answer = { [requests[0]?.requestId ?? '']: { approved: false, stop: true } }
    expect(await agent.answer(answer).outcome).toMatchObject({ text: 'Done' })
  })

  it('is refused for an approval, and so are scopes that nothing offers', async () => {
    const { agent } = bench({
      script: [calls('pay', 'sure'), 'Done'],
      tools: [
        probe('pay', undefined, { approve: 'always' }),
        asking('sure', { kind: 'confirmation', prompt: 'Sure?', about: { grants: ['everything'] } }),
      ],
    })
    const { requests } = await agent.executeTurn('Go').outcome
    expect(requests[1]?.about).toEqual({})
    const wrong = async (answer: Record<string, unknown>, id = 'call_1/approval') =>
      (await agent.answer({ [id]: answer as never }).outcome).error?.message
    expect(await wrong({ approved: true, stop: true })).toContain('Only a rejection stops the turn')
    expect(await wrong({ approved: true, scope: 'always' })).toContain('offers no grant')
    expect(await wrong({ approved: true, scope: 'always' }, 'call_2/answer')).toContain('offers no grant')
    expect(await wrong({ approved: false, scope: 'session' })).toContain('Only an approval has a scope')
    expect(await wrong({ approved: true, scope: 'forever' })).toContain('once, session, always')
    expect(await wrong({ approved: false, stop: 'yes' })).toContain('A confirmation is true, false')
    expect(await wrong({ approved: true, scope: 'once' })).toBe(undefined)
  })
})
