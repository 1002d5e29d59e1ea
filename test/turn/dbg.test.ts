import { expect, it } from 'vitest'
import { asking, bench, calls, entryLines, gate, journal, probe, quiet, STORES, said, until } from './kit.ts'

const within = (p: Promise<unknown>, ms = 1500) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('hangs')), ms))])

it('tools throw in the middle', async () => {
  let bad = false
  const pay = probe('pay', undefined, { approve: 'always' })
  const { agent, store } = bench({ script: [calls('pay'), 'x', 'y'], tools: () => { if (bad) throw new Error('no tools'); return [pay] } })
  await agent.executeTurn('Hi').outcome
  bad = true
  const turn = agent.answer({ 'call_1/approval': true })
  console.log(await within(turn.outcome), await journal(store), agent.state)
  bad = false
  const t2 = agent.executeTurn('Hi2')
  console.log(await within(t2.outcome), (await journal(store)).slice(7))
  await said(store)
})
it('interrupt while a tool runs, with two agents', async () => {
  const slow = gate()
  const tool = probe('slow', (_, { signal }) => new Promise((resolve) => { signal.addEventListener('abort', () => resolve('half')); slow.promise.then(() => resolve('x')) }))
  const { agent, another, store } = bench({ script: [calls('slow'), 'Two'], tools: [tool], realTime: true })
  const t1 = agent.executeTurn('1')
  await until('runs', () => tool.ran.length === 1)
  const other = another()
  const t2 = other.executeTurn('2', { whileBusy: 'interrupt' })
  console.log(await within(entryLines(t1), 5000), await within(entryLines(t2), 5000))
  await said(store)
})
it('steer from another agent', async () => {
  const slow = gate()
  const tool = probe('slow', () => slow.promise)
  const { agent, another, store } = bench({ script: [calls('slow'), 'Two'], tools: [tool], realTime: true })
  const t1 = agent.executeTurn('1')
  await until('runs', () => tool.ran.length === 1)
  const other = another()
  const t2 = other.executeTurn('2', { whileBusy: 'steer' })
  await until('there', async () => (await journal(store)).length === 7)
  slow.resolve()
  console.log(await within(entryLines(t1), 5000), await within(entryLines(t2), 5000))
  const t3 = other.executeTurn('3', { whileBusy: 'reject' })
  console.log((await within(t3.outcome, 5000) as any).error)
  await said(store)
})
it('autosave false and cancel, steer, limit', async () => {
  const slow = gate()
  const tool = probe('slow', () => slow.promise)
  const { agent, store } = bench({ script: [calls('slow'), 'Two', 'Three'], tools: [tool], autoSave: false })
  const t1 = agent.executeTurn('1')
  await until('runs', () => tool.ran.length === 1)
  const t2 = agent.executeTurn('2', { whileBusy: 'steer' })
  const t3 = agent.executeTurn('3')
  await quiet()
  slow.resolve()
  console.log(await within(entryLines(t1)), await within(entryLines(t2)), await within(entryLines(t3)))
  await agent.saveState()
  console.log(await said(store), await journal(store))
})
it('erased', async () => {
  const { agent, store } = bench({ script: ['Two', 'Three'] })
  await agent.executeTurn('1').outcome
  await store.erase({ tenant: 'local', actor: 'local', contextId: 'talk' })
  console.log((await within(agent.executeTurn('2').outcome) as any).error)
})
