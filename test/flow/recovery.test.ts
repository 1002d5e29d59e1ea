/** The task agent whose process dies at any point: another comes to the same end, or the outcome is unknown, and it asks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Prompts } from '../../src/flow/plan-verify/prompts.ts'
import { taskGraph } from '../../src/flow/plan-verify/task-graph.ts'
import type { Channels, Graph, GraphOptions } from '../../src/graph/index.ts'
import type { Json, RequestData } from '../../src/protocol/index.ts'
import type { Tool } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { type Cut, cutOff, deathsIn, GraphWorld, wrongWith } from '../graph/recovery-cut.ts'
import type { GraphPlay, GraphProcess } from '../graph/recovery-world.ts'
import { call, calls, done, type TaskScript, taskModel, verdict } from './kit.ts'

/** Every point of death with `HOLDFAST_RUNS`; else every ninth: neighbours are much alike. */
const isThorough = process.env['HOLDFAST_RUNS'] !== undefined
const someOf = <T>(list: readonly T[]): readonly T[] => list.filter((_, at) => isThorough || at % 9 === 1)

const folders: string[] = []
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true, force: true })
})

interface Played {
  readonly name: string
  readonly script: TaskScript
  readonly tools: (process: GraphProcess) => readonly Tool[]
  readonly answer?: (request: RequestData) => Json
  readonly planning?: boolean
}

function play({ name, script, tools, answer, planning = true }: Played): GraphPlay {
  return {
    name,
    inputs: [{ task: 'Do it', maxContextTokens: 100_000, messages: [{ role: 'user', content: 'Do it' }] }],
    build: (process) => {
      const compile = (graph: GraphOptions): unknown =>
        taskGraph({
          tools: [...tools(process), process.tool('attempt_completion', { replay: 'safe' })],
          prompts: new Prompts(),
          model: taskModel(script),
          verifierModel: taskModel(script),
          settings: {},
          criteria: [],
          plugins: [],
          ids: {},
          planning,
          maxReplans: 3,
          graph,
        })
      return process.compile({ compile } as { compile(options: GraphOptions): Graph<Channels> } as never)
    },
    ...(answer === undefined ? {} : { answer }),
  }
}

const SCRIPT: TaskScript = {
  plans: ['Pay once', 'Look, then pay'],
  rounds: [
    [calls(call('look'), call('pay')), done('Paid.')],
    [calls(call('look')), calls(call('pay'), call('mail')), done('Looked and paid.')],
  ],
  verdicts: [verdict(false, ['look first']), verdict(true)],
}

const effects: Played = {
  name: 'effects',
  script: SCRIPT,
  tools: (process) => [
    process.tool('look', { replay: 'safe' }),
    process.tool('pay'),
    process.tool('mail', { approve: 'always' }),
  ],
  answer: () => true,
}

/** The answer of the last verification, or undefined. */
function endOf({ journals }: Cut): unknown {
  const entries = journals['talk'] ?? []
  const last = entries.findLast(({ type, data }) => type === 'node.end' && data['node'] === 'verifier')
  return (last?.data['update'] as { readonly attempts?: readonly unknown[] } | undefined)?.attempts
}

describe('killed at every append and effect', () => {
  test('a task with two plans, effects and an approval', async () => {
    const whole = await cutOff(play(effects), [])
    expect(whole.problems).toEqual([])
    const deaths = deathsIn(whole)
    expect(deaths.length).toBeGreaterThan(100)
    const wrong: string[] = []
    for (const death of someOf(deaths)) {
      const cut = await cutOff(play(effects), [death])
      wrong.push(...wrongWith(cut, whole, [death]))
      if (JSON.stringify(endOf(cut)) !== JSON.stringify(endOf(whole)))
        wrong.push(`${JSON.stringify(death)}: ${JSON.stringify(endOf(cut))}`)
    }
    expect(wrong).toEqual([])
  })

  test('real files are as they would be, or the edit is reported as unknown', async () => {
    const edit = (from: string, to: string) => ({
      path: 'a.txt',
      diff: `------- SEARCH\n${from}\n=======\n${to}\n+++++++ REPLACE`,
    })
    const script: TaskScript = {
      rounds: [
        [
          calls(
            call('read_file', { path: 'a.txt' }),
            call('write_to_file', { path: 'b.txt', content: 'b\n' }),
          ),
          calls(call('replace_in_file', edit('one', 'two'))),
          calls(call('replace_in_file', edit('two', 'three'))),
          done('Edited.'),
        ],
      ],
    }
    const run = async (deaths: Parameters<typeof cutOff>[1]): Promise<{ cut: Cut; files: string }> => {
      const cwd = mkdtempSync(join(tmpdir(), 'holdfast-task-'))
      folders.push(cwd)
      writeFileSync(join(cwd, 'a.txt'), 'one\n')
      const toolbox = await loadTools({ cwd, toolIds: ['read_file', 'write_to_file', 'replace_in_file'] })
      const tools = toolbox.map((tool): Tool => ({ ...tool, approve: 'never' }))
      const cut = await cutOff(
        play({ name: 'files', script, tools: () => tools, planning: false }),
        deaths,
        new GraphWorld(),
      )
      const files = readdirSync(cwd).map((name) => `${name}: ${readFileSync(join(cwd, name), 'utf8')}`)
      return { cut, files: files.toSorted().join('') }
    }
    const whole = await run([])
    expect(whole.files).toBe('a.txt: three\nb.txt: b\n')
    const wrong: string[] = []
    let unknown = 0
    for (const death of someOf(deathsIn(whole.cut))) {
      const { cut, files } = await run([death])
      const isUnknown = JSON.stringify(cut.journals['talk']).includes('"status":"unknown"')
      if (isUnknown) unknown += 1
      if (files !== whole.files)
        wrong.push(`${JSON.stringify(death)}${isUnknown ? ' unknown' : ''}: ${files}`)
      if (endOf(cut) === undefined) wrong.push(`${JSON.stringify(death)} never ended`)
    }
    expect({ wrong, unknown }).toEqual({ wrong: [], unknown: 0 })
  })
})

test('a call whose outcome nobody knows asks before it is made again', async () => {
  const asked: string[] = []
  const again: Played = {
    ...effects,
    script: { rounds: [[calls(call('pay')), calls(call('pay')), done('Paid.')]] },
    answer: ({ prompt }) => {
      asked.push(prompt)
      return false
    },
  }
  const cut = await cutOff(play(again), [{ of: 'effect', at: 1, when: 'after' }])
  expect(cut.effects.map(({ tool }) => tool)).toEqual(['pay', 'attempt_completion'])
  expect(asked).toHaveLength(1)
  expect(asked[0]).toContain('pay')
  expect(JSON.stringify(cut.journals['talk'])).toContain('"status":"unknown"')
  expect(JSON.stringify(cut.journals['talk'])).toContain('"status":"rejected"')
})
