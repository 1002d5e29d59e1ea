/** Everything that the tests of the page talk to, on one server: each test has an agent, a flow or a graph of its own. */
import { z } from 'zod'
import { researchFlow } from '../../../src/flow/research/index.ts'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import type { HostConfig, HostedFlow } from '../../../src/host/index.ts'
import { ask, defineTool, memoryStore } from '../../../src/index.ts'
import type { Mount } from '../../../src/serve/http/index.ts'
import { researchHttp } from '../../../src/serve/research/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { memoryCorpus } from '../../flow/research/kit.ts'
import { gate } from '../../turn/kit.ts'

export const EVIL = '<img src=x onerror=alert(1)>'
export const DOCK = `It is old. The gate of the dock\nopens 2 hours before high tide. See ${EVIL} for more.`
export const LONG_VALUE = 'long '.repeat(400)
const DIFF = '--- a/menu.txt\n+++ b/menu.txt\n@@ -1 +1 @@\n-Soup\n+Salad\n'

/** A form with every kind of field. */
const ADDRESS = {
  type: 'object',
  required: ['name', 'size', 'address'],
  properties: {
    name: { type: 'string', title: 'Name' },
    people: { type: 'integer', title: 'People', description: 'How many come' },
    size: { enum: ['small', 'large'], title: 'Size' },
    outside: { type: 'boolean', title: 'Outside' },
    address: {
      type: 'object',
      title: 'Address',
      required: ['street'],
      properties: { street: { type: 'string', title: 'Street', minLength: 3 } },
    },
    guests: { type: 'array', title: 'Guests', items: { $ref: '#/$defs/guest' } },
  },
  $defs: {
    guest: { type: 'object', required: ['name'], properties: { name: { type: 'string', title: 'Guest' } } },
  },
}

function kitchen(cooked: Promise<unknown>) {
  const cook = defineTool({
    name: 'cook',
    description: 'Cooks.',
    input: z.object({ dish: z.string() }),
    run: async function* ({ dish }) {
      yield `chopping for ${dish}`
      await cooked
      return { plate: dish }
    },
  })
  const calls = [
    { tool: 'cook', args: { dish: 'soup' } },
    { tool: 'cook', args: { dish: 7 } },
  ]
  const script = [
    'Welcome.',
    { text: 'I cook.', calls },
    'Served **hot**.',
    { stall: true, after: 'Slowly, very slowly' },
  ] as const
  return { tools: [cook], model: new ScriptedModel([...script]) }
}

function clerk(seen: unknown[]) {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ euros: z.number(), to: z.string() }),
    approve: 'always',
    preview: ({ euros }) => `--- a/purse\n+++ b/purse\n@@ -1 +1 @@\n-9\n+${9 - euros}\n`,
    run: ({ euros }) => ({ paid: euros }),
  })
  const book = defineTool({
    name: 'book',
    description: 'Books.',
    input: z.object({}),
    run: (_, { answers }) => {
      if (answers['table'] === undefined)
        return ask([
          { kind: 'data', name: 'table', prompt: 'Which table?', schema: ADDRESS },
          {
            kind: 'choice',
            name: 'extras',
            prompt: 'Extras?',
            options: ['bread', { name: 'wine' }],
            multiple: true,
          },
          { kind: 'confirmation', name: 'change', prompt: 'Change the menu?', about: { preview: DIFF } },
        ])
      seen.push(answers)
      return 'booked'
    },
  })
  const model = new ScriptedModel([
    { calls: [{ tool: 'pay', args: { euros: 5, to: '*.shop *.bank' } }] },
    { calls: [{ tool: 'book' }] },
    'All done.',
  ])
  return { tools: [pay, book], model }
}

export const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>'

function crier() {
  const show = defineTool({
    name: 'show',
    description: 'Shows.',
    input: z.object({ text: z.string() }),
    run: ({ text }) => ({ html: text }),
  })
  const reply = `${HOSTILE} [run](javascript:alert(3)) [bank](https://example.org/x) [b](https://bank.test@evil.test/) \u202Eabc`
  return {
    tools: [show],
    model: new ScriptedModel([{ calls: [{ tool: 'show', args: { text: HOSTILE } }] }, reply]),
  }
}

/** Long words of every kind, a failure, and an approval. */
function frame() {
  const fail = defineTool({
    name: 'fail',
    description: 'Fails.',
    input: z.object({}),
    run: () => {
      throw new Error('no such luck')
    },
  })
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ note: z.string() }),
    approve: 'always',
    run: () => 1,
  })
  const text = `A \`code\`, a [link](https://example.org) and\n\n| a | b |\n|---|---|\n| ${'z'.repeat(90)} | 2 |\n\n> quoted\n\n\`\`\`\nlong_code_${'x'.repeat(300)}\n\`\`\``
  return {
    tools: [fail, pay],
    model: new ScriptedModel([
      { text, calls: [{ tool: 'fail' }] },
      { calls: [{ tool: 'pay', args: { note: 'y'.repeat(300) } }] },
    ]),
  }
}

/** A flow whose reply no model gives and no message holds. */
const oracle: HostedFlow = {
  build: (store) =>
    graph({ state: { question: value<string>(''), depth: value<number>(0), answer: value<string>('') } })
      .addNode('write', ({ question }) => ({ answer: `You asked: **${question}**` }))
      .addEdge(START, 'write')
      .addEdge('write', END)
      .compile({ store }),
  values: (question) => ({ question, depth: 2 }),
  reply: ({ answer }) => answer as string,
}

/** The choices on the page, in order. */
export const NAMES = [
  ...['clerk', 'crier', 'frame', 'kitchen', 'late', 'oracle', 'research'],
  ...['review (graph)', 'think (graph)'],
]

/** Paths that lead out of the files of the page. */
export const OUTSIDE = [
  '/..%2f..%2fpackage.json',
  '/assets/..%2f..%2f..%2fpackage.json',
  '/assets/%2e%2e/%2e%2e/package.json',
  '/assets/..\\..\\package.json',
  '/assets/',
  '/assets',
  '/licenses.md',
  '/index.html%00',
  '//etc/passwd',
  '/file:///etc/passwd',
]

export interface Everything {
  readonly config: HostConfig
  readonly mounts: readonly Mount[]
  /** Lets the kitchen finish its dish. */
  readonly cook: () => void
  /** The answers that the clerk got. */
  readonly seen: readonly unknown[]
}

export function everything(): Everything {
  const store = memoryStore()
  const cooked = gate()
  const seen: unknown[] = []
  const corpus = {
    ...memoryCorpus([{ title: `Docks ${EVIL}`, pages: [DOCK] }]),
    surroundings: async () => ({ before: `Page top. ${EVIL} `, after: ' Page end.' }),
  }
  const think = graph({
    state: { question: value<string>(), answer: value<string>(), notes: value<string>() },
  })
    .addNode('think', ({ question }) => ({ answer: `because of ${question}` }))
    .addNode('note', () => ({ notes: LONG_VALUE }))
    .addEdge(START, 'think')
    .addEdge('think', 'note')
    .addEdge('note', END)
    .compile({ store })
  const review = graph({ state: { text: value<string>(''), isGood: value<boolean>(false) } })
    .addNode('ask', async ({ text }, context) => ({
      isGood: await context.interrupt({ kind: 'confirmation', prompt: `Is ${text} good?` }),
    }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ store })
  return {
    config: {
      store,
      agents: {
        kitchen: kitchen(cooked.promise),
        clerk: clerk(seen),
        crier: crier(),
        frame: frame(),
        late: { model: new ScriptedModel(['Here.']) },
      },
      graphs: { review, think },
      flows: { oracle, research: researchFlow({ corpus }) },
    },
    mounts: [researchHttp({ corpus })],
    cook: () => cooked.resolve(),
    seen,
  }
}
