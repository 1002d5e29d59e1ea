/**
 * Before a test run: bundles the package and the programs of the tests into a folder of the run, beside a copy of the
 * manifest and the packages, as an installed package lies. Processes of the run share the code that Node has compiled.
 */
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundle } from '../../scripts/bundle.ts'
import { BUILD_VARIABLE, PROGRAMS } from './programs.ts'

/** Linux keeps these files in memory. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 ** 30

export async function setup(project: TestProject): Promise<() => void> {
  process.env['TMPDIR'] = folderOfTests()
  const root = mkdtempSync(join(tmpdir(), 'holdfast-tests-'))
  const dir = join(root, 'dist')
  // Tests start processes of other users, too.
  chmodSync(root, 0o755)
  copyFileSync('package.json', join(root, 'package.json'))
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  symlinkSync(resolve('prompts'), join(root, 'prompts'))
  await bundle({ dir, programs: PROGRAMS })
  project.onTestsRerun(() => bundle({ dir, programs: PROGRAMS }))
  process.env[BUILD_VARIABLE] = dir
  process.env['NODE_COMPILE_CACHE'] = join(root, 'compiled')
  // A process that a test left behind may still write compiled code while it ends.
  return () => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/**
 * The folder for files of tests. In memory where there is room: tests write thousands of small databases, and no test can
 * tell a disk that forgets at a power failure from one that does not. The commands that kill processes use the disk.
 */
function folderOfTests(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
