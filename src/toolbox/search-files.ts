/** The tool `search_files`: lines that match a regex, by ripgrep. Has no regexes or globs of its own. */
import { defineTool, jsonSchema, type Tool } from '../tool/index.ts'
import { EXCLUDED, findRipgrep, RIPGREP_COMMAND, runRipgrep } from './ripgrep.ts'
import { CONTEXT_LINES, SearchMatches } from './search-matches.ts'
import { pathArgument, searchPath } from './search-path.ts'
import { type SearchResult, searchResult } from './search-result.ts'
import { counted } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import type { Workspace } from './workspace.ts'

export interface SearchInput {
  readonly path: string
  readonly regex: string
  readonly file_pattern?: string
}

const DESCRIPTION = `Searches the text files of a folder, or one file, for lines that match a regex. Returns matching lines \
with their numbers and ${CONTEXT_LINES} line of context, by file, in the order of the paths. The regex has the syntax of \
ripgrep (Rust): no look-around, no backreferences, and a match stays within a line; (?i) at the start ignores case. Files \
that .gitignore names and binary files are not searched.`

const INPUT = jsonSchema<SearchInput>({
  type: 'object',
  properties: {
    path: {
      type: 'string',
      description: 'The folder or file to search, from the working folder. "." is the working folder.',
    },
    regex: {
      type: 'string',
      minLength: 1,
      maxLength: 10_000,
      description: 'The regex, in the syntax of Rust.',
    },
    file_pattern: {
      type: 'string',
      maxLength: 1000,
      description:
        'A glob of the files to search: "*.ts", "*.{js,jsx}", "src/**/*.py"; "!*.test.ts" for all others. Default: all.',
    },
  },
  required: ['path', 'regex'],
  additionalProperties: false,
})

const TIMEOUT_MS = 60_000

export function searchFiles({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'search_files',
    description: DESCRIPTION,
    input: INPUT,
    replay: 'safe',
    timeoutMs: TIMEOUT_MS,
    approve: 'never',
    run: (input, { signal }) => searchWorkspace(workspace, input, { signal }),
    display: (result) => `${counted(result.matches, 'matching line')} in ${counted(result.files, 'file')}`,
  })
}

export interface SearchOptions {
  readonly signal: AbortSignal
  /** The program of ripgrep; null if there is none. Default: the one that `findRipgrep` finds. */
  readonly program?: string | null
}

export async function searchWorkspace(
  workspace: Workspace,
  input: SearchInput,
  options: SearchOptions,
): Promise<SearchResult> {
  const { signal, program = await findRipgrep(workspace.root) } = options
  if (program === null)
    throw new Error(`search_files needs ripgrep, which is not installed: ${RIPGREP_COMMAND}`)
  checkText('regex', input.regex)
  checkText('file_pattern', input.file_pattern ?? '')
  const { path, kind } = await searchPath(workspace, input.path)
  const matches = new SearchMatches()
  const { code, errors } = await workspace.withFolder('.', ({ cwd }) =>
    runRipgrep({
      program,
      args: [...argsOf(input), ...(kind === 'file' ? NAMED_FILE : []), '--', pathArgument(path)],
      cwd,
      signal,
      separator: NEWLINE,
      onRecord: (record) => matches.add(record),
    }),
  )
  if (!matches.isComplete) throw new Error(`Nothing was searched. ${adviceOn(errors)}`)
  return searchResult(workspace, matches, code === 2 ? errors : '')
}

const NEWLINE = 0x0a
/** A file that is named is searched, binary or not. Without this, a NUL would count as a line break. */
const NAMED_FILE: readonly string[] = ['--text']

function checkText(name: string, text: string): void {
  if (text.includes('\0'))
    throw new Error(`${name} contains a NUL character. Write \\x00 in a regex, or remove it.`)
}

function argsOf({ regex, file_pattern }: SearchInput): readonly string[] {
  return [
    '--json',
    '--crlf',
    '--case-sensitive',
    `--context=${CONTEXT_LINES}`,
    `--regexp=${regex}`,
    ...patternArgs(file_pattern ?? ''),
    ...EXCLUDED,
  ]
}

/**
 * A glob of names is given as a file type: files that are ignored stay so, while `--glob` would search them. Only a glob
 * with a folder, or with the colon that types cannot have, needs `--glob`.
 */
function patternArgs(given: string): readonly string[] {
  if (given === '') return []
  // To ripgrep a glob with `./` matches nothing.
  const pattern = given.replace(/^(!?)(?:\.\/)+/, '$1/')
  const isNegated = pattern.startsWith('!')
  const names = (isNegated ? pattern.slice(1) : pattern).replace(/^(\*\*\/)+/, '')
  if (names === '' || /[/:]/.test(names)) return [`--glob=${pattern}`]
  return [`--type-add=pattern:${names}`, isNegated ? '--type-not=pattern' : '--type=pattern']
}

/** The message of ripgrep, without options that a model cannot give. */
function adviceOn(errors: string): string {
  const message = errors
    .replace(/^rg: /, '')
    .replace(/\n\nConsider enabling[\s\S]*$/, '')
    .trim()
  if (/look-around|backreferences/.test(message)) return `${message}. Search for a simpler regex.`
  if (message.includes('"\\n" is not allowed'))
    return `${message}: a match stays within a line. Search for a part of one line.`
  return `ripgrep says: ${message}. Correct the regex or the file_pattern.`
}
