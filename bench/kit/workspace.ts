/**
 * Where a run keeps its files, and on what machine. The folder lies inside the project and not in the system's
 * temporary one, which is often memory: there a sync to disk costs nothing and the figures would mean nothing.
 */
import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { quantile } from './measure.ts'

export interface Workspace {
  readonly folder: string
  readonly path: (name: string) => string
  readonly remove: () => void
}

export function createWorkspace(parent: string = '.tmp'): Workspace {
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(resolve(parent), 'bench-'))
  let files = 0
  return {
    folder,
    path: (name) => join(folder, `${++files}-${name}`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly node: string
  readonly sqlite: string
  /** Median time of one small write that is synced to disk: what a commit with FULL costs at the least. */
  readonly syncMicros: number
}

export function describeMachine(folder: string): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    node: process.versions.node,
    sqlite: process.versions['sqlite'] ?? 'unknown',
    syncMicros: Math.round(syncTime(join(folder, 'sync'))),
  }
}

export function machineText({ cpu, cores, node, sqlite, syncMicros }: Machine): string {
  return `${cpu}, ${cores} cores, Node ${node}, SQLite ${sqlite}; a sync to disk here takes ${syncMicros} µs`
}

function syncTime(file: string): number {
  const handle = openSync(file, 'a')
  const bytes = Buffer.alloc(512)
  const times = Array.from({ length: 100 }, () => {
    const start = performance.now()
    writeSync(handle, bytes)
    fdatasyncSync(handle)
    return (performance.now() - start) * 1000
  })
  closeSync(handle)
  rmSync(file)
  return quantile(
    times.toSorted((a, b) => a - b),
    0.5,
  )
}
