/** No path, and no swap by another process, leads out of the working folder. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { run } from '../../scripts/toolbox/files.ts'
import { openWorkspace } from '../../src/toolbox/workspace.ts'
import { PATIENCE_MS } from '../patience.ts'
import type { Call } from './caller.ts'
import { Arena, escapes, hostilePaths, type Race, racesIn, whileSwapped } from './hostile.ts'

function arena(): Arena {
  const made = new Arena()
  onTestFinished(() => made.remove())
  return made
}

it('hostile paths, and paths that another process swaps for links, reach nothing outside with any of the tools', async () => {
  const lines: string[] = []
  const { paths, raced, faults } = await run({ count: 40, report: (line) => lines.push(line) })
  expect([faults, paths >= 300, raced > 0]).toEqual([[], true, true])
  // On a busy machine one race may go one way alone.
  const races = lines.flatMap((line) => /swapped: (\d+) calls done, (\d+) refused/.exec(line)?.slice(1) ?? [])
  const count = (from: number) =>
    races.filter((_, at) => at % 2 === from).reduce((sum, one) => sum + Number(one), 0)
  expect([count(0) > 0, count(1) > 0]).toEqual([true, true])
})

it('hostile paths reach nothing outside without /proc, either', async () => {
  const here = arena()
  const workspace = await openWorkspace(here.root, { confinement: 'paths' })
  const found: string[] = []
  for (const path of hostilePaths(here).filter((_, index) => index % 4 === 0)) {
    const text = workspace.withFile(path, async ({ handle }) => (await handle.readFile()).toString())
    const write = workspace.write(path, { content: 'written', id: 'x' })
    await Promise.allSettled([text, write])
    const escape = here.escape(await text.catch(String))
    if (escape !== undefined) found.push(`${path}: ${escape}`)
  }
  expect(found).toEqual([])
})

it('the same paths escape from a tool that only joins them', async () => {
  const here = arena()
  const naive: Call = async (tool, { path, content }) => {
    const at = join(here.root, path as string)
    try {
      if (tool === 'write_to_file') writeFileSync(at, content as string)
      return tool === 'read_file' ? readFileSync(at, 'utf8') : ''
    } catch {
      return ''
    }
  }
  expect((await escapes(here, naive, hostilePaths(here).slice(0, 40))).length).toBeGreaterThan(10)
})

it('the same swaps lead out of a tool that checks first and opens then', async () => {
  const here = arena()
  const naive = async (path: string): Promise<string> => {
    try {
      if (!(await realpath(join(here.root, path))).startsWith(`${here.root}/`)) return 'refused'
      return await readFile(join(here.root, path), 'utf8')
    } catch {
      return 'refused'
    }
  }
  const [race] = racesIn(here)
  const until = Date.now() + PATIENCE_MS
  const isOut = await whileSwapped(race as Race, async () => {
    while (Date.now() < until) if (here.isShown(await naive('leaf.txt'))) return true
    return false
  })
  expect(isOut).toBe(true)
})
