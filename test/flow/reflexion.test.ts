/** Draft, search, revise: exact sequences, every limit, and the best answer so far. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exploration, type ReflexionOptions, reflexion } from '../../src/entry/flows.ts'
import { memoryStore } from '../../src/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'

const reflection = { missing: 'dates', superfluous: 'nothing' }
const draft = (answer: string, queries: readonly string[]): string =>
  JSON.stringify({ answer, reflection, queries })
const revision = (answer: string, queries: readonly string[], references = ['[1] page']): string =>
  JSON.stringify({ answer, reflection, queries, references })

function reflect(replies: readonly ScriptedStep[], options: Partial<ReflexionOptions> = {}) {
  const model = new ScriptedModel([...replies])
  const store = memoryStore()
  const asked: string[] = []
  const search = (query: string): string => {
    asked.push(query)
    return `found ${query}`
  }
  const run = () => reflexion({ question: 'When was it?', model, store, contextId: 'x', search, ...options })
  const nodes = async (): Promise<string[]> =>
    (await store.read({ tenant: 'local', actor: 'local', contextId: 'x' })).flatMap(({ type, data }) =>
      type === 'node.end' ? [data['node'] as string] : [],
    )
  const prompt = (at: number): string => JSON.stringify(model.calls[at]?.prompt)
  return { model, store, run, nodes, asked, prompt }
}

describe('reflexion', () => {
  test('drafts, searches and revises, at most twice', async () => {
    const { run, nodes, asked, prompt, model } = reflect([
      draft('Long ago.', ['q1', 'q2']),
      revision('In 1900.', ['q3']),
      revision('On 1 May 1900.', ['q4'], ['[1] page', '[3] book']),
    ])
    expect(await run()).toMatchObject({
      answer: 'On 1 May 1900.',
      reflection,
      references: ['[1] page', '[3] book'],
      queries: ['q4'],
      iterations: 2,
      searches: [
        { query: 'q1', found: 'found q1' },
        { query: 'q2', found: 'found q2' },
        { query: 'q3', found: 'found q3' },
      ],
      ended: 'done',
    })
    expect(await nodes()).toEqual(['draft', 'search', 'revise', 'search', 'revise'])
    expect(asked).toEqual(['q1', 'q2', 'q3'])
    expect(prompt(1)).toContain('[2] q2\\nfound q2')
    expect(prompt(1)).toContain('Long ago.')
    expect(prompt(2)).toContain('[3] q3\\nfound q3')
    expect(model.calls).toHaveLength(3)
  })

  test('ends early when a revision searches for nothing more', async () => {
    const { run, nodes } = reflect([draft('Long ago.', ['q1']), revision('In 1900.', [])])
    expect(await run()).toMatchObject({ answer: 'In 1900.', iterations: 1, ended: 'done' })
    expect(await nodes()).toEqual(['draft', 'search', 'revise'])
  })

  test('without iterations the draft is the answer', async () => {
    const { run, nodes, asked } = reflect([draft('Long ago.', ['q1'])], { maxIterations: 0 })
    expect(await run()).toMatchObject({ answer: 'Long ago.', references: [], queries: ['q1'], ended: 'done' })
    expect([await nodes(), asked]).toEqual([['draft'], []])
  })

  test.each([
    ['no query', draft('Long ago.', [])],
    ['four queries', draft('Long ago.', ['a', 'b', 'c', 'd'])],
    ['no reflection', JSON.stringify({ answer: 'Long ago.', queries: ['a'] })],
    ['no JSON', 'Long ago.'],
  ])('a draft with %s goes back to the model', async (_, wrong) => {
    const { run, model } = reflect([wrong, draft('Better.', ['q1'])], { maxIterations: 0 })
    expect(await run()).toMatchObject({ answer: 'Better.', ended: 'done' })
    expect(model.calls).toHaveLength(2)
  })

  test('a search that fails is read by the model, and a long one is shortened', async () => {
    const { run, prompt } = reflect([draft('Long ago.', ['bad', 'long']), revision('In 1900.', [])], {
      maxContextTokens: 1000,
      search: (query) => {
        if (query === 'bad') throw new Error('no network')
        return `BEGIN ${'word '.repeat(50_000)} END`
      },
    })
    const { searches } = await run()
    expect(searches.map(({ found }) => found.length)).toEqual([29, 50_000])
    expect(prompt(1)).toContain('[1] bad\\nThe search failed: no network')
    expect(prompt(1).length).toBeLessThan(5000)
    expect(prompt(1)).toContain('BEGIN')
  })

  test.each([
    [['x', 'y'], 'a list'],
    [undefined, 'undefined'],
  ])('a search that returns no text, but %j, says so', async (found, what) => {
    const { run } = reflect([draft('a', ['q1']), revision('b', [])], { search: () => found as never })
    expect((await run()).searches).toEqual([
      { query: 'q1', found: `The search failed: search() must return a text, not ${what}.` },
    ])
  })

  test('a conversation of another flow is refused', async () => {
    const { run, store } = reflect([draft('a', [])])
    await run()
    const model = new ScriptedModel([])
    await expect(exploration({ model, store, contextId: 'x' })).rejects.toThrow(
      'The conversation "x" is one of reflexion, not of exploration. Give another contextId.',
    )
  })

  test('a conversation keeps its question: another one is refused', async () => {
    const { run, store } = reflect([draft('Long ago.', ['q'])], { maxIterations: 0 })
    await run()
    const other = reflect([], { question: 'Who built it?', store })
    await expect(other.run()).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('"x" answers "When was it?"'),
    })
    expect(await run()).toMatchObject({ answer: 'Long ago.', ended: 'done' })
  })

  test('every limit returns the best answer so far, and a second call goes on', async () => {
    const replies = [draft('Long ago.', ['q1']), revision('In 1900.', [])]
    const steps = reflect(replies, { limits: { steps: 2 } })
    expect(await steps.run()).toMatchObject({
      ended: 'limit',
      reason: 'The limit on steps (2) was reached.',
      answer: 'Long ago.',
      iterations: 0,
      searches: [{ query: 'q1', found: 'found q1' }],
    })
    expect(await steps.run()).toMatchObject({ ended: 'done', answer: 'In 1900.', iterations: 1 })
    expect(steps.asked).toEqual(['q1'])
    expect(await reflect(replies, { limits: { tokens: 10 } }).run()).toMatchObject({
      ended: 'limit',
      answer: 'Long ago.',
    })
    const failed = await reflect([draft('Long ago.', ['q1'])]).run()
    expect(failed).toMatchObject({ ended: 'failed', answer: 'Long ago.' })
    const cancelled = await reflect(replies, { signal: AbortSignal.abort() }).run()
    expect(cancelled).toMatchObject({ ended: 'cancelled', answer: null })
  })

  test.each([
    [{ model: 'x/y', search: String }, 'reflexion() needs question.'],
    [{ question: 'x', model: 'x/y' }, 'reflexion() needs search.'],
    [{ question: 'x', model: 'x/y', search: String, max_iterations: 3 }, 'maxIterations'],
    [
      { question: 'x', model: 'reflex', search: String },
      'reflex follows rules and cannot criticise an answer',
    ],
  ] as [object, string][])('%j is refused', async (options, message) => {
    await expect(reflexion(options as never)).rejects.toThrow(message)
  })
})

describe('the report', () => {
  const replies = [draft('Long ago.', ['q1']), revision('In 1900.', [])]

  test('is written by the model from the answer and what was found, and saved in the folder', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'holdfast-reflexion-'))
    const reportPath = 'notes/bridge.md'
    const text = '# The bridge\n\nIn 1900.'
    const { run, nodes, prompt } = reflect([...replies, text], { cwd, reportPath })
    expect(await run()).toMatchObject({ answer: 'In 1900.', report: `${text}\n`, reportPath, ended: 'done' })
    expect(readFileSync(join(cwd, reportPath), 'utf8')).toBe(`${text}\n`)
    expect(await nodes()).toEqual(['draft', 'search', 'revise', 'report', 'save'])
    for (const part of ['When was it?', 'In 1900.', 'found q1', '[1] page']) expect(prompt(2)).toContain(part)
    rmSync(cwd, { recursive: true })
  })

  test('that cannot be written fails the run, and is in the results; without a path there is none', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'holdfast-reflexion-'))
    const { run } = reflect([...replies, 'The report'], { cwd, reportPath: '../outside.md' })
    const outside = await run()
    expect(outside).toMatchObject({
      answer: 'In 1900.',
      report: 'The report\n',
      reportPath: null,
      ended: 'failed',
    })
    expect(outside.reason).toContain('cannot be written to ../outside.md')
    const { run: plain, nodes } = reflect(replies)
    expect(await plain()).toMatchObject({ report: null, reportPath: null, ended: 'done' })
    expect(await nodes()).toEqual(['draft', 'search', 'revise'])
    rmSync(cwd, { recursive: true })
  })
})
