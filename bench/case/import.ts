/** The cost of importing the package. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { IMPORT, IMPORT_MS } from '../kit/budgets.ts'
import { interleave } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'

export const importing: Case = {
  name: 'import',
  title: 'importing the package in a fresh process',
  measured:
    'wall time of a Node process that imports the built package and ends, against one that does nothing.',
  notMeasured:
    'the first use; a bundled program; reading from a cold disk. The row against `ai` is there once `npm ci --prefix bench/peers` was run.',
  run: async (lab) => {
    const peers = !lab.short && existsSync(join(PEERS, 'node_modules/ai'))
    const { nothing, root, sqlite, ai } = await interleave(
      { rounds: lab.short ? 9 : 30, seconds: lab.seconds },
      {
        nothing: () => processMillis(''),
        root: () => processMillis(`import 'holdfast'`),
        sqlite: () => (lab.short ? 0 : processMillis(`import 'holdfast'; import 'holdfast/sqlite'`)),
        ai: () => (peers ? processMillis(`import 'ai'`, PEERS) : 0),
      },
    )
    const baseline = ['bare node', nothing] as const
    const subject = ['holdfast', root] as const
    const added = root.map((figure, round) => figure - (nothing[round] ?? Number.NaN))
    const inStarts = compare({
      what: 'added, in starts of bare node',
      unit: 'ms',
      baseline,
      subject: ['added', added],
      budget: IMPORT.starts,
    })
    if (lab.short) return [inStarts]
    return [
      compare({
        what: `added by import 'holdfast'`,
        unit: 'ms',
        baseline: ['allowed', nothing.map(() => IMPORT_MS)],
        subject: ['added', added],
        budget: IMPORT.added,
      }),
      inStarts,
      compare({ what: `import 'holdfast'`, unit: 'ms', baseline, subject: ['with it', root] }),
      compare({ what: 'and holdfast/sqlite', unit: 'ms', baseline, subject: ['with both', sqlite] }),
      ...(peers
        ? [
            compare({
              what: `against 'ai'`,
              unit: 'ms',
              baseline: ['ai', ai],
              subject,
              budget: IMPORT.peer,
            }),
          ]
        : []),
    ]
  },
}

const PEERS = join(import.meta.dirname, '../peers')

function processMillis(code: string, cwd?: string): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { cwd })
  if (status !== 0) throw new Error(`A child process failed:\n${stderr.toString()}`)
  return performance.now() - start
}
