/**
 * The property of search_files: on random trees its result equals that of a reference, which reads every file and tests
 * every line with a RegExp of JavaScript. The generated regexes are those on which JavaScript and ripgrep agree.
 */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import type { FileResult, SearchResult } from '../../src/toolbox/search-result.ts'
import { callTool, type Files, testFolder, toolIn } from './search-kit.ts'

interface SearchCase {
  readonly files: Files
  readonly regex: string
  readonly extension: string | undefined
}

const name = fc.constantFrom('a', 'b', 'a-b', 'Z', 'ü', 'x y', '-c', '.h', '--pre', 'n\nl')
const extension = fc.constantFrom('.ts', '.js', '.tsx')
const path = fc
  .tuple(fc.array(name, { minLength: 1, maxLength: 3 }), extension)
  .map(([names, end]) => names.join('/') + end)

const line = fc.string({ unit: fc.constantFrom('a', 'b', '0', '1', '_', ' ', 'ü', '-', '"'), maxLength: 6 })
const content = fc
  .tuple(fc.array(line, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([lines, end, isEnded]) => lines.join(end) + (isEnded && lines.length > 0 ? end : ''))

const atom = fc.constantFrom(
  'a',
  'b',
  '0',
  '_',
  ' ',
  'ü',
  '-',
  '"',
  '.',
  '[ab]',
  '[^a]',
  '[0-9]',
  '\\d',
  '(a|b1)',
  '(?:ü|)',
)
const piece = fc
  .tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '{1,2}'))
  .map((parts) => parts.join(''))
const simpleRegex = fc
  .tuple(fc.constantFrom('', '^'), fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '$'))
  .map(([start, pieces, end]) => start + pieces.join('') + end)

const searchCase: fc.Arbitrary<SearchCase> = fc.record({
  files: fc.dictionary(path, content, { maxKeys: 8, noNullPrototype: true }),
  regex: simpleRegex,
  extension: fc.option(extension, { nil: undefined }),
})

export const searchProperty: fc.IAsyncProperty<[SearchCase]> = fc.asyncProperty(searchCase, async (given) => {
  const folder = await testFolder(given.files)
  try {
    const found = await callTool<SearchResult>(await toolIn(folder.root, 'search_files'), {
      path: '.',
      regex: given.regex,
      ...(given.extension === undefined ? {} : { file_pattern: `*${given.extension}` }),
    })
    const expected = referenceSearch(given)
    if (isDeepStrictEqual(found, expected)) return
    throw new Error(`expected ${JSON.stringify(expected)}\nfound ${JSON.stringify(found)}`)
  } finally {
    await folder.remove()
  }
})

function referenceSearch({ files, regex, extension: end = '' }: SearchCase): SearchResult {
  const test = new RegExp(regex, 'u')
  const results = Object.entries(files)
    .filter(([file]) => file.endsWith(end))
    .toSorted(([a], [b]) => comparePaths(a, b))
    .map(([file, text]) => fileResult(file, String(text), test))
    .filter(({ matches }) => matches > 0)
  return { matches: results.reduce((sum, { matches }) => sum + matches, 0), files: results.length, results }
}

function fileResult(file: string, text: string, test: RegExp): FileResult {
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
  const hits = lines.map((each) => test.test(each))
  return {
    path: file,
    matches: hits.filter(Boolean).length,
    lines: lines.flatMap((each, index) => {
      if (hits[index]) return [`${index + 1}:${each}`]
      return hits[index - 1] || hits[index + 1] ? [`${index + 1}-${each}`] : []
    }),
  }
}

function comparePaths(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')]
  const at = left.findIndex((each, index) => each !== right[index])
  return Buffer.compare(Buffer.from(left[at] ?? ''), Buffer.from(right[at] ?? ''))
}
