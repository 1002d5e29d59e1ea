/**
 * `npm run bench:against -- FOLDER`: a turn of this checkout against a turn of another one, round by round, each in a
 * process of its own. It shows what a change costs or saves where the bare loop of `npm run bench` is too far away.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import type { RoundRequest, RoundTime, Setting } from './against/player.ts'
import { orExplain, wholeNumber } from './kit/args.ts'
import { progressBar } from './kit/progress.ts'
import { type Case, compare, type Row } from './kit/result.ts'
import { caseText } from './kit/table.ts'
import { createWorkspace, describeMachine, machineText, type Workspace } from './kit/workspace.ts'

const HELP = `Usage: npm run bench:against -- FOLDER [options]

  FOLDER        another checkout, installed and built
  --only NAME   one of memory, NORMAL, FULL, fifty; may be given several times
  --rounds N    rounds of each comparison (default: 21)
  --warm N      turns of each before the first round (default: 12000)
  --json        print the results as JSON
  --dir PATH    keep the files there while running (default: .tmp)
  --help

Examples:
  git worktree add .tmp/before HEAD~1
  npm ci --prefix .tmp/before && npm run build --prefix .tmp/before
  npm run bench:against -- .tmp/before                  everything, about two minutes
  npm run bench:against -- .tmp/before --only memory    one row`

/** The turns of a round, so that one takes a tenth of a second, and with fifty conversations several garbage collections. */
const TURNS: Readonly<Record<Setting, number>> = { memory: 300, NORMAL: 200, FULL: 60, fifty: 20 }
const SETTINGS = Object.keys(TURNS) as Setting[]

const { values, positionals } = orExplain(() =>
  parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '21' },
      warm: { type: 'string', default: '12000' },
      json: { type: 'boolean', default: false },
      dir: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
)

if (values.help) console.log(HELP)
else await main()

async function main(): Promise<void> {
  const [folder, ...rest] = positionals
  const rounds = wholeNumber('rounds', values.rounds, { least: 3 })
  const warm = wholeNumber('warm', values.warm, { least: 1 })
  if (rounds === undefined || warm === undefined) return
  const problem = problemOf(folder, rest)
  if (folder === undefined || problem !== undefined) {
    console.error(`${problem} See --help.`)
    process.exitCode = 1
    return
  }
  const workspace = createWorkspace(values.dir)
  const pair = { there: startPlayer(folder, workspace), here: startPlayer('.', workspace) }
  try {
    await Promise.all([answerOf(pair.there), answerOf(pair.here)])
    const machine = describeMachine(workspace.folder)
    const rows: Row[] = []
    for (const setting of SETTINGS.filter((name) => values.only.length === 0 || values.only.includes(name)))
      rows.push(...(await rowsOf(pair, { setting, rounds, warm })))
    if (values.json) console.log(JSON.stringify({ machine, rows }, null, 2))
    else console.log(`${styleText('dim', machineText(machine))}\n\n${caseText(caseOf(folder), rows)}`)
  } finally {
    pair.there.kill()
    pair.here.kill()
    workspace.remove()
  }
}

function problemOf(folder: string | undefined, rest: readonly string[]): string | undefined {
  if (folder === undefined || rest.length > 0) return 'Name one folder, that of the other checkout.'
  const unknown = values.only.find((name) => !SETTINGS.includes(name as Setting))
  if (unknown !== undefined) return `There is no row "${unknown}". The rows are: ${SETTINGS.join(', ')}.`
  if (existsSync(join(folder, 'dist', 'index.js'))) return undefined
  return `${folder} has no dist/index.js: run npm ci and npm run build there.`
}

interface Pair {
  readonly there: ChildProcess
  readonly here: ChildProcess
}

function startPlayer(root: string, workspace: Workspace): ChildProcess {
  const folder = workspace.path('player')
  mkdirSync(folder)
  return fork(join(import.meta.dirname, 'against', 'player.ts'), [resolve(root), folder])
}

async function play(player: ChildProcess, request: RoundRequest): Promise<RoundTime> {
  player.send(request)
  return (await answerOf(player)) as RoundTime
}

/** The next message of a player. Throws if it ends instead. */
async function answerOf(player: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const ended = once(player, 'exit', over).then(() => {
    throw new Error('A process that plays turns has ended; its message is above.')
  })
  try {
    const message: unknown[] = await Promise.race([once(player, 'message', over), ended])
    return message[0]
  } finally {
    ended.catch(() => {})
    over.abort()
  }
}

interface Effort {
  readonly setting: Setting
  readonly rounds: number
  readonly warm: number
}

async function rowsOf({ there, here }: Pair, { setting, rounds, warm }: Effort): Promise<Row[]> {
  const turns = TURNS[setting]
  const conversations = setting === 'fifty' ? 50 : 1
  const warmRounds = Math.ceil(warm / turns / conversations)
  const progress = progressBar(`rounds, ${setting}`, warmRounds + rounds)
  const times = { there: [] as RoundTime[], here: [] as RoundTime[] }
  for (let round = 1; round <= warmRounds + rounds; round++) {
    // The second finds other caches than the first, so they swap.
    for (const side of round % 2 === 0 ? (['there', 'here'] as const) : (['here', 'there'] as const)) {
      const time = await play(side === 'here' ? here : there, { setting, turns })
      if (round > warmRounds) times[side].push(time)
    }
    progress(round)
  }
  return (['wall', 'cpu'] as const).map((clock) =>
    compare({
      what: `a turn, ${setting === 'fifty' ? '50 at once' : setting}, ${clock === 'wall' ? 'time' : 'CPU time'}`,
      unit: 'µs',
      baseline: ['there', times.there.map((time) => time[clock])],
      subject: ['here', times.here.map((time) => time[clock])],
    }),
  )
}

function caseOf(folder: string): Omit<Case, 'run'> {
  return {
    name: 'against',
    title: `a whole turn of this checkout against one of ${folder}`,
    measured:
      'executeTurn to its outcome, as in the case `agent` of npm run bench: two processes that alternate in rounds, both warmed up on the store that is measured.',
    notMeasured: 'the model and the tool, which answer at once; two processes at work in the same moment.',
  }
}
