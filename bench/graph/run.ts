/**
 * `npm run bench:graph`: what one step of a graph costs, beside LangGraph.js: when the run is young, after 400 steps, and
 * for Holdfast alone after 10,000; what is on disk then, and how long it takes to have the state back. Needs
 * `npm ci --prefix bench/graph` once. It judges nobody: it measures, and prints what it measured.
 */
import { parseArgs, styleText } from 'node:util'
import { orExplain, wholeNumber } from '../kit/args.ts'
import type { Row } from '../kit/result.ts'
import { caseText } from '../kit/table.ts'
import { createWorkspace, describeMachine, machineText, type Workspace } from '../kit/workspace.ts'
import { type Match, playMatch } from './cases.ts'
import { holdfast } from './holdfast.ts'
import { langgraph } from './langgraph.ts'
import type { Trial } from './play.ts'
import type { StorageOptions, Work } from './work.ts'

const HELP = `Usage: npm run bench:graph -- [options]

  --steps N     steps of a run that both do (default: 400)
  --long N      steps of a run that Holdfast does alone (default: 10000); 0 leaves it out
  --rounds N    rounds of each comparison (default: 11); of the long run, a third of it
  --only TEXT   only what has this in its title
  --json        print the results as JSON
  --dir PATH    keep the files there while running (default: .tmp)
  --help

Examples:
  npm run bench:graph                              all of it, some minutes
  npm run bench:graph -- --long 0 --rounds 5       only side by side, rough
  npm run bench:graph -- --only NORMAL             only files that are not synced at every commit
  npm run bench:graph -- --json > graph.json       for a machine to read`

const LOOP: Work = { name: 'one node', nodes: ['work'], reads: false }
const CYCLE: Work = { name: 'three nodes in a circle', nodes: ['plan', 'act', 'look'], reads: false }
const READING: Work = { name: 'one node that reads the list', nodes: ['work'], reads: true }
const MEMORY: StorageOptions = { synchronous: 'NORMAL' }
const NORMAL: StorageOptions = { path: 'new', synchronous: 'NORMAL' }
const FULL: StorageOptions = { path: 'new', synchronous: 'FULL' }

const { values } = orExplain(() =>
  parseArgs({
    options: {
      steps: { type: 'string', default: '400' },
      long: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '11' },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
      dir: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
)

if (values.help) console.log(HELP)
else await main()

async function main(): Promise<void> {
  const steps = wholeNumber('steps', values.steps, { least: 20 })
  const long = wholeNumber('long', values.long, { least: 20 })
  const rounds = wholeNumber('rounds', values.rounds, { least: 1 })
  if (!steps || long === undefined || !rounds) return
  const workspace = createWorkspace(values.dir)
  try {
    const machine = describeMachine(workspace.folder)
    if (!values.json) console.log(`${styleText('dim', machineText(machine))}\n`)
    const results: { readonly title: string; readonly rows: readonly Row[] }[] = []
    for (const match of await matches({ steps, long, rounds }, workspace)) {
      if (!match.title.includes(values.only)) continue
      const rows = await playMatch(match)
      results.push({ title: match.title, rows })
      if (!values.json) console.log(`${text(match, rows)}\n`)
    }
    if (values.json) console.log(JSON.stringify({ machine, cases: results }, null, 2))
  } finally {
    workspace.remove()
  }
}

interface Size {
  readonly steps: number
  readonly long: number
  readonly rounds: number
}

async function matches({ steps, long, rounds }: Size, { path }: Workspace): Promise<Match[]> {
  const peer = await langgraph()
  if (peer === undefined)
    console.error('Without LangGraph.js: run `npm ci --prefix bench/graph` to have it here.')
  const { careful, shipped } = peer ?? {}
  const ours = (work: Work, place: StorageOptions): Trial => ({
    engine: holdfast,
    place,
    work,
    steps,
    isCareful: true,
  })
  const both = (work: Work, place: StorageOptions): Match => ({
    title: `${work.name}, ${placeText(place)}`,
    ours: ours(work, place),
    ...(careful === undefined ? {} : { theirs: { ...ours(work, place), engine: careful } }),
    rounds,
    path,
  })
  const alone = (work: Work, place: StorageOptions): Match => ({
    title: `${work.name}, ${placeText(place)}, ${long.toLocaleString('en-US')} steps`,
    ours: { ...ours(work, place), steps: long },
    rounds: Math.ceil(rounds / 3),
    path,
  })
  const side = [LOOP, CYCLE].flatMap((work) => [MEMORY, NORMAL, FULL].map((place) => both(work, place)))
  const asShipped: Match = {
    ...both(LOOP, FULL),
    title: 'one node, both as they come',
    ...(shipped === undefined ? {} : { theirs: { ...ours(LOOP, FULL), engine: shipped, isCareful: false } }),
  }
  const longs = [alone(LOOP, MEMORY), alone(LOOP, NORMAL), alone(LOOP, FULL), alone(READING, NORMAL)]
  return [...side, both(READING, NORMAL), asShipped, ...(long === 0 ? [] : longs)]
}

function placeText({ path, synchronous }: StorageOptions): string {
  return path === undefined ? 'in memory' : `SQLite, ${synchronous}`
}

function text({ title, ours, theirs }: Match, rows: readonly Row[]): string {
  const kept =
    theirs === undefined || theirs.isCareful
      ? 'A step is kept before the next one begins (there: durability sync, and the same synchronous).'
      : 'Here: SQLite, FULL, a step is kept before the next one begins. There: what SqliteSaver sets, durability async.'
  return caseText(
    {
      name: title,
      title: '',
      measured: `ten steps of ${ours.steps.toLocaleString('en-US')}, from the beginning of a node to that of a later one; each adds 200 bytes to a list. ${kept}`,
      notMeasured: 'starting a process, and a disk that has the file no longer in memory.',
    },
    rows,
  )
}
