/** Translates SQLite's error codes, and damage that SQLite cannot see, into errors of the Store port. */
import { type ErrorCode, HoldfastError, type JsonObject } from '../../protocol/index.ts'

const ERROR = 1
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const TOOBIG = 18
const CONSTRAINT = 19
const NOTADB = 26
const IOERR_READ = 266
const IOERR_SHORT_READ = 522
const IOERR_WRITE = 778
const IOERR_SHMSIZE = 4874
const CONSTRAINT_NOTNULL = 1299
const CONSTRAINT_DATATYPE = 3091

/** A row that SQLite returns without an error and that fails its checksum. */
export class Damage extends Error {
  readonly what: string
  readonly details: JsonObject

  constructor(what: string, details: JsonObject) {
    super(`${what} is damaged`)
    this.what = what
    this.details = { ...details }
  }
}

/** Busy as a result of a pragma instead of an error. */
export class Busy extends Error {
  readonly errcode: number = BUSY
}

export function isSqliteError(error: unknown): boolean {
  return primary(error) !== undefined
}

export function isBusy(error: unknown): boolean {
  const code = primary(error)
  return code === BUSY || code === LOCKED
}

/** True if SQLite may not write to the file, or beside it. */
export function isNotWritable(error: unknown): boolean {
  const code = primary(error)
  return code === READONLY || code === CANTOPEN
}

export function isDamage(error: unknown): boolean {
  const code = primary(error)
  return code === CORRUPT || code === NOTADB || error instanceof Damage || isUnreadableNumber(error)
}

/** The error with what happened and what to do. Errors that are not SQLite's pass unchanged. */
export function translate(error: unknown, path: string): unknown {
  if (error instanceof Damage) return damagedRow(error, path)
  if (isUnreadableNumber(error)) return damagedRow(new Damage('A number', {}), path)
  const code = primary(error)
  if (code === undefined && !isSystemError(error)) return error
  const {
    name,
    text,
    retry = 'never',
  } = code === undefined ? systemVerdict(error as Error) : verdict(code, error as SqliteError)
  return new HoldfastError(name, {
    message: `${path} ${text}`,
    retry,
    details: { path, sqlite: extended(error) },
    cause: error,
  })
}

interface Verdict {
  readonly name: ErrorCode
  readonly text: string
  readonly retry?: 'later'
}

interface SqliteError extends Error {
  readonly errcode: number
}

/** SQLite's general messages for a schema that does not match our statements. */
const SCHEMA_MISMATCH = /unsupported file format|malformed|no such (table|column|index)/

function verdict(primaryCode: number, error: SqliteError): Verdict {
  const reason = error.message
  const code = primaryCode === ERROR && SCHEMA_MISMATCH.test(reason) ? CORRUPT : primaryCode
  switch (code) {
    case BUSY:
    case LOCKED:
      return {
        name: 'store-busy',
        text: 'is locked by another process and stayed so. Nothing was written; try again, or end the process that holds it.',
        retry: 'later',
      }
    case READONLY:
      return notWritable(reason)
    case FULL:
      return {
        name: 'store-full',
        text: 'cannot grow: the disk, or the size limit of the file, is full. Nothing was written; make room and try again.',
        retry: 'later',
      }
    case CORRUPT:
    case NOTADB:
      return {
        name: 'store-corrupt',
        text: `is damaged or not a SQLite database (${reason}). It was left as it is: restore a backup, or copy what is intact into a new file with salvageSqlite() from holdfast/sqlite/repair.`,
      }
    case CANTOPEN:
      return {
        name: 'store-failed',
        text: `cannot be opened (${reason}). Check that its folder exists and that this user may use it.`,
      }
    case IOERR:
      return ioVerdict(error)
    case TOOBIG:
      return { name: 'too-large', text: 'cannot hold a value of this size. Store it in smaller parts.' }
    case CONSTRAINT:
      return constraintVerdict(error)
    default:
      return { name: 'store-failed', text: `reports an error (${reason}).` }
  }
}

function systemVerdict({ message }: Error): Verdict {
  const [reason = ''] = message.split(',')
  if (/^(EACCES|EPERM|EROFS)\b/.test(message)) return notWritable(reason)
  return {
    name: 'store-failed',
    text: `cannot be opened (${reason}). Check the path and that this user may use it.`,
  }
}

function notWritable(reason: string): Verdict {
  return {
    name: 'store-read-only',
    text: `cannot be written to (${reason}). Give this user write access to the file and its folder, or open it with { readOnly: true }.`,
  }
}

function ioVerdict({ errcode, message }: SqliteError): Verdict {
  switch (errcode) {
    case IOERR_WRITE:
    case IOERR_SHMSIZE:
      return {
        name: 'store-full',
        text: `could not be written (${message}): the disk is full, or the file has reached a size limit of the system. Nothing was written; make room and try again.`,
        retry: 'later',
      }
    case IOERR_READ:
    case IOERR_SHORT_READ:
      return {
        name: 'store-failed',
        text: `could not be read (${message}). Nothing was written; check the disk, then try again.`,
        retry: 'later',
      }
    default:
      return {
        name: 'ambiguous',
        text: `had an input/output error (${message}). The write may or may not be stored; repeat the call with the same id.`,
        retry: 'later',
      }
  }
}

function constraintVerdict({ errcode, message }: SqliteError): Verdict {
  if (errcode === CONSTRAINT_DATATYPE || errcode === CONSTRAINT_NOTNULL) {
    return {
      name: 'invalid-entry',
      text: `cannot hold this value (${message}). Nothing was written; numbers must be whole, texts must be strings.`,
    }
  }
  return {
    name: 'store-corrupt',
    text: `holds a row where none should be (${message}). Nothing was written: restore a backup, or copy what is intact into a new file with salvageSqlite() from holdfast/sqlite/repair.`,
  }
}

function damagedRow({ what, details, cause }: Damage, path: string): HoldfastError {
  return new HoldfastError('store-corrupt', {
    message: `${what} in ${path} is damaged. Nothing was changed. Call rebuild() on the conversation, which computes it anew from the entries; if that fails too, restore a backup or use salvageSqlite() from holdfast/sqlite/repair.`,
    details: { ...details, path },
    cause,
  })
}

/** Stored numbers are safe integers; a damaged cell may not be, and Node refuses to read it. */
function isUnreadableNumber(error: unknown): boolean {
  return error instanceof RangeError && (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE'
}

/** An error of the operating system, as the functions of `node:fs` throw it. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string'
}

function extended(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode : undefined
}

function primary(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const code = extended(error)
  return code === undefined ? undefined : code & 0xff
}
