/** Runs that wait for people: side by side, nested, answered in any order, elsewhere, late or never. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { programFile } from '../build/programs.ts'
import { twoReviews } from './two-reviews.ts'

const ANN = 'ann.1/ask.2/answer'
const BOB = 'bob.2/ask.2/answer'

describe('two graphs side by side that each ask', () => {
  const contextId = 'text'

  it('wait together, under ids that are paths', async () => {
    const { status, requests } = await twoReviews(memoryStore()).invoke({ text: 'Hi' }, { contextId })
    expect(status).toBe('input-required')
    expect(requests.map(({ requestId, prompt }) => [requestId, prompt])).toEqual([
      [ANN, 'Ann: is "Hi" good?'],
      [BOB, 'Bob: is "Hi" good?'],
    ])
  })

  it('go on in whichever order they are answered, and count in the order in which they were declared', async () => {
    const prepared: string[] = []
    const flow = twoReviews(memoryStore(), { prepared: (what) => prepared.push(what) })
    await flow.invoke({ text: 'Hi' }, { contextId })
    const first = await flow.answer({ [BOB]: 'no' }, { contextId }).outcome
    expect([first.status, first.requests.map(({ requestId }) => requestId)]).toEqual([
      'input-required',
      [ANN],
    ])
    const { status, state } = await flow.answer({ [ANN]: 'yes' }, { contextId }).outcome
    expect([status, state.published]).toEqual(['completed', 'Ann says yes, Bob says no'])
    expect(prepared).toEqual(['Ann prepares Hi', 'Bob prepares Hi'])
  })

  it('take both answers at once', async () => {
    const flow = twoReviews(memoryStore())
    await flow.invoke({ text: 'Hi' }, { contextId })
    const { state } = await flow.answer({ [BOB]: 'no', [ANN]: 'yes' }, { contextId }).outcome
    expect(state.verdicts).toEqual(['Ann says yes', 'Bob says no'])
  })

  it('refuse an answer that does not fit, and go on waiting', async () => {
    const flow = twoReviews(memoryStore())
    await flow.invoke({ text: 'Hi' }, { contextId })
    const wrong = await flow.answer({ [BOB]: 7, nobody: 'x' }, { contextId }).outcome
    expect([wrong.status, wrong.error?.code]).toEqual(['failed', 'invalid-answer'])
    expect((await flow.requests({ contextId })).map(({ requestId }) => requestId)).toEqual([ANN, BOB])
  })

  it('expire one by one: the one that expired goes on without, the other one still waits', async () => {
    const clock = new ManualClock(1_000_000)
    const store = memoryStore({ clock })
    const flow = twoReviews(store, { clock })
    await flow.invoke({ text: 'Hi' }, { contextId })
    clock.advance(2000)
    const { status, requests } = await flow.invoke(null, { contextId })
    expect([status, requests.map(({ requestId }) => requestId)]).toEqual(['input-required', [ANN]])
    const late = await flow.answer({ [BOB]: 'no' }, { contextId }).outcome
    expect(late.error?.code).toBe('invalid-answer')
    const { state } = await flow.answer({ [ANN]: 'yes' }, { contextId }).outcome
    expect(state.published).toBe('Ann says yes, Bob says nothing')
  })

  it('are due when they expire, also after an answer that nothing waited for', async () => {
    const clock = new ManualClock(1_000_000)
    const store = memoryStore({ clock })
    const flow = twoReviews(store, { clock })
    await flow.invoke({ text: 'Hi' }, { contextId })
    const stray = { type: 'answer', key: 'stray', data: { requestId: 'other', value: 'yes' } } as const
    await store.append({ key: { ...LOCAL_OWNER, contextId }, id: 'stray', since: 0, inbox: [stray] })
    await flow.drive({ contextId })
    const isDue = async () => (await store.due()).some(({ key }) => key.contextId === contextId)
    expect(await isDue()).toBe(false)
    clock.advance(2000)
    expect(await isDue()).toBe(true)
  })

  it('are given up for a new input, which starts anew', async () => {
    const flow = twoReviews(memoryStore())
    await flow.invoke({ text: 'Hi' }, { contextId })
    const { status, requests } = await flow.invoke({ text: 'Bye' }, { contextId })
    expect(status).toBe('input-required')
    expect(requests.map(({ requestId }) => requestId)).toEqual(['ann.3/ask.2/answer', 'bob.4/ask.2/answer'])
    expect(requests[0]?.prompt).toContain('Bye')
    const { heads } = await flow.store.list({ owner: LOCAL_OWNER, parent: contextId })
    const expecting = heads.filter(({ wakeAt }) => wakeAt !== undefined)
    expect(expecting.map(({ key }) => key.contextId).sort()).toEqual(['text/ann.3', 'text/bob.4'])
  })
})

describe('in other processes', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-graph-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const answerElsewhere = (file: string, answers: object): unknown => {
    const program = programFile('test/graph/two-reviews.ts')
    const said = execFileSync(process.execPath, [program, file, 'text', JSON.stringify(answers)])
    return JSON.parse(said.toString())
  }

  it('what waits is answered in the wrong order, and one is never answered', async () => {
    const file = join(folder, 'reviews.db')
    const store = sqliteStore(file)
    const prepared: string[] = []
    const flow = twoReviews(store, { prepared: (what) => prepared.push(what) })
    const asked = await flow.invoke({ text: 'Hi' }, { contextId: 'text' })
    expect(asked.requests.map(({ requestId }) => requestId)).toEqual([ANN, BOB])
    await store.close()
    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect(answerElsewhere(file, { [ANN]: 'yes' })).toEqual({
      status: 'completed',
      requests: [],
      state: {
        text: 'Hi',
        verdicts: ['Ann says yes', 'Bob says nothing'],
        published: 'Ann says yes, Bob says nothing',
      },
    })
    expect(prepared).toHaveLength(2)
  })

  it('each answer comes from another one', async () => {
    const file = join(folder, 'reviews.db')
    const store = sqliteStore(file)
    const clock = new ManualClock(Date.now() + 1_000_000)
    // The clock of the question is ahead, so that nothing expires on the way.
    await twoReviews(store, { clock }).invoke({ text: 'Hi' }, { contextId: 'text' })
    await store.close()
    expect(answerElsewhere(file, { [BOB]: 'no' })).toMatchObject({
      status: 'input-required',
      requests: [ANN],
    })
    expect(answerElsewhere(file, { [ANN]: 'yes' })).toMatchObject({
      status: 'completed',
      state: { published: 'Ann says yes, Bob says no' },
    })
  })
})

describe('an agent below a graph below a graph', () => {
  it('asks through all of them', async () => {
    const paid: string[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: jsonSchema({ type: 'object', properties: { sum: { type: 'number' } } }),
      approve: 'always',
      run: () => {
        paid.push('paid')
        return 'done'
      },
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'pay', args: { sum: 5 } }] }, 'It is paid.'])
    const inner = graph({ name: 'inner', state: { bill: value<string>(), said: list<string>() } })
      .addNode('payer', agentNode({ model, tools: [pay] }), {
        input: ({ bill }) => `Pay ${bill}`,
        output: (text) => ({ said: text }),
      })
      .addEdge(START, 'payer')
      .addEdge('payer', END)
      .compile()
    const flow = graph({ state: { bill: value<string>(), said: list<string>() } })
      .addNode('accounts', inner)
      .addEdge(START, 'accounts')
      .addEdge('accounts', END)
      .compile({ store: memoryStore() })
    const run = flow.stream({ bill: 'the rent' }, { contextId: 'bill' })
    const paths: string[] = []
    for await (const { type, path } of run) if (type === 'model.end') paths.push(path.join(' > '))
    const { requests } = await run.outcome
    const [request] = requests
    expect(request?.requestId).toMatch(/^accounts\.1\/payer\.1\/call[^/]*\/approval$/)
    expect([request?.kind, paid]).toEqual(['confirmation', []])
    expect(paths).toEqual(['accounts.1 > payer.1'])
    const answered = flow.answer({ [request?.requestId ?? '']: true }, { contextId: 'bill' })
    const { status, state, usage } = await answered.outcome
    expect([status, state.said, paid]).toEqual(['completed', ['It is paid.'], ['paid']])
    expect(usage.inputTokens).toBeGreaterThan(0)
    model.done()
  })
})
