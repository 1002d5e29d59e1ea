/** SQLite's errors as errors of a corpus: what happened to which file, and what to do. */
import { dirname } from 'node:path'
import { type ErrorCode, HoldfastError } from '../../protocol/index.ts'

interface Verdict {
  readonly code: ErrorCode
  readonly text: string
  readonly retry?: 'later'
}

const REBUILD = 'Delete it and add your documents again, or restore a backup.'

/** By SQLite's primary result code. */
const VERDICTS: Readonly<Record<number, Verdict>> = {
  5: { code: 'store-busy', text: 'is locked by another process and stayed so. Try again.', retry: 'later' },
  6: { code: 'store-busy', text: 'is locked by another process and stayed so. Try again.', retry: 'later' },
  8: {
    code: 'store-read-only',
    text: 'cannot be written to. Give this user write access to the file and its folder, or open it with { readOnly: true }.',
  },
  11: { code: 'store-corrupt', text: `is damaged. ${REBUILD}` },
  13: { code: 'store-full', text: 'cannot grow: the disk is full. Make room and try again.', retry: 'later' },
  14: {
    code: 'store-failed',
    text: 'cannot be opened. Check that its folder exists and that this user may use it.',
  },
  26: { code: 'store-foreign', text: 'is no SQLite database. It was left as it is; choose another path.' },
}

/** True if SQLite may not write beside a file, or not create a file there. */
export function isNotWritable(error: unknown): boolean {
  const { errcode } = Object(error) as { readonly errcode?: unknown }
  return typeof errcode === 'number' && [8, 14].includes(errcode & 0xff)
}

/** Errors that are not SQLite's pass unchanged. */
export function translate(error: unknown, path: string): unknown {
  const { errcode, message } = error as { errcode?: unknown; message: string }
  if (!(error instanceof Error) || typeof errcode !== 'number') return error
  const {
    code,
    text,
    retry = 'never',
  } = VERDICTS[errcode & 0xff] ?? {
    code: 'store-failed' as const,
    text: `reports an error (${message}).`,
  }
  return new HoldfastError(code, { message: `${path} ${text}`, retry, details: { path }, cause: error })
}

export function noFolder(path: string, cause: unknown): HoldfastError {
  const folder = dirname(path)
  const { code = 'unknown' } = cause as NodeJS.ErrnoException
  return new HoldfastError('store-failed', {
    message: `${path} cannot be created: its folder ${folder} cannot be made (${code}). Give this user access to the folder above it, or choose another path.`,
    details: { path },
    cause,
  })
}

export function foreignFile(path: string): HoldfastError {
  return new HoldfastError('store-foreign', {
    message: `${path} is a SQLite database, but no corpus of Holdfast. It was left as it is; choose another path.`,
    details: { path },
  })
}

export function unreadLog(path: string): HoldfastError {
  return new HoldfastError('store-read-only', {
    message: `${path} has a log ${path}-wal, which cannot be read in a folder that this user may not write to. Open it once with write access, and close it.`,
    details: { path },
  })
}

export function otherVersion(path: string, version: number, supported: number): HoldfastError {
  return new HoldfastError('store-newer', {
    message: `${path} has version ${version} of the corpus format, and this Holdfast knows version ${supported}. It was left as it is: upgrade the holdfast package, or add your documents to a new file.`,
    details: { path, version, supported },
  })
}
