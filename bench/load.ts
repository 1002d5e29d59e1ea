/**
 * `npm run load`: one agent for thousands of turns, and a thousand agents at once in one process on one file. Exits with 1
 * if a turn fails or a figure is over its budget.
 */
import { parseArgs, styleText } from 'node:util'
import { orExplain, wholeNumber } from './kit/args.ts'
import { progressBar } from './kit/progress.ts'
import { type Case, isWithin, type Row } from './kit/result.ts'
import { caseText } from './kit/table.ts'
import { createWorkspace, describeMachine, machineText } from './kit/workspace.ts'
import { crowdCase } from './load/crowd.ts'
import { marathonCase } from './load/marathon.ts'

const HELP = `Usage: npm run load -- [options]

  --agents N    agents at once (default: 1000), ten turns each; 0 leaves them out
  --turns N     turns of the one agent that goes on (default: 10000); 0 leaves it out
  --latency N   milliseconds until the model of the crowd answers (default: 5)
  --json        print the results as JSON
  --dir PATH    keep the files there while running (default: .tmp)
  --help

Examples:
  npm run load                                  both, about a minute
  npm run load -- --agents 100 --turns 2000     less of both
  npm run load -- --turns 0 --latency 200       a thousand agents with a slow model
  npm run load -- --json > load.json            for a machine to read`

const { values } = orExplain(() =>
  parseArgs({
    options: {
      agents: { type: 'string', default: '1000' },
      turns: { type: 'string', default: '10000' },
      latency: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
      dir: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
)

if (values.help) {
  console.log(HELP)
} else {
  await main()
}

async function main(): Promise<void> {
  const agents = wholeNumber('agents', values.agents, { least: 1 })
  const turns = wholeNumber('turns', values.turns, { least: 1000 })
  const latencyMs = wholeNumber('latency', values.latency, { least: 0 })
  if (agents === undefined || turns === undefined || latencyMs === undefined) return
  // The crowd comes last: what it leaves on the heap would make that of the marathon look flat.
  const cases = [
    ...(turns === 0 ? [] : [marathonCase(turns, progressBar('turns', turns))]),
    ...(agents === 0 ? [] : [crowdCase({ agents, latencyMs }, progressBar('turns', agents * 10))]),
  ]
  const workspace = createWorkspace(values.dir)
  try {
    const machine = describeMachine(workspace.folder)
    if (!values.json) console.log(`${styleText('dim', machineText(machine))}\n`)
    const results: (Case & { rows: readonly Row[] })[] = []
    for (const item of cases) {
      const rows = await item.run({ short: false, seconds: 20, path: workspace.path })
      results.push({ ...item, rows })
      if (!values.json) console.log(`${caseText(item, rows)}\n`)
    }
    if (values.json) console.log(JSON.stringify({ machine, cases: results }, null, 2))
    const over = results.flatMap(({ rows }) => rows).filter((row) => !isWithin(row))
    if (over.length === 0) return
    process.exitCode = 1
    if (!values.json) console.log(styleText('red', `${over.length} over budget`))
  } finally {
    workspace.remove()
  }
}

/** A whole number from `least` on, or 0 to leave it out. */
