/** What a program pays before its first line. */
import { spawnSync } from 'node:child_process'
import { interleave } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'

export const importing: Case = {
  name: 'import',
  title: 'importing the package in a fresh process',
  measured:
    'wall time of a Node process that imports the built package and ends, against one that does nothing.',
  notMeasured: 'the first use; a bundled program; reading from a cold disk.',
  run: async (lab) => {
    const { nothing, root, sqlite } = await interleave(
      { rounds: 15, seconds: lab.seconds },
      {
        nothing: () => processMillis(''),
        root: () => processMillis(`import 'holdfast'`),
        sqlite: () => processMillis(`import 'holdfast'; import 'holdfast/sqlite'`),
      },
    )
    const baseline = ['bare node', nothing] as const
    return [
      compare({ what: `import 'holdfast'`, unit: 'ms', baseline, subject: ['with it', root] }),
      compare({ what: 'and holdfast/sqlite', unit: 'ms', baseline, subject: ['with both', sqlite] }),
    ]
  },
}

function processMillis(code: string): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code])
  if (status !== 0) throw new Error(`A child process failed:\n${stderr.toString()}`)
  return performance.now() - start
}
