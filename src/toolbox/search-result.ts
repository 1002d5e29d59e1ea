/** The result of a search for the model: confirmed lines, and what was left out. Runs nothing. */
import { isUtf8 } from 'node:buffer'
import { quote } from '../protocol/index.ts'
import { PathError } from './path-error.ts'
import type { FileMatches, FoundLine, SearchMatches } from './search-matches.ts'
import { pathArgument } from './search-path.ts'
import { linesInFile } from './search-text.ts'
import { counted } from './text-range.ts'
import type { Workspace } from './workspace.ts'

export interface SearchResult {
  /** All matching lines. */
  readonly matches: number
  /** All files with matching lines. */
  readonly files: number
  readonly results: readonly FileResult[]
  /** The rest that is not in `results`, and what to do. */
  readonly leftOut?: string
  readonly notes?: readonly string[]
}

export interface FileResult {
  readonly path: string
  /** All matching lines of the file. */
  readonly matches: number
  /** As grep prints them: `12:a match`, `13-its context`. */
  readonly lines: readonly string[]
}

/** `errors`: what ripgrep wrote about files that it could not read. */
export async function searchResult(
  workspace: Workspace,
  found: SearchMatches,
  errors: string,
): Promise<SearchResult> {
  const files: ConfirmedFile[] = []
  for (const file of found.found) files.push(await confirm(workspace, file))
  const there = files.filter((each) => each.matches > 0)
  const changed = sum(files.map((each) => each.file.matches - each.matches))
  const matches = found.matches - changed
  const shown = sum(there.map(({ lines }) => countMatches(lines)))
  const notes = notesOf({ files, changed, tooLong: found.tooLong, errors })
  return {
    matches,
    files: found.files - (files.length - there.length),
    results: there.map(fileResult),
    ...(matches > shown
      ? {
          leftOut: `Shown are ${shown} of ${counted(matches, 'matching line')}. Narrow the regex, the path or the file_pattern to see the others.`,
        }
      : {}),
    ...(notes.length > 0 ? { notes } : {}),
  }
}

interface ConfirmedFile {
  readonly file: FileMatches
  readonly matches: number
  readonly lines: readonly FoundLine[]
}

/** A file of which no shown match is there is left out as a whole. */
async function confirm(workspace: Workspace, file: FileMatches): Promise<ConfirmedFile> {
  // Its path leads nowhere, so no line of it can be confirmed.
  if (!file.isUtf8) return { file, matches: file.matches, lines: [] }
  const lines = await confirmedLines(workspace, file)
  const [kept, claimed] = [countMatches(lines), countMatches(file.lines)]
  return { file, matches: kept === 0 && claimed > 0 ? 0 : file.matches - (claimed - kept), lines }
}

async function confirmedLines(
  workspace: Workspace,
  { path, lines }: FileMatches,
): Promise<readonly FoundLine[]> {
  try {
    return await workspace.withFile(pathArgument(path), ({ handle }) => linesInFile(handle, lines))
  } catch (error) {
    if (error instanceof PathError) return []
    throw error
  }
}

interface NoteFacts {
  readonly files: readonly ConfirmedFile[]
  readonly changed: number
  readonly tooLong: number
  readonly errors: string
}

function notesOf({ files, changed, tooLong, errors }: NoteFacts): readonly string[] {
  const unnamed = files.filter(({ file }) => !file.isUtf8).length
  const invalid = files.some(({ lines }) => lines.some(({ bytes }) => !isUtf8(bytes)))
  const unread = errors.split('\n').find((line) => line.startsWith('rg: '))
  return [
    ...(tooLong > 0 ? [`${counted(tooLong, 'matching line')} of more than 64 KB not shown.`] : []),
    ...(invalid ? ['Bytes that are not valid UTF-8 are shown as \uFFFD.'] : []),
    ...(unnamed > 0
      ? [
          `${counted(unnamed, 'file name')} not valid UTF-8: invalid bytes are shown as \uFFFD, and the lines are not shown.`,
        ]
      : []),
    ...(changed > 0 ? [`${counted(changed, 'matching line')} left out, changed during the search.`] : []),
    ...(unread === undefined ? [] : [`Some files could not be read: ${quote(unread.slice(4), 200)}`]),
  ]
}

function fileResult({ file, matches, lines }: ConfirmedFile): FileResult {
  return { path: file.path, matches, lines: lines.map(lineText) }
}

function lineText({ number, isMatch, bytes, cutBefore, cutAfter }: FoundLine): string {
  return `${number}${isMatch ? ':' : '-'}${cutBefore ? '…' : ''}${bytes.toString('utf8')}${cutAfter ? '…' : ''}`
}

function countMatches(lines: readonly FoundLine[]): number {
  return lines.filter(({ isMatch }) => isMatch).length
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
