/**
 * `npm run kill -- 100`: kills a process that writes to a SQLite store so many times, each time at a random moment, and
 * counts lost entries. A lost acknowledged entry makes the command fail. `npm run kill -- 100 NORMAL` uses synchronous
 * NORMAL instead of FULL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { Child } from '../src/testing/store-contract/child.ts'
import { type CrashReport, crash } from '../src/testing/store-contract/crash.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run kill -- [KILLS] [FULL|NORMAL]

Kills a process that writes to a SQLite store at random moments, and counts lost entries.

  KILLS          the number of kills (default 100)
  FULL, NORMAL   the store's option synchronous (default FULL)
  --help

Examples:
  npm run kill                     100 kills
  npm run kill -- 1000 NORMAL      1,000 kills, with synchronous NORMAL`)

/** The number of kills of the same conversations, before new ones are used. */
const KILLS_EACH = 10

const kills = Number(process.argv[2] ?? 100)
const synchronous = process.argv[3] === 'NORMAL' ? 'NORMAL' : 'FULL'
if (!Number.isSafeInteger(kills) || kills < 1) throw new UsageError('How many kills? npm run kill -- 100')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-kill-'))
const path = join(folder, 'kill.db')
const worker = {
  module: new URL('../test/store/open-sqlite.ts', import.meta.url).href,
  argument: JSON.stringify([path, { synchronous }]),
}

function integrity(): string {
  const db = new DatabaseSync(path)
  const rows = db.prepare('PRAGMA integrity_check').all()
  db.close()
  return rows.map((row) => String(row['integrity_check'])).join('; ')
}

const reports: CrashReport[] = []
const damage: string[] = []
const started = performance.now()

async function killAll(): Promise<void> {
  const progress = new Progress(kills, 'kills')
  for (let kill = 0; kill < kills; kill++) {
    reports.push(
      await crash({
        child: (job) => new Child(worker, job),
        reopen: async () => sqliteStore(path),
        name: `kill-${Math.floor(kill / KILLS_EACH)}`,
      }),
    )
    const found = integrity()
    if (found !== 'ok') damage.push(`kill ${kill + 1}: ${found}`)
    progress.add(1, `${reports.flatMap(({ lost, torn }) => [...lost, ...torn]).length} lost or torn`)
  }
  progress.end()
}

function print(): void {
  const lost = reports.flatMap((report) => report.lost)
  const torn = reports.flatMap((report) => report.torn)
  const rows = {
    synchronous,
    kills: reports.length,
    'acknowledged entries': reports.reduce((total, { acknowledged }) => total + acknowledged, 0),
    'lost appends': lost.length,
    'torn appends': torn.length,
    'unacknowledged but present entries': reports.reduce((total, report) => total + report.unacknowledged, 0),
    'damaged files': damage.length,
    seconds: Math.round((performance.now() - started) / 1000),
  }
  for (const [name, count] of Object.entries(rows))
    console.log(`${name.padEnd(36)}${String(count).padStart(8)}`)
  for (const line of [...lost, ...torn, ...damage]) console.log(line)
  if (lost.length + torn.length + damage.length > 0) process.exitCode = 1
}

await interruptible(killAll, print)
rmSync(folder, { recursive: true })
print()
