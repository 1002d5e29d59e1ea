/** The source files below a folder, by ripgrep: those that search_files searches. Reads none of them. */
import { isUtf8 } from 'node:buffer'
import { extensionOf, languageOf } from './definition-languages.ts'
import { EXCLUDED, findRipgrep, RIPGREP_COMMAND, runRipgrep } from './ripgrep.ts'
import { pathArgument } from './search-path.ts'
import type { Workspace } from './workspace.ts'

export interface SourceFiles {
  /** The first ones, in the order of the paths. */
  readonly paths: readonly string[]
  /** All of them. */
  readonly count: number
  /** Files in other languages, and some of their extensions. */
  readonly others: number
  readonly otherExtensions: readonly string[]
}

export interface SourceFilesOptions {
  readonly signal: AbortSignal
  /** How many paths are kept. */
  readonly most: number
  /** As in `SearchOptions`. */
  readonly program?: string | null | undefined
}

const MOST_EXTENSIONS = 8

/** `folder` is a path that the workspace has located. */
export async function sourceFilesIn(
  workspace: Workspace,
  folder: string,
  options: SourceFilesOptions,
): Promise<SourceFiles> {
  const { signal, most, program = await findRipgrep(workspace.root) } = options
  if (program === null)
    throw new Error(
      `list_code_definition_names needs ripgrep for a folder, which is not installed: ${RIPGREP_COMMAND}. Or give the path of one file.`,
    )
  const paths: string[] = []
  const extensions = new Set<string>()
  let [count, others] = [0, 0]
  const add = (bytes: Buffer): void => {
    const path = bytes.toString('utf8').replace(/^\.\//, '')
    if (languageOf(path) === undefined || !isUtf8(bytes)) {
      others += 1
      if (extensions.size < MOST_EXTENSIONS) extensions.add(extensionOf(path) || 'no extension')
      return
    }
    count += 1
    if (paths.length < most) paths.push(path)
  }
  const { code, errors } = await workspace.withFolder('.', ({ cwd }) =>
    runRipgrep({
      program,
      args: ['--files', '--null', ...EXCLUDED, '--', pathArgument(folder)],
      cwd,
      signal,
      separator: 0,
      onRecord: add,
    }),
  )
  if (code === 2 && count + others === 0) throw new Error(`The folder could not be listed: ${errors.trim()}.`)
  return { paths, count, others, otherExtensions: [...extensions] }
}
