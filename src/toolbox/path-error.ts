/** The refusal of a path, as a sentence for the model that gave it. Knows nothing of file handles. */
import { quote } from '../protocol/index.ts'

/**
 * `outside`: the path leaves the working folder. `invalid-path`: it is no path. `missing`: there is nothing there.
 * `wrong-kind`: something else than the file or folder asked for. `changed`: it changed during the operation.
 * `failed`: the file system refused.
 */
export type PathProblem = 'outside' | 'invalid-path' | 'missing' | 'wrong-kind' | 'changed' | 'failed'

export class PathError extends Error {
  readonly code: PathProblem
  /** The path as given. */
  readonly path: string

  constructor(code: PathProblem, path: string, sentence: string) {
    super(`${shownPath(path)} ${sentence}`)
    this.name = 'PathError'
    this.code = code
    this.path = path
  }
}

const LONGEST_SHOWN = 200

function shownPath(path: string): string {
  return quote(path.length > LONGEST_SHOWN ? `${path.slice(0, LONGEST_SHOWN)}…` : path)
}

const REASONS: Readonly<Record<string, readonly [PathProblem, string]>> = {
  ENOENT: ['missing', 'does not exist. List the folder to see what is there.'],
  ENOTDIR: ['wrong-kind', 'is below something that is no folder. List the folder to see what is there.'],
  EISDIR: ['wrong-kind', 'is a folder. Give the path of a file.'],
  ENAMETOOLONG: ['invalid-path', 'has a name that is too long. Use a shorter one.'],
  EACCES: ['failed', 'may not be accessed (EACCES). Use another path, or ask for access.'],
  EPERM: ['failed', 'may not be changed (EPERM). Use another path, or ask for access.'],
  EROFS: ['failed', 'is on a file system that cannot be written (EROFS). Use another path.'],
  ENOSPC: ['failed', 'could not be written: the disk is full (ENOSPC). Free some space first.'],
}

/** An error of the file system as a sentence about the path that was given, not about the address that was used. */
export function pathFailure(path: string, error: unknown): Error {
  if (error instanceof PathError) return error
  const code = errorCode(error)
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  const [problem, sentence] = REASONS[code] ?? ['failed', `could not be used: the file system said ${code}.`]
  return new PathError(problem, path, sentence)
}

/** The code of a system error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as { readonly code?: unknown; readonly syscall?: unknown }
  return typeof code === 'string' && typeof syscall === 'string' ? code : undefined
}
