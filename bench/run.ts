/**
 * `npm run bench`: the cost of the runtime, as ratios against a baseline in the same run. Figures in µs differ from
 * machine to machine and from minute to minute; ratios are stable. `--guard` is the short version for CI.
 */
import { parseArgs, styleText } from 'node:util'
import { a2a } from './case/a2a.ts'
import { agent } from './case/agent.ts'
import { agentLength } from './case/agent-length.ts'
import { bytes } from './case/bytes.ts'
import { corpus } from './case/corpus.ts'
import { fold } from './case/fold.ts'
import { grounding } from './case/grounding.ts'
import { group } from './case/group.ts'
import { importing } from './case/import.ts'
import { length } from './case/length.ts'
import { logs } from './case/logs.ts'
import { start } from './case/start.ts'
import { toolbox } from './case/toolbox.ts'
import { turn } from './case/turn.ts'
import { watch } from './case/watch.ts'
import { window } from './case/window.ts'
import { orExplain } from './kit/args.ts'
import { guard } from './kit/guard.ts'
import { type Case, isWithin, type Lab, type Row } from './kit/result.ts'
import { caseText } from './kit/table.ts'
import { createWorkspace, describeMachine, machineText } from './kit/workspace.ts'

const CASES: readonly Case[] = [
  turn,
  group,
  length,
  start,
  window,
  bytes,
  watch,
  fold,
  agent,
  agentLength,
  logs,
  grounding,
  importing,
  toolbox,
  corpus,
  a2a,
]
const GUARDED: readonly Case[] = [
  turn,
  group,
  length,
  start,
  bytes,
  agent,
  agentLength,
  logs,
  grounding,
  importing,
  toolbox,
  a2a,
]

const HELP = `Usage: npm run bench -- [options]

  --only NAME   run one case; may be given several times
  --guard       short runs of what has a budget, with wide margins; exits with 1 if one is missed
  --json        print the results as JSON
  --dir PATH    keep the files there while running (default: .tmp)
  --help

Cases:
${CASES.map(({ name, title }) => `  ${name.padEnd(12)} ${title}`).join('\n')}

Examples:
  npm run bench                               everything, about five minutes
  npm run bench -- --only turn --only group   two cases
  npm run bench -- --json > result.json       for a machine to read
  npm run bench -- --guard                    what CI runs

npm run scale shows that nothing grows with the size of the file.`

const { values } = orExplain(() =>
  parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      guard: { type: 'boolean', default: false },
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
  const unknown = values.only.find((name) => !CASES.some((item) => item.name === name))
  if (unknown !== undefined) {
    console.error(
      `There is no case "${unknown}". The cases are: ${CASES.map(({ name }) => name).join(', ')}.`,
    )
    process.exitCode = 1
    return
  }
  const chosen = (values.guard ? GUARDED : CASES).filter(
    ({ name }) => values.only.length === 0 || values.only.includes(name),
  )
  const workspace = createWorkspace(values.dir)
  const lab: Lab = { short: values.guard, seconds: values.guard ? 4 : 20, path: workspace.path }
  try {
    if (values.guard) process.exitCode = (await guard(chosen, lab)) ? 0 : 1
    else await report(chosen, lab, workspace.folder)
  } finally {
    workspace.remove()
  }
}

async function report(chosen: readonly Case[], lab: Lab, folder: string): Promise<void> {
  const machine = describeMachine(folder)
  if (!values.json) console.log(`${styleText('dim', machineText(machine))}\n`)
  const results: (Case & { rows: readonly Row[] })[] = []
  for (const item of chosen) {
    const rows = await item.run(lab)
    results.push({ ...item, rows })
    if (!values.json) console.log(`${caseText(item, rows)}\n`)
  }
  if (values.json) console.log(JSON.stringify({ machine, cases: results }, null, 2))
  const over = results.flatMap(({ rows }) => rows).filter((row) => !isWithin(row))
  if (over.length > 0 && !values.json) console.log(styleText('red', `${over.length} over budget`))
}
