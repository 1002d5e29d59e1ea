/** A graph as a picture: what is in it, how a run shows in it, and that nothing in it lies upon anything else. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GraphDefinition } from '../../src/graph/definition.ts'
import { END, type Graph, graph, list, START, type ValueChannel, value } from '../../src/graph/index.ts'
import { figureOf } from '../../src/graph/picture/figure.ts'
import { layoutOf } from '../../src/graph/picture/layout.ts'
import { graphPicture, type Taken, takenWays } from '../../src/graph/picture/picture.ts'
import type { Box } from '../../src/graph/picture/shapes.ts'
import { type ContextKey, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

const idle = () => undefined
const key = (contextId: string): ContextKey => ({ ...LOCAL_OWNER, contextId })

/** By hand: the builder refuses what cannot be run, and pictures do not care. */
function sketch(
  nodes: readonly string[],
  edges: readonly (readonly [string | readonly string[], string])[],
  branches: readonly (readonly [string, Readonly<Record<string, string>> | undefined])[] = [],
): GraphDefinition {
  const retry = { attempts: 1, waitMs: 0, factor: 1, maxWaitMs: 0 }
  return {
    name: 'sketch',
    channels: {},
    kinds: {},
    nodes: new Map(nodes.map((name) => [name, { name, run: idle, retry }])),
    edges: edges.map(([from, to]) => ({ from: typeof from === 'string' ? [from] : from, to })),
    branches: branches.map(([from, paths]) => ({ from, route: idle, ...(paths ? { paths } : {}) })),
  }
}

const PLAN = sketch(
  ['planner', 'agent', 'tools', 'verifier', 'replan'],
  [
    [START, 'planner'],
    ['planner', 'agent'],
    ['replan', 'agent'],
  ],
  [
    ['agent', { call: 'tools', again: 'agent' }],
    ['tools', { more: 'agent', done: 'verifier' }],
    ['verifier', { ok: END, wrong: 'replan' }],
  ],
)

const WORKERS = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

const ORDINARY: readonly (readonly [string, GraphDefinition])[] = [
  [
    'a chain',
    sketch(
      ['a', 'b', 'c'],
      [
        [START, 'a'],
        ['a', 'b'],
        ['b', 'c'],
        ['c', END],
      ],
    ),
  ],
  [
    'a diamond',
    sketch(
      ['a', 'b', 'c', 'd'],
      [
        [START, 'a'],
        ['a', 'b'],
        ['a', 'c'],
        ['b', 'd'],
        ['c', 'd'],
        ['a', 'd'],
        ['d', END],
      ],
    ),
  ],
  [
    'a loop',
    sketch(
      ['agent', 'tools'],
      [
        [START, 'agent'],
        ['tools', 'agent'],
      ],
      [['agent', { tools: 'tools', done: END }]],
    ),
  ],
  [
    'a fan-out of six',
    sketch(
      ['plan', ...WORKERS, 'sum'],
      [
        [START, 'plan'],
        ...WORKERS.map((worker) => ['plan', worker] as const),
        [WORKERS, 'sum'],
        ['sum', END],
      ],
    ),
  ],
  ['plan, act, verify and plan again', PLAN],
  [
    'one who may send to anybody',
    sketch(
      ['boss', ...WORKERS],
      [[START, 'boss'], ...WORKERS.map((one) => [one, 'boss'] as const)],
      [['boss', undefined]],
    ),
  ],
]

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'a_rather_long_name', 'h', 'i', 'j']

const sketches: fc.Arbitrary<GraphDefinition> = fc
  .integer({ min: 1, max: NAMES.length })
  .chain((count) => {
    const names = NAMES.slice(0, count)
    const name = fc.constantFrom(...names)
    const place = fc.constantFrom(...names, END)
    const answers = fc.dictionary(fc.constantFrom('yes', 'no', 'not so sure about it', 'a', 'b'), place, {
      minKeys: 1,
    })
    const edge = fc.tuple(fc.oneof(name, fc.uniqueArray(name, { minLength: 1, maxLength: 4 })), place)
    return fc.record({
      names: fc.constant(names),
      first: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
      edges: fc.array(edge, { maxLength: 14 }),
      branches: fc.array(fc.tuple(name, fc.option(answers, { nil: undefined, freq: 9 })), { maxLength: 5 }),
    })
  })
  .map(({ names, first, edges, branches }) =>
    sketch(names, [...first.map((name) => [START, name] as const), ...edges], branches),
  )

interface Area {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

const areaOf = ({ x, y, width, height }: Box): Area => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - height / 2,
  bottom: y + height / 2,
})

/** Touching is not overlapping; positions are rounded to tenths. */
const overlap = (a: Area, b: Area): boolean =>
  a.left < b.right - 0.2 && b.left < a.right - 0.2 && a.top < b.bottom - 0.2 && b.top < a.bottom - 0.2

/** All that is wrong. A bend from row to row stays within the area between its ends, so that area has to be free. */
function collisions(definition: GraphDefinition): readonly string[] {
  const { shapes, strokes } = figureOf(definition, undefined)
  const { boxes, routes, width, height } = layoutOf({ places: shapes, lines: strokes })
  const labels = routes.flatMap(({ label }, index) =>
    label ? [{ name: `label ${index}`, area: areaOf(label) }] : [],
  )
  const solid = [...[...boxes].map(([name, box]) => ({ name, area: areaOf(box) })), ...labels]
  const found: string[] = []
  for (const [index, one] of solid.entries()) {
    for (const other of solid.slice(index + 1))
      if (overlap(one.area, other.area)) found.push(`${one.name} lies upon ${other.name}`)
    const { left, right, top, bottom } = one.area
    if (left < 0 || top < 0 || right > width || bottom > height) found.push(`${one.name} is outside`)
  }
  for (const [index, { points }] of routes.entries()) {
    const { from = '', to = '' } = strokes[index] ?? {}
    if (points.length < 2) found.push(`${from} to ${to} is not drawn`)
    for (const [at, point] of points.entries()) {
      const { x, y } = points[at + 1] ?? point
      const area = {
        left: Math.min(x, point.x),
        right: Math.max(x, point.x),
        top: Math.min(y, point.y),
        bottom: Math.max(y, point.y),
      }
      for (const [name, box] of boxes)
        if (overlap(area, areaOf(box))) found.push(`${from} to ${to} runs through ${name}`)
    }
    if (!touches(points[0], boxes.get(from))) found.push(`${from} to ${to} does not begin at ${from}`)
    if (!touches(points.at(-1), boxes.get(to))) found.push(`${from} to ${to} does not end at ${to}`)
  }
  return found
}

function touches(
  point: { readonly x: number; readonly y: number } | undefined,
  box: Box | undefined,
): boolean {
  if (point === undefined || box === undefined) return false
  const { left, right, top, bottom } = areaOf(box)
  const near = (a: number, b: number) => Math.abs(a - b) <= 0.2
  const isBeside = near(point.x, left) || near(point.x, right)
  const isAbove = near(point.y, top) || near(point.y, bottom)
  const isWithin =
    point.x >= left - 0.2 && point.x <= right + 0.2 && point.y >= top - 0.2 && point.y <= bottom + 0.2
  return isWithin && (isBeside || isAbove)
}

describe('layout', () => {
  test.each(ORDINARY)('nothing lies upon anything in %s', (_, definition) => {
    expect(collisions(definition)).toEqual([])
  })

  test('nothing lies upon anything in graphs of any kind', () => {
    fc.assert(
      fc.property(sketches, (definition) => {
        expect(collisions(definition)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  test('a chain of a thousand nodes is laid out', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `n${index}`)
    const edges = names.map((name, index) => [names[index - 1] ?? START, name] as const)
    const { shapes, strokes } = figureOf(sketch(names, edges), undefined)
    const { boxes } = layoutOf({ places: shapes, lines: strokes })
    expect(new Set([...boxes.values()].map(({ y }) => y)).size).toBe(1001)
  })
})

/** Throws unless every element is closed where it should be, and nothing is text that should be escaped. */
function elementsOf(xml: string): readonly { readonly tag: string; readonly text: string }[] {
  const open: string[] = []
  const found: { tag: string; text: string }[] = []
  const token = /<(\/?)([a-z]+)((?: [a-zA-Z]+="[^"<]*")*)(\/?)>([^<]*)/gy
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex
    const match = token.exec(xml)
    if (match === null) throw new Error(`Not well-formed: ${xml.slice(at, at + 80)}`)
    const [, isEnd, tag = '', attributes = '', isEmpty, text = ''] = match
    if (/&(?!(?:amp|lt|gt|quot|#39);)/.test(attributes + text)) throw new Error(`A bare & near ${text}`)
    if (isEnd && open.pop() !== tag) throw new Error(`</${tag}> closes something else`)
    if (!isEnd && !isEmpty) open.push(tag)
    if (!isEnd) found.push({ tag, text: text.trim() })
  }
  expect(open).toEqual([])
  return found
}

const textsOf = (svg: string): readonly string[] =>
  elementsOf(svg).flatMap(({ tag, text }) => (tag === 'text' ? [text] : []))

/** The classes of the group that is about this place. */
function marksOf(svg: string, name: string): string | undefined {
  return new RegExp(`<g class="place ?([^"]*)"><title>${name}(?::[^<]*)?</title>`).exec(svg)?.[1]
}

describe('picture', () => {
  test('it is one SVG with a name, without anything from elsewhere', () => {
    const svg = graphPicture(PLAN)
    expect(elementsOf(svg).slice(0, 2)).toEqual([
      { tag: 'svg', text: '' },
      { tag: 'title', text: 'Graph sketch' },
    ])
    expect(svg).toContain('role="img"')
    expect(svg).toContain('@media (prefers-color-scheme:dark)')
    expect(svg).not.toMatch(/<script|href|url\(|@import|@font-face| on[a-z]+=/)
  })

  test('every place and every answer is in it', () => {
    expect(textsOf(graphPicture(PLAN)).toSorted()).toEqual(
      ['START', 'END', 'planner', 'agent', 'tools', 'verifier', 'replan']
        .concat(['call', 'again', 'more', 'done', 'ok', 'wrong'])
        .toSorted(),
    )
  })

  test('of a long name the beginning is shown, and all of it is told', () => {
    const name = 'x'.repeat(64)
    const svg = graphPicture(sketch([name], [[START, name]]))
    expect(textsOf(svg)).toEqual(['START', `${'x'.repeat(31)}…`])
    expect(svg).toContain(`<title>${name}</title>`)
  })

  test('names and answers stay text', () => {
    const hostile = '</text><script>alert("1")</script>&\u0000\uD800'
    const definition = {
      ...sketch([hostile], [[START, hostile]], [[hostile, { [hostile]: END }]]),
      name: hostile,
    }
    const svg = graphPicture(definition)
    const tags = new Set(elementsOf(svg).map(({ tag }) => tag))
    expect(tags).toEqual(new Set(['svg', 'title', 'style', 'rect', 'g', 'path', 'text']))
    const safe = '&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\uFFFD\uFFFD'
    expect(svg.split(safe).length - 1).toBe(3)
  })

  test('a node that is a graph has two borders', () => {
    const inner = sketch(['x'], [[START, 'x']])
    const plain = sketch(['outer'], [[START, 'outer']])
    const nodes = new Map([...plain.nodes].map(([name, node]) => [name, { ...node, inner }]))
    expect(graphPicture({ ...plain, nodes })).toContain('class="box inner"')
    expect(graphPicture(plain)).not.toContain('class="box inner"')
  })

  test('without a run nothing is marked', () => {
    const svg = graphPicture(PLAN)
    expect(svg).not.toMatch(/class="[^"]*\b(used|unused|failed|open)\b/)
    expect(svg).not.toContain('faded')
  })

  test('what the run made of each node is said in words and by its border', () => {
    const taken: Taken = {
      turn: 2,
      outcome: 'failed',
      nodes: [
        { node: 'planner', runs: 1, failed: 0, open: 0, waiting: 0 },
        { node: 'agent', runs: 3, failed: 1, open: 0, waiting: 0 },
        { node: 'tools', runs: 4, failed: 0, open: 3, waiting: 2 },
      ],
      ways: [
        { from: START, to: 'planner', times: 1 },
        { from: 'planner', to: 'agent', times: 1 },
      ],
    }
    const svg = graphPicture(PLAN, { taken })
    const marks = ['START', 'planner', 'agent', 'tools', 'verifier', 'replan', 'END'].map((name) => [
      name,
      marksOf(svg, name),
    ])
    expect(marks).toEqual([
      ['START', 'used'],
      ['planner', 'used'],
      ['agent', 'failed'],
      ['tools', 'open'],
      ['verifier', 'unused'],
      ['replan', 'unused'],
      ['END', 'unused'],
    ])
    const notes = ['×1', '×3 ✕ failed', '×4 … waiting (2) … not finished']
    expect(textsOf(svg)).toEqual(expect.arrayContaining(notes))
    expect(textsOf(svg)).toContain('turn 2: failed')
    expect(textsOf(svg).at(-1)).toContain('faded: not used')
    expect(svg.match(/<g class="edge used">/g)).toHaveLength(2)
    expect(svg.match(/<g class="edge unused">/g)).toHaveLength(1)
    expect(svg.match(/<g class="branch unused">/g)).toHaveLength(6)
  })

  test('pictures of any graph are well-formed and show every node', () => {
    fc.assert(
      fc.property(sketches, (definition) => {
        const texts = textsOf(graphPicture(definition))
        expect(texts).toEqual(expect.arrayContaining([...definition.nodes.keys()]))
      }),
      { numRuns: 50 },
    )
  })
})

const contextId = 'talk'

/** In short: `node×runs`, with what became of it, and `from>to×times`. */
const short = ({ turn, outcome, nodes, ways }: Taken) => ({
  turn,
  outcome,
  nodes: nodes.map(({ node, runs, failed, open, waiting }) =>
    [
      `${node}×${runs}`,
      ...(failed ? ['failed'] : []),
      ...(waiting ? ['waiting'] : open ? ['open'] : []),
    ].join(' '),
  ),
  ways: ways.map(({ from, to, times }) =>
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

describe('the way that a run took', () => {
  test('is nothing where there was no run', async () => {
    expect(await takenWays(memoryStore(), key('nobody'))).toEqual({ turn: 0, nodes: [], ways: [] })
    expect(await takenWays(memoryStore(), key('nobody'), 3)).toEqual({ turn: 3, nodes: [], ways: [] })
    expect(await counting(1).toSvg({ contextId: 'nobody' })).toContain('not run yet')
  })

  test('goes on over the turns of one run, and can be had as it was after each', async () => {
    const flow = counting(3)
    const { requests } = await flow.invoke({}, { contextId })
    const ways = ['START>count×1', 'count>count×2', 'count>ask×1']
    const before = { turn: 1, outcome: 'input-required', nodes: ['count×3', 'ask×1 waiting'], ways }
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual(before)
    await flow.answer({ [requests[0]?.requestId ?? '']: 'yes' }, { contextId }).outcome
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'stop',
      nodes: ['count×3', 'ask×1'],
      ways: [...ways, 'ask>END×1'],
    })
    expect(short(await takenWays(flow.store, key(contextId), 1))).toEqual(before)
    await flow.invoke({ count: 2 }, { contextId })
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 3,
      outcome: 'input-required',
      nodes: ['count×1', 'ask×1 waiting'],
      ways: ['START>count×1', 'count>ask×1'],
    })
  })

  test('does not lead to the end where only the steps were used up', async () => {
    const flow = counting(4, 2)
    await flow.stream({}, { contextId }).outcome
    const first = { turn: 1, outcome: 'limit', nodes: ['count×2'], ways: ['START>count×1', 'count>count×1'] }
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual(first)
    await flow.stream(null, { contextId }).outcome
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'limit',
      nodes: ['count×4'],
      ways: ['START>count×1', 'count>count×3'],
    })
  })

  test('is read in pages', async () => {
    const flow = counting(700, 1000)
    await flow.invoke({}, { contextId })
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 1,
      outcome: 'input-required',
      nodes: ['count×700', 'ask×1 waiting'],
      ways: ['START>count×1', 'count>count×699', 'count>ask×1'],
    })
  })

  test('shows what failed until it is tried again', async () => {
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
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 1,
      outcome: 'failed',
      nodes: ['works×1', 'breaks×1 failed'],
      ways: started,
    })
    const failed = await flow.toSvg({ contextId })
    expect([marksOf(failed, 'works'), marksOf(failed, 'breaks'), marksOf(failed, 'END')]).toEqual([
      'used',
      'failed',
      'unused',
    ])
    isBroken = false
    await flow.invoke(null, { contextId })
    expect(short(await takenWays(flow.store, key(contextId)))).toEqual({
      turn: 2,
      outcome: 'stop',
      nodes: ['works×1', 'breaks×1', 'last×1'],
      ways: [...started, 'works>last×1', 'breaks>last×1', 'last>END×1'],
    })
    const svg = await flow.toSvg({ contextId })
    expect([marksOf(svg, 'breaks'), marksOf(svg, 'END')]).toEqual(['used', 'used'])
    expect(svg.match(/<g class="edge used">/g)).toHaveLength(5)
    expect(svg).not.toContain('class="edge unused"')
  })

  test('leads from all that a join has waited for', async () => {
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
    const { ways } = short(await takenWays(flow.store, key(contextId)))
    expect(ways).toEqual(
      expect.arrayContaining(['long>longer×1', 'longer>both×1', 'short>both×1', 'both>END×1']),
    )
    const svg = await flow.toSvg({ contextId })
    expect(marksOf(svg, 'all of short, longer')).toBe('used')
    expect(svg).not.toContain('class="edge unused"')
  })
})
