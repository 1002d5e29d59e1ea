/** An agent and a graph that give away a secret in every way and encoding that they can. */
import { z } from 'zod'
import { Agent, type AgentConfig, agentTool } from '../../src/agent/index.ts'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, defineTool, type Tool, type ToolContext, toolResult } from '../../src/tool/index.ts'

/** JSON as PHP, Gson and .NET write it; HTML as Python, Go and templates do. */
const ESCAPERS: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify({ text }).replaceAll('/', '\\/'),
  (text) => JSON.stringify({ text }).replace(/[<>&=']/g, (char) => `\\u00${code(char)}`),
  (text) => JSON.stringify({ text }).replace(/[<>&+']/g, (char) => `\\u00${code(char).toUpperCase()}`),
  (text) => text.replaceAll('&', '&amp;').replace(/[<>"']/g, (char) => `&#x${code(char)};`),
  (text) => text.replaceAll('&', '&amp;').replaceAll("'", '&apos;').replaceAll('"', '&quot;'),
  (text) => text.replaceAll('&', '&amp;').replace(/["'<>]/g, (char) => `&#${char.charCodeAt(0)};`),
]

function code(char: string): string {
  return char.charCodeAt(0).toString(16)
}

/** As tools, libraries and logs write it. */
function written(secret: string): readonly string[] {
  const url = new URL('https://host.example/a')
  url.password = secret
  url.searchParams.set('token', secret)
  return [
    ...[secret, `app:${secret}`, `x=${secret}&y=1`, JSON.stringify({ a: secret })].flatMap((text) => [
      text,
      Buffer.from(text).toString('base64'),
      Buffer.from(text).toString('base64url'),
      Buffer.from(text).toString('hex').toUpperCase(),
      encodeURIComponent(text),
      JSON.stringify(text),
    ]),
    url.href,
    ...ESCAPERS.map((escape) => escape(secret)),
  ]
}

function careless(name: string, run: (context: ToolContext) => unknown, more = {}): Tool {
  const input = z.looseObject({})
  return defineTool({ name, description: name, input, ...more, run: (_, context) => run(context) as never })
}

export interface Careless {
  readonly secret: string
  /** Called in the middle of a tool. */
  readonly inTool?: () => unknown
}

function toolsOf({ secret, inTool }: Careless): readonly Tool[] {
  const words = written(secret)
  return [
    careless('returns', ({ credentials }) =>
      toolResult({ words, [secret]: [secret], known: Object.keys(credentials) }, `used ${words.join(' ')}`),
    ),
    careless('throws', () => {
      const cause = new AggregateError(
        [new Error(`${'x'.repeat(3990)}${secret}`), new Error(words[1])],
        words[2],
      )
      throw Object.assign(
        new Error(`401 ${words.join(' ')}`.slice(0, 3998 + (secret.length % 7)), { cause }),
        { code: secret },
      )
    }),
    careless('long', () => `${'y'.repeat(1990)}${secret}${'z'.repeat(300_000)}`),
    careless('writes', async ({ artifacts, progress }) => {
      progress({ words: [...words] })
      await artifacts.writeFile('text', words.join('\n'), { name: secret })
      await artifacts.writeData('value', { [secret]: [...words] })
      await artifacts.createFile('log')
      for (const piece of [`a ${secret.slice(0, 6)}`, `${secret.slice(6)} b`, ...secret.split('')])
        await artifacts.appendFile('log', piece)
      await artifacts.writeFile('bytes', Buffer.from(words.join('\n'))).catch(() => {})
      await artifacts.writeFile(secret, 'x').catch(() => {})
      await inTool?.()
      return words
    }),
    careless('asks', ({ answers }) =>
      answers['which'] === undefined
        ? ask({
            kind: 'text',
            prompt: `Is ${words.join(' ')} right?`,
            name: 'which',
            about: { words: [...words] },
          })
        : `${secret} it is`,
    ),
    agentTool({
      name: 'below',
      description: 'A sub-agent',
      agent: {
        model: new ScriptedModel([
          { calls: [{ tool: 'returns', args: { secret } }] },
          { deltas: [secret.slice(0, 3), secret.slice(3), ` ${words.join(' ')}`] },
        ]),
        tools: [careless('returns', () => words)],
      },
    }),
  ]
}

function script({ secret }: Careless): readonly ScriptedStep[] {
  const args = { secret, [secret]: [...written(secret)], message: `use ${secret}` }
  const call = (...tools: string[]) => tools.map((tool) => ({ tool, args }))
  return [
    {
      deltas: ['I use ', secret.slice(0, 4), secret.slice(4)],
      reasoning: secret,
      calls: call('returns', 'throws', 'long'),
    },
    { text: written(secret).join(' '), calls: call('writes', 'below', secret) },
    { calls: call('asks') },
    { text: `Done with ${secret}.` },
  ]
}

/** Replies by how often it has replied, so that another process can go on. */
function modelOf(given: Careless): ScriptedModel {
  const steps = script(given)
  return new ScriptedModel(({ prompt }) => {
    return steps[prompt.filter(({ role }) => role === 'assistant').length] ?? 'Done.'
  })
}

/** Refuses, and quotes the secret where its message will be cut. */
function brokenModel(secret: string): ScriptedModel {
  const message = `${'e'.repeat(495 - (secret.length % 9))}${secret}`
  return new ScriptedModel([{ error: { status: 400, message } }], { name: 'scripted/broken', loop: true })
}

export function carelessAgent(store: Store, contextId: string, given: Careless): Agent {
  const { secret } = given
  const config: AgentConfig = {
    contextId,
    store,
    model: [
      { model: brokenModel(secret), settings: { retries: 0 } },
      { model: modelOf(given), settings: {} },
    ],
    systemPrompt: ({ credentials }) => `Use ${secret} (${Object.keys(credentials).join()}).`,
    tools: toolsOf(given),
    on: {
      afterLlm: ({ add }) => add(`noted ${secret}`),
      beforeEachTool: ({ pending, edit }) => edit({ ...(pending.args as object), edited: secret }),
    },
  }
  return new Agent(config)
}

/** Something that tells what happens and how it ended. */
export type Watched = AsyncIterable<unknown> & { readonly outcome: Promise<{ readonly reason: string }> }

export function carelessRun(
  store: Store,
  contextId: string,
  { secret, credentials }: Careless & { readonly credentials: Readonly<Record<string, unknown>> },
): Watched {
  const words = written(secret)
  const flow = graph({ state: { said: value<string>(), notes: list<string>() } })
    .addNode('work', async ({ said }, { step, progress }) => {
      progress({ words: [...words] })
      const echoed = await step('call', () => `${String(said)} ${words.join(' ')}`)
      return { notes: [echoed, ...words] }
    })
    .addNode('fail', async (_, { step }) => {
      await step(`to ${secret}`, () => 'x').catch(() => {})
      throw new Error(`${'x'.repeat(3990)}${secret} ${words.join(' ')}`)
    })
    .addEdge(START, 'work')
    .addEdge('work', 'fail')
    .addEdge('fail', END)
    .compile({ store })
  return flow.stream({ said: secret }, { contextId, auth: { credentials } })
}
