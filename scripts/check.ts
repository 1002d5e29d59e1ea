/**
 * `npm run check`: everything that can be said about the code without running it, in seconds.
 * The steps run side by side; each prints one line when it ends, and what it found if it failed.
 * Names of steps as arguments run only those: `npm run check -- imports types`.
 */
import { runStep, type Step, summary } from './step.ts'

const steps: readonly Step[] = [
  { name: 'format', command: ['biome', 'ci', '--colors=off'] },
  { name: 'lint', command: ['oxlint'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'imports', command: ['node', 'scripts/imports.ts'] },
  { name: 'output', command: ['node', 'scripts/output.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
]

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name))
if (unknown.length > 0) throw new Error(`No such step: ${unknown.join(', ')}`)

const chosen = steps.filter((step) => wanted.length === 0 || wanted.includes(step.name))
const results = await Promise.all(
  chosen.map(async (step) => {
    const result = await runStep(step, 'quiet')
    console.log(result.ok ? summary(result) : `${summary(result)}\n${result.output.trimEnd()}`)
    return result
  }),
)
if (results.some((result) => !result.ok)) process.exitCode = 1
