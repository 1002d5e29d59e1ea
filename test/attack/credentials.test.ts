/** Whose credentials a tool is given, and where they turn up. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { takeOver } from '../../src/agent/operator.ts'
import { Vault } from '../../src/drive/vault.ts'
import type { Entry, Json } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { calls, gate, KEY, probe, quiet, until } from '../turn/kit.ts'

const ALICE = { actor: 'alice', credentials: { token: 'ALICE-SECRET' } }
const BOB = { actor: 'bob', credentials: { token: 'BOB-SECRET-1' } }

function spy(seen: string[]) {
  return probe('spy', (_, { principal, credentials }) => {
    seen.push(`${principal.actor}:${String(credentials['token'])}`)
    return 'ok'
  })
}

/** Asks for the spy after a message, and stops after a result. */
const script = ({ prompt }: { prompt: readonly { role: string }[] }) =>
  prompt.at(-1)?.role === 'tool' ? 'done' : calls('spy')

const LOOKING_UP = { model: new ScriptedModel(script), credentials: () => ({ token: 'LOOKED-UP' }) }

// Driver.#turnSecrets outlives a turn that somebody else ended: the next person's tools get them.
it('are not given to the next person when another agent has ended the turn that they came with', async () => {
  const [store, seen] = [memoryStore(), [] as string[]]
  const shared = { contextId: 'talk', store, tools: [spy(seen)], allow: () => true }
  const held = gate()
  const slow = new ScriptedModel(async (asked) => {
    await held.promise
    return script(asked)
  })
  const a = new Agent({ ...shared, model: slow })
  const b = new Agent({ ...shared, ...LOOKING_UP })
  const first = a.executeTurn('one', { auth: ALICE })
  await until('it was asked', () => slow.calls.length > 0)
  await takeOver(store, KEY)
  await b.start()
  await b.turn?.outcome
  held.resolve()
  await first.outcome
  await a.executeTurn('two', { auth: { actor: 'bob' } }).outcome
  expect(seen).toEqual(['alice:LOOKED-UP', 'bob:undefined'])
})

// The same after a pause, which is no trouble at all but everyday use.
it('are not given to the next person after a pause in which another agent went on', async () => {
  const [store, seen] = [memoryStore(), [] as string[]]
  const shared = { contextId: 'talk', store, tools: [spy(seen)], allow: () => true }
  const a = new Agent({ ...shared, model: new ScriptedModel(script) })
  const b = new Agent({ ...shared, ...LOOKING_UP })
  a.executeTurn('one', { auth: ALICE })
  await a.pause()
  await b.start()
  await b.turn?.outcome
  await a.resume()
  await a.executeTurn('two', { auth: { actor: 'bob' } }).outcome
  expect(seen.at(-1)).toBe('bob:undefined')
})

// Conversation.#continue entrusts what comes with `null` to whichever turn runs.
it('of somebody who joins a running turn do not become those of the turn', async () => {
  const seen: string[] = []
  const held = gate()
  const model = new ScriptedModel(async (asked) => {
    await held.promise
    return script(asked)
  })
  const agent = new Agent({ contextId: 'talk', model, tools: [spy(seen)], allow: () => true })
  const turn = agent.executeTurn('one', { auth: ALICE })
  await until('it was asked', () => model.calls.length > 0)
  agent.executeTurn(null, { auth: BOB })
  await quiet()
  held.resolve()
  await turn.outcome
  expect(seen).toEqual(['alice:ALICE-SECRET'])
})

// Driver.#followSecrets: a turn that takes a steering message runs on with the secrets of its sender.
it('of somebody who steers a running turn do not become those of the turn', async () => {
  const seen: string[] = []
  const held = gate()
  const model = new ScriptedModel([
    async () => {
      await held.promise
      return calls('spy')
    },
    calls('spy'),
    'done',
  ])
  const agent = new Agent({ contextId: 'talk', model, tools: [spy(seen)], allow: () => true })
  agent.executeTurn('one', { auth: ALICE })
  await until('it was asked', () => model.calls.length > 0)
  const steering = agent.executeTurn('two', { auth: BOB, whileBusy: 'steer' })
  await quiet()
  held.resolve()
  await steering.outcome
  expect(seen).toEqual(['alice:ALICE-SECRET', 'alice:ALICE-SECRET'])
})

// Only what tools give back is redacted; prompts, tool lists, look-ups and models throw too.
it.each([
  ['tools', { tools: ({ credentials }: never) => Promise.reject(new Error(`no ${credentials['token']}`)) }],
  [
    'the system prompt',
    { systemPrompt: ({ credentials }: never) => Promise.reject(new Error(`no ${credentials['token']}`)) },
  ],
  ['the model', { model: new ScriptedModel([{ error: { status: 400, message: 'no ALICE-SECRET' } }]) }],
])('are not stored when %s cannot be had and the error names them', async (_, config) => {
  const store = memoryStore()
  const agent = new Agent({ contextId: 'talk', store, model: new ScriptedModel(['ok']), ...config } as never)
  const outcome = await agent.executeTurn('one', { auth: { credentials: ALICE.credentials } }).outcome
  expect(outcome.status).toBe('failed')
  expect(JSON.stringify([outcome, await store.read(KEY)])).not.toContain('ALICE-SECRET')
})

// Names, media types and ids of artifacts are stored as they are.
it('are not stored in the name of an artifact', async () => {
  const store = memoryStore()
  const write = probe('write', async (_, { artifacts, credentials }) => {
    const name = String(credentials['token'])
    await artifacts.writeFile('file', 'text', { name, mediaType: name })
    return 'ok'
  })
  const agent = new Agent({
    contextId: 'talk',
    store,
    model: new ScriptedModel([calls('write'), 'ok']),
    tools: [write],
  })
  await agent.executeTurn('one', { auth: { credentials: ALICE.credentials } }).outcome
  expect(JSON.stringify(await store.read(KEY))).not.toContain('ALICE-SECRET')
})

const inOwnersTurn = (takes: readonly string[], principal: Json) =>
  [
    { type: 'turn.start', turn: 1, data: { principal, credentials: true }, takes },
    { type: 'release', turn: 1, data: { reason: 'release' } },
  ] as const

/** Alice's message waits in the inbox of a conversation that another driver owns. */
async function sentToOwner() {
  const [store, seen] = [memoryStore(), [] as string[]]
  const owned = await store.append({ key: KEY, id: 'x', since: 0, claim: { driver: 'x', leaseMs: 60_000 } })
  const shared = { contextId: 'talk', store, tools: [spy(seen)], allow: () => true }
  const agent = () => new Agent({ ...shared, model: new ScriptedModel(script) })
  const send = (to: Agent) => to.executeTurn('one', { auth: ALICE, key: 'k' })
  const a = agent()
  const turn = send(a)
  await until('it is posted', async () => (await store.inbox(KEY)).length)
  const [{ seq, data }] = (await store.inbox(KEY)) as [Entry]
  const start = inOwnersTurn(['k'], data['principal'] as Json)
  const append = () => store.append({ key: KEY, id: 'y', since: seq, epoch: owned.epoch, entries: start })
  return { store, seen, a, turn, agent, send, append }
}

it('go with the message into the turn of another driver, and are here when this one takes it over', async () => {
  const { seen, turn, append } = await sentToOwner()
  await append()
  expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'done' })
  expect(seen).toEqual(['alice:ALICE-SECRET'])
})

it('come again with a message that is sent again, to the process that takes its turn over', async () => {
  const { seen, a, agent, send, append } = await sentToOwner()
  await a.shutdown()
  await append()
  expect(await send(agent()).outcome).toMatchObject({ status: 'completed', text: 'done' })
  expect(seen).toEqual(['alice:ALICE-SECRET'])
})

it('are dropped when another driver has ended the turn that took their message, in whichever order it is read', () => {
  const principal = { tenant: 'local', actor: 'alice' }
  const secrets = { principal, credentials: ALICE.credentials, caller: {} }
  const at = (seq: number, entry: Partial<Entry>) =>
    ({ seq, at: 0, v: 1, turn: 0, data: {}, ...entry }) as Entry
  const input = at(1, { type: 'input', key: 'k' })
  const start = at(2, { type: 'turn.start', turn: 1, takes: [1], data: { principal } })
  const end = at(3, { type: 'turn.end', turn: 1 })
  const vault = new Vault()
  vault.put(['k'], secrets)
  const stale = { turn: 0 }
  for (const entry of [input, start, start]) vault.follow(entry, stale)
  expect([vault.hasUnclaimedCredentials, vault.of(1, principal)]).toEqual([false, ALICE.credentials])
  vault.follow(end, stale)
  expect(vault.of(1, principal)).toBeUndefined()

  vault.put(['k'], secrets)
  for (const entry of [input, start]) vault.follow(entry, { turn: 1 })
  expect([vault.hasUnclaimedCredentials, vault.of(1, principal)]).toEqual([false, undefined])
})
