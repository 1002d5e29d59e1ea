/** SQLite's error codes in the words of the Store port. */
import { HoldfastError } from '../../protocol/index.ts'

const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const NOTADB = 26
const IOERR_WRITE = 778

export function isBusy(error: unknown): boolean {
  const code = primary(error)
  return code === BUSY || code === LOCKED
}

export function isDamage(error: unknown): boolean {
  const code = primary(error)
  return code === CORRUPT || code === NOTADB
}

/** What went wrong, said so that the reader knows what to do. Errors that are not SQLite's pass unchanged. */
export function translate(error: unknown, path: string): unknown {
  const code = primary(error)
  if (code === undefined) return error
  const said = (error as Error).message
  const make = (
    name: ConstructorParameters<typeof HoldfastError>[0],
    message: string,
    retry: 'never' | 'later' = 'never',
  ) => new HoldfastError(name, { message, retry, cause: error, details: { path, sqlite: extended(error) } })
  switch (code) {
    case BUSY:
    case LOCKED:
      return make(
        'store-busy',
        `${path} is locked by another process and stayed so. Nothing was written; try again, or end the process that holds it.`,
        'later',
      )
    case READONLY:
      return make(
        'store-read-only',
        `${path} cannot be written to (${said}). Give this user write access to the file and its folder, or open it with { readOnly: true }.`,
      )
    case FULL:
      return make(
        'store-full',
        `${path} cannot grow: the disk, or the size limit of the file, is full. Nothing was written; make room and try again.`,
        'later',
      )
    case CORRUPT:
    case NOTADB:
      return make(
        'store-corrupt',
        `${path} is damaged or not a SQLite database (${said}). It was left as it is: restore a backup, or copy what is intact into a new file with salvageSqlite().`,
      )
    case CANTOPEN:
      return make(
        'store-failed',
        `${path} cannot be opened (${said}). Check that its folder exists and that this user may use it.`,
      )
    case IOERR:
      if (extended(error) === IOERR_WRITE) {
        return make(
          'store-full',
          `${path} could not be written (${said}): the disk is full, or the file has reached a size limit of the system. Nothing was written; make room and try again.`,
          'later',
        )
      }
      return make(
        'ambiguous',
        `${path} had an input/output error (${said}). What was being written may or may not be there; repeat the call with the same id.`,
        'later',
      )
    default:
      return make('store-failed', `${path}: ${said}`)
  }
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
