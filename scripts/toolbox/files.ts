/**
 * File tools under attack: hostile paths, calls while another process swaps what they open, and random edits beside a
 * second implementation. Each escape and each difference is a fault.
 */
import { check, property } from 'fast-check'
import { openWorkspace } from '../../src/toolbox/workspace.ts'
import { callerOf } from '../../test/toolbox/caller.ts'
import { Arena, escapes, hostilePaths, raceAll, racesIn } from '../../test/toolbox/hostile.ts'
import { edits } from '../../test/toolbox/random-edits.ts'
import { referenceReplace, replaced } from '../../test/toolbox/replace-reference.ts'

export interface FilesRun {
  /** Calls in each race, and a hundredth of the random edits. */
  readonly count: number
  readonly report: (line: string) => void
}

export interface FilesFindings {
  readonly paths: number
  readonly raced: number
  readonly edits: number
  readonly faults: readonly string[]
}

export async function run({ count, report }: FilesRun): Promise<FilesFindings> {
  const tried = await inArena(async (arena) => {
    const paths = hostilePaths(arena)
    const faults = await escapes(arena, await callerOf(arena.root), paths)
    report(`${paths.length} hostile paths with four tools: ${faults.length} escape`)
    return { paths: paths.length, faults }
  })
  const swapped = await inArena((arena) => raceIn(arena, { count, report }))
  const different = compareEdits(count * 100)
  report(`${count * 100} random edits: ${different.length} differ`)
  const faults = [...tried.faults, ...swapped.faults, ...different]
  return { paths: tried.paths, raced: swapped.raced, edits: count * 100, faults }
}

async function inArena<T>(work: (arena: Arena) => Promise<T>): Promise<T> {
  const arena = new Arena()
  try {
    return await work(arena)
  } finally {
    arena.remove()
  }
}

async function raceIn(
  arena: Arena,
  { count, report }: FilesRun,
): Promise<Pick<FilesFindings, 'raced' | 'faults'>> {
  const [call, workspace] = await Promise.all([callerOf(arena.root), openWorkspace(arena.root)])
  const faults: string[] = []
  let raced = 0
  for (const race of racesIn(arena)) {
    const { ok, refused, found } = await raceAll(arena, race, { call, workspace, count })
    raced += ok + refused
    faults.push(...found)
    report(`${race.file} swapped: ${ok} calls done, ${refused} refused, ${found.length} escape`)
  }
  return { raced, faults }
}

function compareEdits(count: number): readonly string[] {
  const { failed, counterexample } = check(
    property(edits, ({ file, diff }) => replaced(file, diff) === referenceReplace(file, diff)),
    { numRuns: count },
  )
  return failed ? [`An edit differs: ${JSON.stringify(counterexample)}`] : []
}
