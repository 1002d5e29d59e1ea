/** The steps of `npm run check`, and their selection by name. */
import type { Step } from './step.ts'
import { UsageError } from './usage.ts'

const steps: readonly Step[] = [
  { name: 'format', command: ['biome', 'ci', '--colors=off'] },
  { name: 'lint', command: ['oxlint'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'page types', command: ['tsc', '-p', 'test/serve/page'] },
  { name: 'imports', command: ['node', 'scripts/imports.ts'] },
  { name: 'output', command: ['node', 'scripts/output.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
]

/** The steps with these names, or all. Throws for an unknown name. */
export function chosenSteps(wanted: readonly string[]): readonly Step[] {
  const unknown = wanted.filter((name) => !steps.some((step) => step.name === name))
  if (unknown.length > 0)
    throw new UsageError(
      `No such step: ${unknown.join(', ')}. The steps are ${steps.map(({ name }) => name).join(', ')}.`,
    )
  return steps.filter((step) => wanted.length === 0 || wanted.includes(step.name))
}
