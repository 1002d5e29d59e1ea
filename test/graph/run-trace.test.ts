/** The trace of a run, from the journal, and how it shows in Mermaid. */
import { describe, expect, test } from 'vitest'
import {
  END,
  type Graph,
  graph,
  list,
  type RunTrace,
  START,
  type ValueChannel,
  value,
} from '../../src/graph/index.ts'
import { traceRun } from '../../src/graph/run-trace.ts'
import { type ContextKey, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

const idle = () => undefined
const key = (contextId: string): ContextKey => ({ ...LOCAL_OWNER, contextId })
const contextId = 'talk'

/** In short: `node×runs`, with its state, and `from>to×times`. */
const short = ({ turn, outcome, nodes, edges }: RunTrace) => ({
  turn,
  outcome,
  nodes: nodes.map(({ node, runs, failed, open, waiting }) =>
    [
      `${node}×${runs}`,
      ...(failed ? ['failed'] : []),
      ...(waiting ? ['waiting'] : open ? ['open'] : []),
    ].join(' '),
  ),
  edges: edges.map(({ from, to, times }) =>
    `${from}>${to}×${times}`.replace(START, 'START').replace(END, 'END'),
  ),
})

/** Counts to `upTo` in circles, and asks before it ends. */
function counting(upTo: number, steps = 50): Graph<{ count: ValueChannel<number> }> {
  return graph({ state: { count: value<number>() } })
    .addNode('count', ({ count = 0 }) => ({ count: count + 1 }))
    .addNode('ask', async (_, { interrupt }) => {
      await interrupt({ kind: 'text', prompt: 'Enough?', name: 'enough' })
    })
    .addEdge(START, 'count')
    .addConditionalEdges('count', ({ count = 0 }) => (count < upTo ? 'count' : 'ask'), ['count', 'ask'])
    .addEdge('ask', END)
    .compile({ store: memoryStore(), limits: { steps } })
}

describe('the trace of a run', () => {
  test('is empty where there was no run', async () => {
    expect(await traceRun(memoryStore(), key('nobody'))).toEqual({ turn: 0, nodes: [], edges: [] })
    expect(await traceRun(memoryStore(), key('nobody'), 3)).toEqual({ turn: 3, nodes: [], edges: [] })
    const flow = counting(1)
    const text = flow.toMermaid({ trace: await flow.trace({ contextId: 'nobody' }) })
    expect(text).toContain('title: "not run yet"')
    expect(text).toContain('linkStyle 0,1,2,3 opacity:0.6')
  })

  test('continues over the turns of one run, and ends at the turn that is named', async () => {
    const flow = counting(3)
    const { requests } = await flow.invoke({}, { contextId })
    const edges = ['START>count×1', 'count>count×2', 'count>ask×1']
    const before = { turn: 1, outcome: 'input-required', nodes: ['count×3', 'ask×1 waiting'], edges }
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual(before)
    await flow.answer({ [requests[0]?.requestId ?? '']: 'yes' }, { contextId }).outcome
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'stop',
      nodes: ['count×3', 'ask×1'],
      edges: [...edges, 'ask>END×1'],
    })
    expect(short(await traceRun(flow.store, key(contextId), 1))).toEqual(before)
    await flow.invoke({ count: 2 }, { contextId })
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 3,
      outcome: 'input-required',
      nodes: ['count×1', 'ask×1 waiting'],
      edges: ['START>count×1', 'count>ask×1'],
    })
  })

  test('does not reach END where the limit on steps ended the turn', async () => {
    const flow = counting(4, 2)
    await flow.stream({}, { contextId }).outcome
    const first = { turn: 1, outcome: 'limit', nodes: ['count×2'], edges: ['START>count×1', 'count>count×1'] }
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual(first)
    await flow.stream(null, { contextId }).outcome
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'limit',
      nodes: ['count×4'],
      edges: ['START>count×1', 'count>count×3'],
    })
  })

  test('is read in pages', async () => {
    const flow = counting(700, 1000)
    await flow.invoke({}, { contextId })
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 1,
      outcome: 'input-required',
      nodes: ['count×700', 'ask×1 waiting'],
      edges: ['START>count×1', 'count>count×699', 'count>ask×1'],
    })
  })

  test('shows a failed node until it is tried again', async () => {
    let isBroken = true
    const flow = graph({ state: { done: list<string>() } })
      .addNode('works', () => ({ done: ['works'] }))
      .addNode('breaks', () => {
        if (isBroken) throw new Error('broken')
        return { done: ['breaks'] }
      })
      .addNode('last', idle)
      .addEdge(START, 'works')
      .addEdge(START, 'breaks')
      .addEdge('works', END)
      .addEdge('breaks', 'last')
      .addEdge('last', END)
      .compile({ store: memoryStore() })
    await flow.invoke({}, { contextId }).catch(() => {})
    const started = ['START>works×1', 'START>breaks×1']
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 1,
      outcome: 'failed',
      nodes: ['works×1', 'breaks×1 failed'],
      edges: started,
    })
    expect(flow.toMermaid({ trace: await flow.trace({ contextId }) })).toBe(`---
title: "turn 1: failed"
---
flowchart TD
  start(["START"]):::used
  n1["works<br/>×1"]:::used
  n2["breaks<br/>×1, failed"]:::failed
  n3["last"]:::unused
  stop(["END"]):::unused
  start --> n1
  start --> n2
  n1 --> stop
  n2 --> n3
  n3 --> stop
  classDef used stroke-width:3px
  classDef unused opacity:0.6
  classDef failed stroke-width:3px,stroke:#c62828
  classDef open stroke-width:3px,stroke-dasharray:3 4
  linkStyle 0,1 stroke-width:3px
  linkStyle 2,3,4 opacity:0.6
`)
    isBroken = false
    await flow.invoke(null, { contextId })
    expect(short(await traceRun(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'stop',
      nodes: ['works×1', 'breaks×1', 'last×1'],
      edges: [...started, 'works>last×1', 'breaks>last×1', 'last>END×1'],
    })
    const text = flow.toMermaid({ trace: await flow.trace({ contextId }) })
    expect(text).toContain('n2["breaks<br/>×1"]:::used')
    expect(text).toContain('linkStyle 0,1,2,3,4 stroke-width:3px')
    expect(text).not.toContain(':::unused')
  })

  test('has an edge from every node that a join has waited for', async () => {
    const flow = graph({ state: { done: list<string>() } })
      .addNode('short', idle)
      .addNode('long', idle)
      .addNode('longer', idle)
      .addNode('both', idle)
      .addEdge(START, 'short')
      .addEdge(START, 'long')
      .addEdge('long', 'longer')
      .addEdge(['short', 'longer'], 'both')
      .addEdge('both', END)
      .compile({ store: memoryStore() })
    await flow.invoke({}, { contextId })
    const { edges } = short(await traceRun(flow.store, key(contextId)))
    expect(edges).toEqual(
      expect.arrayContaining(['long>longer×1', 'longer>both×1', 'short>both×1', 'both>END×1']),
    )
    const text = flow.toMermaid({ trace: await flow.trace({ contextId }) })
    expect(text).toContain('all1(("all")):::used')
    expect(text).not.toMatch(/:::unused|linkStyle .* opacity/)
  })
})

describe('a trace in Mermaid', () => {
  test('a question is waiting, and the counts are in the labels', async () => {
    const flow = counting(3)
    await flow.invoke({}, { contextId })
    const text = flow.toMermaid({ trace: await flow.trace({ contextId }) })
    expect(text).toContain('title: "turn 1: input-required"')
    expect(text).toContain('n1["count<br/>×3"]:::used')
    expect(text).toContain('n2["ask<br/>×1, waiting"]:::open')
    expect(text).toContain('linkStyle 0,2,3 stroke-width:3px')
    expect(text).toContain('linkStyle 1 opacity:0.6')
  })

  test('counts of a node with several states add up', () => {
    const node = { node: 'count', runs: 7, failed: 2, open: 4, waiting: 1 }
    const text = counting(1).toMermaid({ trace: { turn: 1, nodes: [node], edges: [] } })
    expect(text).toContain('n1["count<br/>×7, 2 failed, waiting, 3 not finished"]:::failed')
    expect(text).toContain('title: "turn 1: not ended"')
  })

  test('links are numbered behind those of graphs inside', async () => {
    const inner = graph({ state: { done: list<string>() } })
      .addNode('deep', idle)
      .addEdge(START, 'deep')
      .addEdge('deep', END)
      .compile()
    const flow = graph({ state: { done: list<string>() } })
      .addNode('block', inner)
      .addNode('other', idle)
      .addEdge(START, 'block')
      .addEdge('other', END)
      .addConditionalEdges('block', () => END, ['other', END])
      .compile({ store: memoryStore() })
    await flow.invoke({}, { contextId })
    const text = flow.toMermaid({ trace: await flow.trace({ contextId }) })
    expect(text).toContain('subgraph n1["block ×1"]')
    expect(text).toContain('class n1 used')
    expect(text).toContain('linkStyle 2,5 stroke-width:3px')
    expect(text).toContain('linkStyle 3,4 opacity:0.6')
  })
})
