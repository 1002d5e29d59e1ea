/** Trust decides which remote agents a graph may call, by its nodes and by the tools of its agents. */
import { afterEach, expect, test } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { createHost, type Trust, type TrustRequest, VISITORS } from '../../src/host/index.ts'
import { memoryStore, type Store } from '../../src/index.ts'
import { remoteAgent, remoteNode } from '../../src/remote/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { type SampleAgent, sampleAgent } from './sample-agent.ts'

const closing: SampleAgent[] = []

afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
})

const ANN = { tenant: 'acme', actor: 'ann' }
const VISITOR = { tenant: VISITORS, actor: 'visitor_1' }

async function remote() {
  const agent = await sampleAgent(({ say }) => say('TASK_STATE_COMPLETED', 'Booked'))
  closing.push(agent)
  return agent
}

type Wish = { readonly wish?: string | undefined }

/** A graph whose node is the remote agent, or an agent with it as a tool. */
function graphOf(store: Store, url: string, { by = 'node', isPublic = false } = {}) {
  const travel = remoteAgent({ name: 'travel', description: 'Books.', url, public: isPublic })
  const model = new ScriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? JSON.stringify(prompt.at(-1)?.content)
      : { calls: [{ tool: 'travel', args: { message: 'A trip' } }] },
  )
  const mapping = { input: ({ wish = '' }: Wish) => wish, output: (trip: string) => ({ trip }) }
  const built = graph({ state: { wish: value<string>(), trip: value<string>('') } })
  return (
    by === 'node'
      ? built.addNode('travel', remoteNode({ name: 'travel', url, public: isPublic, ...mapping }))
      : built.addNode('travel', agentNode({ model, tools: [travel] }), mapping)
  )
    .addEdge(START, 'travel')
    .addEdge('travel', END)
    .compile({ store })
}

function hostOf(url: string, trust: Trust, more: Parameters<typeof graphOf>[2] = {}) {
  const store = memoryStore()
  return createHost({ store, graphs: { trip: graphOf(store, url, more) }, trust })
}

async function book(host: ReturnType<typeof createHost>, principal = ANN): Promise<string> {
  const turn = await host.send({ ...principal, contextId: 'trip:1' }, { wish: 'A trip' }, { auth: principal })
  const { error, state } = await turn.outcome
  return JSON.stringify(error ?? state)
}

const strict = { level: 'strict', principals: [ANN] } as const

test.each(['node', 'agent'])(
  'a strict graph calls the remote agents in its list alone, by a %s',
  async (by) => {
    const { url, received, authorizations } = await remote()
    const elsewhere = 'https://agents.example/'
    expect(await book(hostOf(url, { ...strict, remotes: [elsewhere] }, { by }))).toContain(
      'is not among the remote agents',
    )
    // Not even its card was read.
    expect([received, authorizations]).toEqual([[], []])
    expect(await book(hostOf(url, { ...strict, remotes: [url] }, { by }))).toContain('Booked')
    expect(received).toEqual(['A trip'])
  },
)

test.each(['node', 'agent'])('a policy is asked about the remote agents of a graph, by a %s', async (by) => {
  const { url, received } = await remote()
  const asked: TrustRequest[] = []
  const decide = (request: TrustRequest): boolean => {
    asked.push(request)
    return request.kind === 'turn'
  }
  expect(await book(hostOf(url, { decide }, { by }))).toContain('refuses')
  expect(received).toEqual([])
  const about = { name: 'trip', principal: ANN, isKnown: true }
  expect(asked).toMatchObject([
    { kind: 'turn', ...about },
    { kind: 'remote', url, ...about },
  ])
})

test.each(['node', 'agent'])('an unknown caller reaches public remote agents alone, by a %s', async (by) => {
  const { url, received } = await remote()
  const refused = await book(hostOf(url, { public: true }, { by }), VISITOR)
  expect([refused, received]).toEqual([expect.stringContaining('not for unknown callers'), []])
  expect(await book(hostOf(url, { public: true }, { by, isPublic: true }), VISITOR)).toContain('Booked')
})

test('a run that another process goes on with has the same rules', async () => {
  const { url, received } = await remote()
  const first = hostOf(url, { ...strict, remotes: [url] })
  const key = { ...ANN, contextId: 'trip:1' }
  await first.shutdown()
  const data = { values: { wish: 'A trip' }, principal: ANN }
  await first.store.append({
    key,
    id: 'i',
    since: 0,
    inbox: [{ type: 'input', key: 'k', data }],
  })
  const next = createHost({ store: first.store, graphs: { trip: graphOf(first.store, url) }, trust: strict })
  next.start()
  const ended = async () =>
    (await next.store.read(key)).find(({ type }) => type === 'turn.end')?.data['outcome']
  await expect.poll(ended).toBeDefined()
  expect(await ended()).toBe('failed')
  expect(received).toEqual([])
  await next.shutdown()
})
