/**
 * `npm run toolbox`: hostile paths, commands, searches, addresses and shell lines against the toolbox and the approval policy,
 * each against a referee that is not ours: canaries, a naive reference, IANA's tables, bash. Any fault makes the command fail.
 */
import { parseArgs } from 'node:util'
import { helpIfAsked, UsageError } from './usage.ts'

const PARTS = {
  files: { count: 500, does: 'hostile paths, swapped links, random edits' },
  command: { count: 1000, does: 'hostile commands in the sandbox' },
  search: { count: 500, does: 'searches against a naive reference, hostile file names' },
  web: { count: 200_000, does: 'generated URLs and resolvers against the address guard' },
  policy: { count: 5000, does: 'generated shell lines, with bash as referee' },
} as const

type Part = keyof typeof PARTS

helpIfAsked(`Usage: npm run toolbox -- [options]

${Object.entries(PARTS)
  .map(([name, { count, does }]) => `  ${name.padEnd(9)}${does} (${count})`)
  .join('\n')}

  --only PART     one of these
  --count N       how many, instead of the numbers above
  --help

Examples:
  npm run toolbox                                  everything
  npm run toolbox -- --only policy --count 20000   more shell lines`)

const { values } = parseArgs({ options: { only: { type: 'string' }, count: { type: 'string' } } })
const names = Object.keys(PARTS) as Part[]
if (values.only !== undefined && !names.includes(values.only as Part))
  throw new UsageError(`--only must be one of ${names.join(', ')}, not ${values.only}`)
const count = values.count === undefined ? undefined : Number(values.count)
if (count !== undefined && !(Number.isSafeInteger(count) && count > 0))
  throw new UsageError(`--count must be a whole number above 0, not ${String(values.count)}`)

interface Findings {
  readonly faults?: readonly string[]
  readonly problems?: readonly string[]
}

const runs: Readonly<Record<Part, () => Promise<Run>>> = {
  files: async () => (await import('./toolbox/files.ts')).run,
  command: async () => (await import('./toolbox/command.ts')).run,
  search: async () => (await import('./toolbox/search.ts')).run,
  web: async () => (await import('./toolbox/web.ts')).run,
  policy: async () => (await import('./toolbox/policy.ts')).run,
}

type Run = (options: {
  readonly count: number
  readonly report: (line: string | number) => void
}) => Promise<Findings>

let wrong = 0
for (const name of names) {
  if (values.only !== undefined && values.only !== name) continue
  const started = performance.now()
  const run = await runs[name]()
  let shown = 0
  const report = (line: string | number): void => {
    // Parts that report numbers report often.
    if (typeof line === 'number' && performance.now() - shown < 1000) return
    shown = performance.now()
    console.log(`${name}: ${typeof line === 'number' ? `${line} done` : line}`)
  }
  const { faults, problems } = await run({ count: count ?? PARTS[name].count, report })
  const found = faults ?? problems ?? []
  wrong += found.length
  for (const fault of found.slice(0, 20)) console.log(`  ${fault}`)
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${found.length === 0 ? 'ok  ' : 'FAIL'} ${name}: ${found.length} faults, ${seconds} s`)
}
process.exitCode = wrong === 0 ? 0 : 1
