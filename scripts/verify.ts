/**
 * `npm run verify`: exactly what CI runs, one step after the other, stopping at the first failure.
 * `--skip=test` leaves steps out (comma-separated), for a caller that has already run them.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runStep, type Step, type StepResult, summary } from './step.ts'

const { values } = parseArgs({ options: { skip: { type: 'string', default: '' } } })
const skipped = values.skip.split(',')
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

const all: Step[] = [
  { name: 'check', command: ['npm', 'run', '--silent', 'check'] },
  { name: 'test', command: ['npm', 'run', '--silent', 'test'] },
  { name: 'test:page', command: ['npm', 'run', '--silent', 'test:page'] },
  { name: 'build', command: ['npm', 'run', '--silent', 'build'] },
  { name: 'test:package', command: ['npm', 'run', '--silent', 'test:package'] },
  { name: 'examples', command: ['npm', 'run', '--silent', 'examples'] },
]
if (manifest.scripts['bench']) {
  all.push({ name: 'bench', command: ['npm', 'run', '--silent', 'bench', '--', '--guard'] })
}

const results: StepResult[] = []
for (const step of all.filter((candidate) => !skipped.includes(candidate.name))) {
  console.log(`\n── ${step.name}`)
  const result = await runStep(step, 'loud')
  results.push(result)
  if (!result.ok) break
}
console.log(`\n${results.map(summary).join('\n')}`)
if (results.some((result) => !result.ok)) process.exitCode = 1
