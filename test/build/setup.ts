/**
 * Before a test run: bundles the package and the programs of the tests into a folder of the run, beside a copy of the
 * manifest and the packages, as an installed package lies. Processes of the run share the code that Node has compiled.
 */
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundle } from '../../scripts/bundle.ts'
import { BUILD_VARIABLE, PROGRAMS } from './programs.ts'

export async function setup(project: TestProject): Promise<() => void> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-tests-'))
  const dir = join(root, 'dist')
  copyFileSync('package.json', join(root, 'package.json'))
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  await bundle({ dir, programs: PROGRAMS })
  project.onTestsRerun(() => bundle({ dir, programs: PROGRAMS }))
  process.env[BUILD_VARIABLE] = dir
  process.env['NODE_COMPILE_CACHE'] = join(root, 'compiled')
  return () => rmSync(root, { recursive: true, force: true })
}
