/** Opening a file that others create at the same moment: by calls of the file system, one by one, and by processes. */
import { type ChildProcess, fork } from 'node:child_process'
import fs, { rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { programFile } from '../build/programs.ts'
import { memoryFolder } from '../memory-folder.ts'

const CALLS = ['statSync', 'existsSync', 'accessSync', 'openSync', 'readSync'] as const

function folder(): string {
  const made = memoryFolder('holdfast-open-')
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

/** Runs `act` right after the call number `at` of the file system, unless there are fewer. Returns the number of calls. */
function withInterruption(at: number, act: () => void, run: () => void): number {
  const originals = CALLS.map((name) => [name, fs[name]] as const)
  let [count, isActing] = [0, false]
  for (const [name, original] of originals)
    Object.assign(fs, {
      [name]: (...args: unknown[]) => {
        const result: unknown = (original as (...args: unknown[]) => unknown)(...args)
        if (isActing) return result
        count += 1
        isActing = count === at
        if (isActing) act()
        isActing = false
        return result
      },
    })
  syncBuiltinESMExports()
  try {
    run()
    return count
  } finally {
    for (const [name, original] of originals) Object.assign(fs, { [name]: original })
    syncBuiltinESMExports()
  }
}

it.each([
  ['there is no file', () => {}],
  ['the file is empty', (path: string) => writeFileSync(path, '')],
])('%s, and another store creates it after any call of the file system', async (_, prepare) => {
  const made = folder()
  for (let at = 1, last = 1; at <= last; at++) {
    const path = join(made, `${at}.db`)
    prepare(path)
    const stores: ReturnType<typeof sqliteStore>[] = []
    const open = (): void => void stores.push(sqliteStore(path))
    last = withInterruption(at, open, open)
    expect(stores).toHaveLength(2)
    for (const store of stores) await store.close()
  }
})

it('processes that create the same file at the same moment all open it', async () => {
  const made = folder()
  const next = (child: ChildProcess) => new Promise<unknown>((resolve) => child.once('message', resolve))
  const children = Array.from({ length: 4 }, () => fork(programFile('test/store/opening-process.ts')))
  onTestFinished(() => children.forEach((child) => child.kill()))
  await Promise.all(children.map(next))
  for (let round = 0; round < 25; round++) {
    const replies = children.map(next)
    for (const child of children) child.send(join(made, `${round}.db`))
    expect(await Promise.all(replies)).toEqual(['', '', '', ''])
  }
})
