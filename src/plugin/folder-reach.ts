/** Tools that read a whole folder: whether a path that a rule denies or asks about may lie below it. */
import { type JudgedPath, nameMatches } from './call-patterns.ts'

/** Their `path` is a folder, and they reach what is below. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set([
  'search_files',
  'list_files',
  'list_code_definition_names',
])

export function readsFolder(tool: string): boolean {
  return FOLDER_TOOLS.has(tool)
}

/** True if the pattern may fit a path below the folder, among files whose names fit `filePattern`. */
export function reachesBelow(pattern: string, folder: JudgedPath, filePattern: unknown): boolean {
  if (!mayShareName(pattern, filePattern)) return false
  // `**/x` is about every x, also outside of the folder of the policy.
  if (pattern.startsWith('**')) return true
  return [
    [folder.folder, folder.lexical],
    [folder.realFolder, folder.real],
  ].some(([root = '', place = '']) => leadsBelow(pattern, root, place))
}

function leadsBelow(pattern: string, root: string, place: string): boolean {
  const isAbsolute = pattern.startsWith('/')
  const fixed = isAbsolute ? [] : segmentsOf(root)
  const wanted = segmentsOf(pattern)
  const given = segmentsOf(place)
  for (const [at, name] of given.entries()) {
    const own = fixed[at]
    const glob = own === undefined ? wanted[at - fixed.length] : undefined
    if (glob?.includes('**')) return true
    const isSame =
      own === undefined
        ? glob !== undefined && nameMatches(glob, name)
        : own.toLowerCase() === name.toLowerCase()
    if (!isSame) return false
  }
  return given.length < fixed.length + wanted.length
}

function segmentsOf(path: string): readonly string[] {
  return path.split(/[\\/]/).filter((name) => name !== '')
}

/** False only if both are plain globs of names that no name fits together. */
function mayShareName(pattern: string, filePattern: unknown): boolean {
  if (typeof filePattern !== 'string') return true
  const names = filePattern.replace(/^(?:\*\*\/)+/, '')
  const last = pattern.slice(pattern.lastIndexOf('/') + 1)
  if (!/^[\w.*?-]+$/.test(names) || last.includes('**')) return true
  return overlap(last.toLowerCase(), names.toLowerCase())
}

/** True if some text fits both globs, of `*`, `?` and characters. */
function overlap(a: string, b: string): boolean {
  // Row by row: which beginnings of both fit a common text.
  let row: readonly boolean[] = []
  for (let i = 0; i <= a.length; i += 1) {
    const next: boolean[] = []
    for (let j = 0; j <= b.length; j += 1) {
      const [left = '', right = ''] = [a[i - 1], b[j - 1]]
      const isEqual = left === right || left === '?' || right === '?'
      const isStar = left === '*' || right === '*'
      const before = i > 0 && j > 0 && row[j - 1] === true
      next.push(
        (i === 0 && j === 0) ||
          (before && (isEqual || isStar)) ||
          (i > 0 && row[j] === true && isStar) ||
          (j > 0 && next[j - 1] === true && isStar),
      )
    }
    row = next
  }
  return row[b.length] === true
}
