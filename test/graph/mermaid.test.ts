/** The complete Mermaid text of graphs that use every feature. */
import { expect, test } from 'vitest'
import { END, graph, START, value } from '../../src/graph/index.ts'

const state = { text: value<string>() }
const idle = () => undefined

test('edges are arrows, answers are written at dotted ones', () => {
  const flow = graph({ state })
    .addNode('planner', idle)
    .addNode('agent', idle)
    .addNode('tools', idle)
    .addNode('verifier', idle)
    .addNode('replan', idle)
    .addEdge(START, 'planner')
    .addEdge('planner', 'agent')
    .addEdge('replan', 'agent')
    .addConditionalEdges('agent', () => 'tools' as const, ['tools', 'agent'])
    .addConditionalEdges('tools', (): 'more' | 'done' => 'more', { more: 'agent', done: 'verifier' })
    .addConditionalEdges('verifier', (): 'good' | 'fine' | 'bad' => 'good', {
      good: END,
      fine: END,
      bad: 'replan',
    })
    .compile()
  expect(flow.toMermaid()).toBe(`flowchart TD
  start(["START"])
  n1["planner"]
  n2["agent"]
  n3["tools"]
  n4["verifier"]
  n5["replan"]
  stop(["END"])
  start --> n1
  n1 --> n2
  n5 --> n2
  n2 -.-> n3
  n2 -.-> n2
  n3 -.->|"more"| n2
  n3 -.->|"done"| n4
  n4 -.->|"good, fine"| stop
  n4 -.->|"bad"| n5
`)
})

test('those that are waited for meet, and a branch without paths leads everywhere', () => {
  const flow = graph({ state })
    .addNode('left', idle)
    .addNode('right', idle)
    .addNode('both', idle)
    .addEdge(START, 'left')
    .addEdge(START, 'right')
    .addEdge(['left', 'right'], 'both')
    .addConditionalEdges('both', () => END)
    .compile()
  expect(flow.toMermaid()).toBe(`flowchart TD
  start(["START"])
  n1["left"]
  n2["right"]
  n3["both"]
  stop(["END"])
  start --> n1
  start --> n2
  n3 -.-> n1
  n3 -.-> n2
  n3 -.-> n3
  n3 -.-> stop
  all1(("all"))
  n1 --- all1
  n2 --- all1
  all1 --> n3
`)
})

test('a graph inside is a block, and ways go through its start and its end', () => {
  const deep = graph({ state }).addNode('end', idle).addEdge(START, 'end').addEdge('end', END).compile()
  const middle = graph({ state }).addNode('deep', deep).addEdge(START, 'deep').addEdge('deep', END).compile()
  const outer = graph({ state })
    .addNode('end', idle)
    .addNode('middle', middle)
    .addEdge(START, 'end')
    .addEdge('end', 'middle')
    .addConditionalEdges('middle', (): 'again' | 'over' => 'over', { again: 'middle', over: END })
    .compile()
  expect(outer.toMermaid()).toBe(`flowchart TD
  start(["START"])
  n1["end"]
  subgraph n2["middle"]
    n2_start(["START"])
    subgraph n2_n1["deep"]
      n2_n1_start(["START"])
      n2_n1_n1["end"]
      n2_n1_stop(["END"])
      n2_n1_start --> n2_n1_n1
      n2_n1_n1 --> n2_n1_stop
    end
    n2_stop(["END"])
    n2_start --> n2_n1_start
    n2_n1_stop --> n2_stop
  end
  stop(["END"])
  start --> n1
  n1 --> n2_start
  n2_stop -.->|"again"| n2_start
  n2_stop -.->|"over"| stop
`)
})

test('nothing in a name or an answer means anything to Mermaid', () => {
  const flow = graph({ state })
    .addNode('größe-1', idle)
    .addEdge(START, 'größe-1')
    .addConditionalEdges('größe-1', () => 'x' as never, { '"]; click <b>|#`': END } as never)
    .compile()
  expect(flow.toMermaid().split('\n').slice(1)).toEqual([
    '  start(["START"])',
    '  n1["größe-1"]',
    '  stop(["END"])',
    '  start --> n1',
    '  n1 -.->|"#34;#93;#59; click #60;b#62;#124;#35;#96;"| stop',
    '',
  ])
})
