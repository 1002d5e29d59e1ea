/**
 * The agent of the tour: the tools of examples/site-manager in a folder of its own. The tools keep records of their
 * effects, as evidence besides the journal. Tests replace this module to see the tour find a fault.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentConfig } from 'holdfast'
import { openSite, type SiteDatabase } from '../../examples/site-manager/database.ts'
import { entities, siteTools } from '../../examples/site-manager/site.ts'
import { openSupplier, orderTool, type Supplier } from '../../examples/site-manager/supplier.ts'

/** Longer than the tour: the process is killed before. */
const CONFIRM_MS = 60_000

export interface TourWiring {
  readonly agent: Pick<AgentConfig, 'tools' | 'entities'>
  readonly supplier: Supplier
  /** The id of each task that the body of update_task was run with, in order. */
  readonly updates: () => readonly string[]
}

export function openWiring(home: string): TourWiring {
  const supplier = openSupplier(join(home, 'orders.jsonl'))
  const record = join(home, 'updates.txt')
  const site = openSite(join(home, 'site.db'))
  const recorded: SiteDatabase = {
    ...site,
    setStatus: (taskId, status) => {
      appendFileSync(record, `${taskId}\n`)
      site.setStatus(taskId, status)
    },
  }
  return {
    agent: { tools: [...siteTools(recorded), orderTool(supplier, CONFIRM_MS)], entities },
    supplier,
    updates: () => (existsSync(record) ? readFileSync(record, 'utf8').split('\n').filter(Boolean) : []),
  }
}
