/**
 * `npm run scale`: what operations cost in a very large file, beside a small one. Nothing should grow with the size;
 * where a ratio is over 2 a query reads more than it returns.
 */
import { parseArgs, styleText } from 'node:util'
import { orExplain, wholeNumber } from './kit/args.ts'
import { progressBar } from './kit/progress.ts'
import { type Case, isWithin, type Row } from './kit/result.ts'
import { caseText } from './kit/table.ts'
import { createWorkspace, describeMachine, machineText } from './kit/workspace.ts'
import { longCase } from './scale/long.ts'
import { manyCase } from './scale/many.ts'

const HELP = `Usage: npm run scale -- [options]

  --entries N    entries of the long conversation (default: 1000000); 0 leaves it out
  --contexts N   conversations in one file (default: 100000), ten entries each; 0 leaves them out
  --json         print the results as JSON
  --dir PATH     keep the files there while running (default: .tmp); about 0.5 GB for each million entries
  --help

Examples:
  npm run scale                                      both, two or three minutes
  npm run scale -- --entries 100000 --contexts 0     a shorter conversation only
  npm run scale -- --json > scale.json               for a machine to read`

const { values } = orExplain(() =>
  parseArgs({
    options: {
      entries: { type: 'string', default: '1000000' },
      contexts: { type: 'string', default: '100000' },
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
  const entries = wholeNumber('entries', values.entries, { least: 1000, step: 100 })
  const contexts = wholeNumber('contexts', values.contexts, { least: 100, step: 100 })
  if (entries === undefined || contexts === undefined) return
  const cases = [
    ...(entries === 0 ? [] : [longCase(entries, progressBar('entries', entries))]),
    ...(contexts === 0 ? [] : [manyCase(contexts, progressBar('conversations', contexts))]),
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
    const steep = results.flatMap(({ rows }) => rows).filter((row) => !isWithin(row))
    if (steep.length > 0 && !values.json) console.log(styleText('red', `${steep.length} not flat`))
  } finally {
    workspace.remove()
  }
}
