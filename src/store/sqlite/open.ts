/**
 * Opens a file without harm. Before SQLite may touch it, files that are not ours are refused unread or read without a
 * trace, and a log that SQLite would silently truncate is refused as damaged.
 */
import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ErrorCode, HoldfastError } from '../../protocol/index.ts'
import { inspectLog } from './log.ts'
import { DatabaseSync } from './node-sqlite.ts'
import { inspectFile } from './schema.ts'
import { isNotWritable, translate } from './sqlite-errors.ts'

export interface OpenOptions {
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly readOnly: boolean
  /** Timeout for other processes; opening blocks. */
  readonly waitMs: number
}

export function openFile(path: string, options: OpenOptions): DatabaseSync {
  checkPath(path)
  checkKind(path, options)
  if (existsSync(path)) {
    checkLog(path, options)
    checkOurs(path)
  }
  try {
    return options.readOnly ? openToRead(path, options) : openToWrite(path, options)
  } catch (error) {
    throw translate(error, path)
  }
}

function openToWrite(path: string, { waitMs }: OpenOptions): DatabaseSync {
  if (existsSync(path)) accessSync(path, constants.W_OK)
  return new DatabaseSync(path, { timeout: waitMs })
}

/**
 * SQLite creates a small file beside the database to read it. Where it may not, and there is no log, no process is
 * writing, and the file can be read as immutable.
 */
function openToRead(path: string, { waitMs }: OpenOptions): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: waitMs, readOnly: true })
  try {
    db.exec('SELECT 1 FROM sqlite_schema')
    return db
  } catch (error) {
    db.close()
    if (!isNotWritable(error)) throw error
    if (sizeOf(`${path}-wal`) === 0) return openUnchanging(path)
    const way = 'Open it for writing once, or copy both to a folder that this user may write to'
    throw failed('store-read-only', path, `has a log ${path}-wal that must be checkpointed first. ${way}`)
  }
}

function openUnchanging(path: string): DatabaseSync {
  return new DatabaseSync(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true })
}

function checkPath(path: string): void {
  const isPath = typeof path === 'string' && path.trim() !== '' && !path.includes('\0')
  if (isPath && path !== ':memory:' && !path.startsWith('file:')) return
  throw new HoldfastError('invalid-option', {
    message:
      'A SQLite store needs the plain path of a file. For a store without a file use memoryStore(); for a file: URL use fileURLToPath().',
  })
}

function checkKind(path: string, { readOnly }: OpenOptions): void {
  // Before the file: a process that is creating both writes the file first.
  const log = tryStat(`${path}-wal`)?.size ?? 0
  const stat = tryStat(path)
  if (stat === undefined) {
    if (!existsSync(dirname(path)))
      throw failed(
        'store-failed',
        path,
        'cannot be opened: its folder does not exist. Create the folder first',
      )
    if (log > 0)
      throw failed('store-corrupt', path, `does not exist, but its log ${path}-wal does. ${LOG_ALONE}`)
    if (!readOnly) return
    throw failed('not-found', path, 'does not exist. Open it without readOnly to begin a new one')
  }
  if (stat.isDirectory()) throw failed('store-failed', path, 'is a folder. Give the path of a file')
  if (!stat.isFile()) throw failed('store-failed', path, 'is not a regular file. Give the path of a file')
  checkSize(path, stat.size, log)
}

/** SQLite treats a file that is too short as new, as it does a missing one, overwrites it and deletes the log. */
function checkSize(path: string, size: number, log: number): void {
  if (size === 0 && log > 0)
    throw failed('store-corrupt', path, `is empty, but its log ${path}-wal is not. ${UNTOUCHED}`)
  const cut = size > 0 && (size < SMALLEST_PAGE || (log === 0 && size % SMALLEST_PAGE !== 0))
  if (cut)
    throw failed('store-corrupt', path, `is no database, or was cut off after ${size} bytes. ${UNTOUCHED}`)
}

/** The last write before a power failure may be broken; earlier commits may not. */
function checkLog(path: string, { synchronous }: OpenOptions): void {
  const { frames, lost, headerBroken } = inspectLog(`${path}-wal`)
  const atMost = synchronous === 'FULL' ? 1 : Number.POSITIVE_INFINITY
  if (!headerBroken && lost <= atMost) return
  const what = headerBroken
    ? 'cannot be read at all'
    : `is broken after frame ${frames}, with ${lost} commits behind it`
  throw failed('store-corrupt', path, `is damaged: its log ${path}-wal ${what}. ${UNTOUCHED}`)
}

/** Inspects the file alone, without locks, side files or recovery. The real opening finds the rest. */
function checkOurs(path: string): void {
  if (sizeOf(path) === 0) return
  let db: DatabaseSync | undefined
  try {
    db = openUnchanging(path)
    inspectFile(db, path)
  } catch (error) {
    if (HoldfastError.is(error, 'store-foreign') || HoldfastError.is(error, 'store-newer')) throw error
  } finally {
    db?.close()
  }
}

function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw translate(error, path)
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

const SMALLEST_PAGE = 512
const LOG_ALONE =
  'It may hold what was written last, and nothing was changed: put the file back beside it, or move it away to begin a new store'
const UNTOUCHED =
  'Nothing was changed: restore a backup, or copy what is intact into a new file with salvageSqlite() from holdfast/sqlite/repair'

function failed(code: ErrorCode, path: string, why: string): HoldfastError {
  return new HoldfastError(code, { message: `${path} ${why}.`, details: { path } })
}
