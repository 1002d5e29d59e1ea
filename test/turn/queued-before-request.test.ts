/** A message that was posted before a request neither answers nor dismisses it; both are kept. */
import { describe, expect, it } from 'vitest'
import type { HookContext } from '../../src/hook/index.ts'
import { LOCAL_OWNER, type Message } from '../../src/protocol/index.ts'
import {
  asking,
  bench,
  calls,
  gate,
  messageLine,
  type Probe,
  probe,
  promptLines,
  STORES,
  said,
  until,
} from './kit.ts'

const WHO = { kind: 'text', name: 'who', prompt: 'Which account?' } as const
const WEATHER = 'By the way, what is the weather?'

/** Asks which account, once the test opens the gate. */
function slowAsking(): {
  readonly tool: Probe
  readonly open: () => void
  readonly metadata: readonly unknown[]
} {
  const { promise, resolve } = gate()
  const seen: unknown[] = []
  const question = asking('remove', WHO)
  const tool = probe('remove', async (input, context) => {
    seen.push(context.metadata)
    if (context.answers['who'] === undefined) await promise
    return question.run(input, context)
  })
  return { tool, open: () => resolve(), metadata: seen }
}

describe.each(STORES)('a message that was queued before a question, on %s', (_, open) => {
  it('leaves the question open, and the model reads it when the question was answered', async () => {
    const { tool, open: ask, metadata } = slowAsking()
    const script = [calls('remove'), 'Removed bob. It is sunny.']
    const { agent, store, model } = bench({ store: open(), script, tools: [tool] })
    const first = agent.executeTurn('Remove an account', { metadata: { dryRun: true } })
    await until('the tool runs', () => tool.ran.length === 1)
    const queued = agent.executeTurn(WEATHER, { metadata: { dryRun: false } })
    await until('it is posted', async () => (await store.inbox({ ...LOCAL_OWNER, contextId: 'talk' })).length)
    ask()
    const asked = await first.outcome
    const waiting = await queued.outcome
    expect([waiting.status, waiting.turn, waiting.requests]).toEqual(['input-required', 2, asked.requests])
    expect(tool.ran).toHaveLength(1)
    expect(await agent.requests()).toEqual(asked.requests)

    const answered = await agent.answer({ 'call_1/who': 'bob' }).outcome
    expect([answered.status, answered.text]).toEqual(['completed', 'Removed bob. It is sunny.'])
    expect(tool.ran).toHaveLength(2)
    expect(metadata).toEqual([{ dryRun: true }, { dryRun: true }])
    expect(await said(store)).toEqual([
      'user "Remove an account"',
      'assistant call_1:remove',
      'tool call_1:ok',
      `user "${WEATHER}"`,
      'assistant "Removed bob. It is sunny."',
    ])
    expect(promptLines(model, 1).at(-1)).toBe(`user "${WEATHER}"`)
  })

  it('is read beside a later message, which answers the question', async () => {
    const { tool, open: ask } = slowAsking()
    const { agent, store } = bench({ store: open(), script: [calls('remove'), 'Done.'], tools: [tool] })
    const first = agent.executeTurn('Remove an account')
    await until('the tool runs', () => tool.ran.length === 1)
    const queued = agent.executeTurn(WEATHER)
    await until('it is posted', async () => (await store.inbox({ ...LOCAL_OWNER, contextId: 'talk' })).length)
    ask()
    await Promise.all([first.outcome, queued.outcome])
    expect((await agent.executeTurn('bob').outcome).text).toBe('Done.')
    const [, , result] = await agent.getMessages()
    expect(result).toMatchObject({ content: [{ status: 'ok', output: { told: { who: 'bob' } } }] })
    expect((await said(store)).slice(3)).toEqual([`user "${WEATHER}"`, 'assistant "Done."'])
  })
})

/** A turn that asks for approval, with a message posted before that. */
async function queuedBeforeApproval() {
  const { promise, resolve } = gate()
  const slow = probe('slow', () => promise)
  const pay = probe('pay', () => 'paid', { approve: 'always' })
  const told: string[] = []
  const afterUserInput = async ({ turn, messages }: HookContext): Promise<void> => {
    told.push(`${turn} ${messageLine((await messages()).findLast(({ role }) => role === 'user') as Message)}`)
  }
  const all = bench({
    script: [calls('slow'), calls('pay'), 'Then.'],
    tools: [slow, pay],
    on: { afterUserInput },
  })
  const first = all.agent.executeTurn('Pay the rent')
  await until('the tool runs', () => slow.ran.length === 1)
  const queued = all.agent.executeTurn('Also note the number')
  await until(
    'it is posted',
    async () => (await all.store.inbox({ ...LOCAL_OWNER, contextId: 'talk' })).length,
  )
  resolve()
  await Promise.all([first.outcome, queued.outcome])
  return { ...all, pay, told, queued }
}

describe('a message that was queued before an approval', () => {
  it('dismisses nothing: the approval can be given, and hooks are told of the message', async () => {
    const { agent, pay, store, told, queued } = await queuedBeforeApproval()
    expect((await queued.outcome).status).toBe('input-required')
    expect((await agent.answer({ 'call_2/approval': true }).outcome).text).toBe('Then.')
    expect(pay.ran).toHaveLength(1)
    expect(told).toEqual(['1 user "Pay the rent"', '3 user "Also note the number"'])
    expect((await said(store)).slice(3)).toEqual([
      'assistant call_2:pay',
      'tool call_2:ok',
      'user "Also note the number"',
      'assistant "Then."',
    ])
  })

  it('and a message after it, which does dismiss it: the model reads both', async () => {
    const { agent, pay, store } = await queuedBeforeApproval()
    expect((await agent.executeTurn('Never mind').outcome).text).toBe('Then.')
    expect(pay.ran).toHaveLength(0)
    expect((await said(store)).slice(4)).toEqual([
      'tool call_2:not-run',
      'user "Also note the number"',
      'user "Never mind"',
      'assistant "Then."',
    ])
  })

  it('and a cancel, which ends the approval: the message stays for the next turn', async () => {
    const { agent, pay, store } = await queuedBeforeApproval()
    await agent.cancel()
    expect(await agent.requests()).toEqual([])
    expect((await agent.executeTurn(null).outcome).text).toBe('Then.')
    expect(pay.ran).toHaveLength(0)
    expect((await said(store)).slice(4)).toEqual([
      'tool call_2:not-run',
      'user "Also note the number"',
      'assistant "Then."',
    ])
  })

  it('and another process, which answers: it finds both', async () => {
    const { agent, another, pay } = await queuedBeforeApproval()
    await agent.shutdown()
    const other = another()
    expect((await other.answer({ 'call_2/approval': true }).outcome).text).toBe('Then.')
    expect(pay.ran).toHaveLength(1)
  })

  it('keeps the task of the calls that waited', async () => {
    const { promise, resolve } = gate()
    const tasks: string[] = []
    const slow = probe('slow', () => promise)
    const pay = probe('pay', (_, { task }) => void tasks.push(task), { approve: 'always' })
    const { agent, store } = bench({ script: [calls('slow'), calls('pay'), 'Then.'], tools: [slow, pay] })
    const first = agent.executeTurn('Pay the rent')
    await until('the tool runs', () => slow.ran.length === 1)
    const queued = agent.executeTurn('Also note the number')
    await until('it is posted', async () => (await store.inbox({ ...LOCAL_OWNER, contextId: 'talk' })).length)
    resolve()
    await Promise.all([first.outcome, queued.outcome])
    await agent.answer({ 'call_2/approval': true }).outcome
    expect(tasks).toEqual(['Pay the rent'])
  })
})
