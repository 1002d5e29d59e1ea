/** The credentials of a caller are forgotten with the end of its request, however it ends (R19). */
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { Conversation } from '../../src/drive/index.ts'
import { Vault } from '../../src/drive/vault.ts'
import type { Session } from '../../src/journal/index.ts'
import type { Batch } from '../../src/loop/index.ts'
import { type ErrorCode, HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { CountingIds, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import type { Credentials } from '../../src/tool/index.ts'
import { bench, calls, gate, KEY, probe, until } from '../turn/kit.ts'
import { withMethods } from './refusing-store.ts'

const FIRST = { credentials: { token: 'TOKEN-OF-THE-FIRST' } }
const auth = { credentials: { token: 'TOKEN-OF-THE-REFUSED' } }

/** An agent whose turns call a tool once each; `seen`: the tokens that the tool got. */
function spying(store: Store = memoryStore()) {
  const seen: unknown[] = []
  const spy = probe('spy', (_, { credentials }) => {
    seen.push(credentials['token'])
    return 'ok'
  })
  const model = new ScriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'done' : calls('spy')))
  const agent = new Agent({ contextId: 'talk', store, model, tools: [spy] })
  return { agent, seen }
}

/** A store in memory that refuses every append while `code` is set. */
function breakable() {
  const inner = memoryStore()
  const state: { code?: ErrorCode | undefined } = {}
  const store = withMethods(inner, {
    append: async (request) => {
      if (state.code !== undefined)
        throw new HoldfastError(state.code, { message: 'The test refuses this append.' })
      return inner.append(request)
    },
  })
  return { store, state }
}

describe('a request that ends before its turn begins leaves no credentials to a later turn', () => {
  it('a request to continue that the store refuses', async () => {
    const { store, state } = breakable()
    const { agent, seen } = spying(store)
    await agent.executeTurn('First', { limits: { tokens: 0 } }).outcome
    state.code = 'store-failed'
    expect((await agent.executeTurn(null, { auth }).outcome).error?.code).toBe('store-failed')
    state.code = undefined
    await agent.executeTurn(null).outcome
    expect(seen).toEqual([undefined])
  })

  it.each<ErrorCode>(['store-failed', 'inbox-full', 'too-large'])(
    'a message that is refused with %s',
    async (code) => {
      const { store, state } = breakable()
      const { agent, seen } = spying(store)
      state.code = code
      expect((await agent.executeTurn('Hi', { key: 'k', auth }).outcome).error?.code).toBe(code)
      state.code = undefined
      await agent.executeTurn('Hi', { key: 'k' }).outcome
      expect(seen).toEqual([undefined])
    },
  )

  it('a message under the key of another, whichever moment of the other it meets', async () => {
    for (let ticks = 0; ticks < 40; ticks++) {
      const { agent, seen } = spying()
      const first = agent.executeTurn('Hi', { key: 'k', auth: FIRST })
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const second = agent.executeTurn('Something else', { key: 'k', auth })
      expect((await second.outcome).error?.code).toBe('key-reused')
      await first.outcome
      expect([ticks, ...seen]).toEqual([ticks, FIRST.credentials.token])
    }
  })

  it.each([null, 'Hi'])('a request whose signal was aborted before: %j', async (message) => {
    const { agent, seen } = spying()
    await agent.executeTurn('First', { limits: { tokens: 0 } }).outcome
    const { status } = await agent.executeTurn(message, { auth, signal: AbortSignal.abort() }).outcome
    expect(status).toBe('cancelled')
    await agent.executeTurn(null).outcome
    expect(seen).toEqual([undefined])
  })
})

/** A conversation that another driver owns, and a message with credentials in its inbox. */
async function sentToOwner() {
  const store = memoryStore()
  await store.append({ key: KEY, id: 'x', since: 0, claim: { driver: 'x', leaseMs: 60_000 } })
  const clock = new ManualClock(1000)
  const conversation = new Conversation({
    ...{ store, key: KEY, ids: new CountingIds(), clock, timer: clock },
    ...{ leaseMs: 30_000, heartbeatMs: 1000, autoSave: true, driver: 'y' },
    definition: { requestTtlMs: 60_000, maxClaims: 5, graceMs: 1000 },
    observed: { name: 'none', kind: 'agent' },
    run: async function* (): AsyncGenerator<Batch, boolean> {
      yield { entries: [], next: 'continue', stored: () => {}, refused: () => undefined }
      return true
    },
    onOutcome: () => {},
  })
  const input = { type: 'input', key: 'k', data: { message: 'Hi' } } as const
  const turn = conversation.ask({ auth }, { keys: ['k'], posts: () => [input] })
  await until('it is stored', async () => (await store.inbox(KEY)).length === 1)
  const { vault } = conversation.driver
  expect(vault.hasUnclaimedCredentials).toBe(true)
  return { store, clock, conversation, turn, vault }
}

describe('a message that waits in the inbox leaves its credentials to nobody', () => {
  it('when the conversation is closed here', async () => {
    const { conversation, turn, vault } = await sentToOwner()
    await conversation.stop('release')
    conversation.close(new HoldfastError('shutdown', { message: 'The test closes it.' }))
    expect((await turn.outcome).error).toMatchObject({ code: 'shutdown', stored: true })
    expect(vault.hasUnclaimedCredentials).toBe(false)
  })

  it('when the conversation is erased', async () => {
    const { store, turn, vault } = await sentToOwner()
    await store.erase(KEY)
    expect((await turn.outcome).error?.code).toBe('erased')
    expect(vault.hasUnclaimedCredentials).toBe(false)
  })
})

it('credentials that are found after their turn has ended are not those of the next turn', async () => {
  const seen: unknown[] = []
  const spy = probe('spy', (_, { credentials }) => {
    seen.push(credentials['token'])
    return 'ok'
  })
  const [first, second] = [gate<Credentials>(), gate<Credentials>()]
  const found = [first, second]
  const { agent, clock } = bench({
    script: ({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'done' : calls('spy')),
    tools: [spy],
    credentials: () => found.shift()?.promise ?? { token: 'FOUND-LATER' },
  })
  const late = agent.executeTurn('First', { limits: { durationMs: 100 } })
  await until('they are looked up', () => found.length === 1)
  clock.advance(100)
  expect(await late.outcome).toMatchObject({ limit: 'durationMs' })
  const held = agent.executeTurn('Second', { auth })
  await until('the turn runs', () => agent.turn !== undefined)
  first.resolve({ token: 'FOUND-TOO-LATE' })
  await held.outcome
  expect(seen).toEqual([auth.credentials.token])
})

it('credentials that a caller passes while others are looked up are not replaced by these', async () => {
  const principal = { tenant: 't', actor: 'a' }
  const open = { turn: 1, principal } as unknown as NonNullable<Session['open']>
  const [vault, found] = [new Vault(), gate<Credentials>()]
  const source = { find: () => found.promise, session: () => ({ turn: 1, open }) }
  const looking = vault.lookUp(principal, source)
  vault.refresh(1, { principal, credentials: { token: 'PASSED' } }, principal)
  found.resolve({ token: 'FOUND' })
  expect(await looking).toEqual({ token: 'PASSED' })
  expect(vault.of(1, principal)).toEqual({ token: 'PASSED' })
})
