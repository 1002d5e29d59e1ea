/** The research assistant whose process dies: another comes to the same answer, and every message is there once. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askResearch, researchAssistant } from '../../../src/flow/research/index.ts'
import type { Channels, Graph, GraphOptions } from '../../../src/graph/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { programFile } from '../../build/programs.ts'
import { type Cut, cutOff, deathsIn, wrongWith } from '../../graph/recovery-cut.ts'
import type { GraphPlay } from '../../graph/recovery-world.ts'
import { memoryCorpus, memoryWeb, researchModel } from './kit.ts'

/** Every point of death with `HOLDFAST_RUNS`; else every fifth: neighbours are much alike. */
const isThorough = process.env['HOLDFAST_RUNS'] !== undefined

const model = () =>
  researchModel({
    orchestrator: (prompt) => (/# Newest question\n.*\bit\b/.test(prompt) ? 'CLARIFICATION' : 'RESEARCH'),
    research: [{ calls: [{ tool: 'pdf_retrieval', args: { query: 'Cancale oysters' } }] }, 'Two passages.'],
    synthesis: 'The harbour of Cancale dries out at low tide [1].',
  })

const play: GraphPlay = {
  name: 'research',
  inputs: [
    { messages: [{ role: 'user', content: 'Tell me about it' }] },
    { messages: [{ role: 'user', content: 'Search the web for Cancale harbour at low tide' }] },
  ],
  build: (process) => {
    const web = memoryWeb([
      { url: 'https://example.com', title: 'Cancale', text: 'Cancale harbour at low tide is dry.' },
    ])
    const compile = (options: GraphOptions): unknown =>
      researchAssistant({ corpus: memoryCorpus(), web, model: model(), ...options })
    return process.compile({ compile } as { compile(options: GraphOptions): Graph<Channels> } as never)
  },
}

/** The updates of all nodes, in order. */
function updatesOf({ journals }: Cut): string {
  const ends = (journals['talk'] ?? []).filter(({ type }) => type === 'node.end')
  return JSON.stringify(ends.map(({ data }) => data['update']))
}

/** Searches have no effect in the world that the helper watches. */
function seriousIn(problems: readonly string[]): readonly string[] {
  return problems.filter((problem) => !/(?:pdf_retrieval|web_search) \S+ never ran$/.test(problem))
}

test('killed at every append: each node leaves the same update, once', async () => {
  const whole = await cutOff(play, [])
  expect(seriousIn(whole.problems)).toEqual([])
  const nodes = (whole.journals['talk'] ?? []).flatMap(({ type, data }) =>
    type === 'node.end' ? [data['node']] : [],
  )
  expect(nodes).toEqual(['orchestrator', 'clarification', 'orchestrator', 'research', 'synthesis'])
  const deaths = deathsIn(whole)
  expect(deaths.length).toBeGreaterThan(50)
  const wrong: string[] = []
  for (const death of deaths.filter((_, at) => isThorough || at % 5 === 2)) {
    const cut = await cutOff(play, [death])
    wrong.push(...seriousIn(wrongWith(cut, whole, [death])))
    if (updatesOf(cut) !== updatesOf(whole)) wrong.push(`${JSON.stringify(death)}: ${updatesOf(cut)}`)
  }
  expect(wrong).toEqual([])
})

test('a session goes on in another process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-research-'))
  const path = join(folder, 'talk.db')
  try {
    const child = spawnSync(process.execPath, [programFile('test/flow/research/first-process.ts'), path], {
      encoding: 'utf8',
    })
    expect(child.stderr).toBe('')
    expect(child.stdout.trim()).toBe('What does "it" refer to: which document, author or subject?')
    const store = sqliteStore(path)
    const flow = researchAssistant({ corpus: memoryCorpus(), store })
    const { answer, messageCount } = await askResearch(flow, 'Granville dock gate', { contextId: 'talk' })
    expect(answer).toContain('The gate of the dock opens 2 hours before high tide [1].')
    expect(messageCount).toBe(4)
    expect(await askResearch(flow, 'Which harbour is it?', { contextId: 'talk' })).toMatchObject({
      isClarification: false,
    })
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
