/** Grants: an approval beyond one call, for one person, in the journals, listed and revoked; and previews of calls. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { Agent, agentTool, listGrants, revokeGrants } from '../../src/agent/index.ts'
import type { PluginParts } from '../../src/hook/index.ts'
import type { Json, RequestData } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { programFile } from '../build/programs.ts'
import { type Death, eagerTimer, livenessOf, Mortal } from '../recovery/mortal.ts'
import { bench, calls, entryLines, KEY, openSqlite, probe, quiet, sqlitePath } from '../turn/kit.ts'

/** Asks for every call; a grant covers the tool. */
const asks: PluginParts = {
  name: 'asks',
  approve: ({ tool }) => ({ decision: 'ask', grants: [`${tool}: any arguments`] }),
}

const idOf = ({ requests }: { readonly requests: readonly RequestData[] }): string =>
  requests[0]?.requestId ?? ''

/** Pays once for each message. */
const paying = ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) =>
  prompt.at(-1)?.role === 'tool' ? 'Done' : calls('pay')

async function approve(agent: Agent, answer: Json, message = 'Pay'): Promise<void> {
  const outcome = await agent.executeTurn(message).outcome
  await agent.answer({ [idOf(outcome)]: answer }).outcome
}

const asked = async (agent: Agent, auth = {}): Promise<boolean> =>
  (await agent.executeTurn('Pay', { auth }).outcome).requests.length > 0

describe('a grant', () => {
  it('is offered by its text, and holds for one call, for the conversation, or for all', async () => {
    const pay = probe('pay')
    const { agent, store, another } = bench({ script: paying, tools: [pay], plugins: [asks] })
    const first = await agent.executeTurn('Pay').outcome
    expect(first.requests[0]?.about).toEqual({ tool: 'pay', args: {}, grants: ['pay: any arguments'] })
    await agent.answer({ [idOf(first)]: true }).outcome
    expect(await listGrants(store, KEY)).toEqual([])
    await approve(agent, { approved: true, scope: 'session' })
    expect(await asked(agent)).toBe(false)
    const elsewhere = another({ contextId: 'other' })
    expect(await asked(elsewhere)).toBe(true)
    const [{ requestId } = { requestId: '' }] = await elsewhere.requests()
    await elsewhere.answer({ [requestId]: { approved: true, scope: 'always' } }).outcome
    expect(await asked(another({ contextId: 'third' }))).toBe(false)
    expect(await listGrants(store, KEY)).toEqual([
      { pattern: 'pay: any arguments', scope: 'session', actor: 'local', at: new Date(1000) },
      { pattern: 'pay: any arguments', scope: 'always', actor: 'local', at: new Date(1000) },
    ])
    expect(pay.ran).toHaveLength(5)
  })

  it('is an entry of the conversation, with the answer that gives it', async () => {
    const { agent } = bench({ script: paying, tools: [probe('pay')], plugins: [asks] })
    const outcome = await agent.executeTurn('Pay').outcome
    const turn = agent.answer({ [idOf(outcome)]: { approved: true, scope: 'session' } })
    expect((await entryLines(turn)).slice(1, 6)).toEqual([
      '9 claim 2',
      '10 turn.start',
      '11 grants',
      '12 request.end call_1/approval answered {"approved":true,"scope":"session"} takes 8',
      '13 tool.start call_1 pay',
    ])
  })

  it('is not given by an answer that the store refuses', async () => {
    const pay = probe('pay')
    const { agent, store, another } = bench({ script: paying, tools: [pay], plugins: [asks] })
    const outcome = await agent.executeTurn('Pay').outcome
    await agent.shutdown()
    const refusing = faultyStore(store, [
      { at: ({ key }) => key.contextId === KEY.contextId, how: 'refuse', code: 'store-failed' },
    ])
    const broken = another({ store: refusing })
    const answer = { [idOf(outcome)]: { approved: true, scope: 'always' } }
    expect(await broken.answer(answer).outcome).toMatchObject({ reason: 'failed' })
    expect((await store.read(KEY)).some(({ type }) => type === 'answer')).toBe(false)
    expect(await listGrants(store, KEY)).toEqual([])
    expect(await asked(another({ contextId: 'other' }))).toBe(true)
    await another().answer(answer).outcome
    expect(await asked(another({ contextId: 'third' }))).toBe(false)
    expect(pay.ran).toHaveLength(2)
  })

  it('means nothing to another person of the conversation, another actor, or another tenant', async () => {
    const { agent, another } = bench({
      script: paying,
      tools: [probe('pay')],
      plugins: [asks],
      allow: () => true,
      owner: { tenant: 'acme', actor: 'ann' },
    })
    await approve(agent, { approved: true, scope: 'session' })
    await approve(another({ contextId: 'b' }), { approved: true, scope: 'always' })
    expect(await asked(agent)).toBe(false)
    expect(await asked(another({ contextId: 'c' }))).toBe(false)
    for (const owner of [
      { tenant: 'acme', actor: 'bob' },
      { tenant: 'other', actor: 'ann' },
    ])
      expect(await asked(another({ owner, contextId: 'd' }))).toBe(true)
    expect(await asked(agent, { tenant: 'acme', actor: 'bob' })).toBe(true)
  })

  it('ends when it is revoked, and with a clear', async () => {
    const { agent, store, another } = bench({ script: paying, tools: [probe('pay')], plugins: [asks] })
    await approve(agent, { approved: true, scope: 'session' })
    await approve(another({ contextId: 'b' }), { approved: true, scope: 'always' })
    expect(await revokeGrants(store, KEY, 'something else')).toBe(0)
    expect(await revokeGrants(store, KEY, 'pay: any arguments')).toBe(2)
    expect(await listGrants(store, KEY)).toEqual([])
    expect(await asked(agent)).toBe(true)
    await agent.answer({ [idOf({ requests: await agent.requests() })]: { approved: true, scope: 'session' } })
      .outcome
    expect(await asked(agent)).toBe(false)
    await agent.clear()
    expect(await asked(agent)).toBe(true)
    expect(await revokeGrants(store, { ...KEY, contextId: 'none' })).toBe(0)
  })

  it('survives the process on a file, for its person only', async () => {
    const path = sqlitePath()
    const store = openSqlite(path)
    const { agent } = bench({
      store,
      realTime: true,
      script: paying,
      tools: [probe('pay')],
      plugins: [asks],
    })
    await approve(agent, { approved: true, scope: 'always' })
    await agent.shutdown()
    await store.close()
    const child = programFile('test/plugin/grants-child.ts')
    const { stdout, stderr } = spawnSync(process.execPath, [child, path], { encoding: 'utf8' })
    expect([stderr, JSON.parse(stdout)]).toEqual([
      '',
      { same: [], actor: ['approval'], tenant: ['approval'] },
    ])
  })

  it('given to a question of an agent below holds for the next agent below', async () => {
    const pay = probe('pay')
    const below = agentTool({
      name: 'below',
      description: 'works',
      agent: { model: new ScriptedModel(paying), tools: [pay] },
    })
    const { agent, store } = bench({
      script: [calls(['below', { message: 'go' }]), 'Done', calls(['below', { message: 'go' }]), 'Done'],
      tools: [below],
      plugins: [
        {
          name: 'asks',
          approve: ({ tool }) =>
            tool === 'pay' ? { decision: 'ask', grants: ['pay: all'] } : { decision: 'allow' },
        },
      ],
    })
    await approve(agent, { approved: true, scope: 'session' })
    expect(await asked(agent)).toBe(false)
    expect(pay.ran).toHaveLength(2)
    expect((await listGrants(store, KEY)).map(({ pattern }) => pattern)).toEqual(['pay: all'])
  })

  it('is not given by a program: an answer from inside a call approves one call', async () => {
    const { agent, store, another } = bench({ script: paying, tools: [probe('pay')], plugins: [asks] })
    const outcome = await agent.executeTurn('Pay').outcome
    const answers = probe('answers', async () => {
      await agent.answer({ [idOf(outcome)]: { approved: true, scope: 'always' } }).outcome
    })
    const helper = another({
      contextId: 'helper',
      model: new ScriptedModel([calls('answers'), 'Done']),
      tools: [answers],
      plugins: [],
    })
    await helper.input('Go')
    expect(await listGrants(store, KEY)).toEqual([])
    expect(await asked(agent)).toBe(true)
  })

  it('needs all patterns of all policies, and is not offered where one offers none', async () => {
    const asking = (name: string): PluginParts => ({
      name,
      approve: () => ({ decision: 'ask', grants: [`${name}: all`] }),
    })
    const [a, b] = [asking('a'), asking('b')]
    const none: PluginParts = { name: 'none', approve: () => ({ decision: 'ask' }) }
    const long: PluginParts = {
      name: 'long',
      approve: () => ({ decision: 'ask', grants: ['x'.repeat(301)] }),
    }
    const { another } = bench({ script: paying, tools: [probe('pay')] })
    const offers = async (contextId: string, plugins: readonly PluginParts[]) => {
      const outcome = await another({ contextId, plugins }).executeTurn('Pay').outcome
      return [outcome.requests.length, outcome.requests[0]?.about?.['grants']]
    }
    expect(await offers('1', [a, none])).toEqual([1, undefined])
    expect(await offers('2', [long])).toEqual([1, undefined])
    const only = another({ contextId: '3', plugins: [a] })
    await approve(only, { approved: true, scope: 'always' })
    expect(await offers('4', [a])).toEqual([0, undefined])
    expect(await offers('5', [a, b])).toEqual([1, ['b: all']])
  })
})

interface Played {
  readonly paid: number
  readonly grants: readonly string[]
  readonly asks: boolean
  readonly appends: number
}

/** A person answers; the process dies at one of its appends or effects, and another takes over. */
async function play(scope: string, death?: Death): Promise<Played> {
  const clock = new ManualClock(1000)
  const mortals: Mortal[] = []
  const store: Store = memoryStore({ clock, liveness: livenessOf(mortals) })
  let paid = 0
  const begin = (dying?: Death): [Agent, Mortal] => {
    const mortal = new Mortal(`p${mortals.length + 1}`, store, dying)
    mortals.push(mortal)
    const run = () => mortal.act('effect', () => ({ paid: ++paid }))
    const agent = new Agent({
      contextId: KEY.contextId,
      model: new ScriptedModel(paying, { timer: eagerTimer }),
      tools: [
        probe('pay', run, { verify: () => (paid > 0 ? { happened: true, output: 1 } : { happened: false }) }),
      ],
      plugins: [asks],
      ...{ store: mortal.store, clock, timer: eagerTimer, ids: mortal.ids },
    })
    return [agent, mortal]
  }
  const [first] = begin()
  const outcome = await first.executeTurn('Go').outcome
  await first.shutdown()
  const [agent, mortal] = begin(death)
  const answer = { [idOf(outcome)]: { approved: true, scope } }
  const ended = agent.answer(answer).outcome.then(() => 'ended')
  if ((await Promise.race([ended, mortal.died.then(() => 'died')])) === 'died') {
    const [other] = begin()
    await other.start()
    await other.turn?.outcome
    if ((await other.requests()).length > 0) await other.answer(answer).outcome
  }
  const grants = (await listGrants(store, KEY)).map(({ pattern }) => pattern)
  const isAsked = (await begin()[0].executeTurn('Go').outcome).requests.length > 0
  return { paid, grants, asks: isAsked, appends: mortal.counts.append }
}

describe('a crash between the answer and the run', () => {
  it.each(['session', 'always'])('leaves one grant and one run, with the scope %s', async (scope) => {
    const plain = await play(scope)
    expect(plain).toMatchObject({ paid: 2, grants: ['pay: any arguments'], asks: false })
    for (let at = 1; at <= plain.appends; at++)
      for (const when of ['before', 'after'] as const) {
        const death: Death = { of: 'append', at, when }
        const { appends: _, ...played } = await play(scope, death)
        expect([death, played]).toEqual([death, { paid: 2, grants: ['pay: any arguments'], asks: false }])
      }
  })
})

describe('a preview', () => {
  const previewed = async (
    preview: (input: { n?: number | undefined }) => string | Promise<string>,
    more = {},
  ) => {
    const pay = probe('pay', undefined, { approve: 'always', preview })
    const { agent, clock } = bench({ script: [calls(['pay', { n: 3 }]), 'Done'], tools: [pay], ...more })
    const turn = agent.executeTurn('Pay', { auth: { credentials: { token: 'hunter2-hunter2' } } })
    return { turn, clock, preview: async () => (await turn.outcome).requests[0]?.about?.['preview'] }
  }

  it('is in the request, of all calls of the round', async () => {
    const tools = ['a', 'b'].map((name) =>
      probe(name, undefined, { approve: 'always', preview: ({ n }) => `+${name} ${n}` }),
    )
    const { agent } = bench({ script: [calls(['a', { n: 1 }], ['b', { n: 2 }]), 'Done'], tools })
    const { requests } = await agent.executeTurn('Go').outcome
    expect(requests.map(({ about }) => about?.['preview'])).toEqual([{ text: '+a 1' }, { text: '+b 2' }])
  })

  it('of many calls below is left out where it does not fit, and the calls still ask', async () => {
    const pay = probe('pay', undefined, { approve: 'always', preview: () => 'é'.repeat(30_000) })
    const model = new ScriptedModel([calls('pay', 'pay', 'pay', 'pay', 'pay'), 'Below'])
    const below = agentTool({ name: 'below', description: 'works', agent: { model, tools: [pay] } })
    const { agent } = bench({ script: [calls(['below', { message: 'go' }]), 'Done'], tools: [below] })
    const { requests } = await agent.executeTurn('Go').outcome
    const error = 'The previews are too long to be shown here.'
    expect(requests.map(({ about }) => about?.['preview'])).toEqual(requests.map(() => ({ error })))
    expect(requests).toHaveLength(5)
  })

  it('is not made for a call that does not ask', async () => {
    const made: number[] = []
    const pay = probe('pay', undefined, { preview: () => String(made.push(1)) })
    const { agent } = bench({ script: [calls('pay'), 'Done'], tools: [pay] })
    await agent.input('Go')
    expect(made).toEqual([])
  })

  it('is bounded, redacted before it is cut, and a failure is shown as one', async () => {
    const long = await (await previewed(() => 'x'.repeat(29_995) + 'hunter2-hunter2')).preview()
    expect(long).toEqual({ text: `${'x'.repeat(29_995)}[reda`, cut: true })
    expect(await (await previewed(() => 'is hunter2-hunter2')).preview()).toEqual({ text: 'is [redacted]' })
    const fails = () => {
      throw new Error('no file hunter2-hunter2')
    }
    expect(await (await previewed(fails)).preview()).toEqual({
      error: 'The preview failed: no file [redacted]',
    })
    expect(await (await previewed(() => 7 as never)).preview()).toEqual({
      error: 'The preview failed: it must return a text',
    })
  })

  it('is not waited for longer than five seconds', async () => {
    const { clock, preview } = await previewed(() => new Promise(() => {}))
    await quiet()
    clock.advance(5000)
    expect(await preview()).toEqual({ error: 'The preview failed: it took longer than 5 seconds' })
  })
})
