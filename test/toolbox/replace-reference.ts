/**
 * `replace_in_file` a second time, from the text of docs/guide/toolbox.md alone and in another way: by regular expressions
 * over the whole text, and by cutting the file into characters. Undefined: refused.
 */
import { applyBlocks, parseBlocks } from '../../src/toolbox/search-replace.ts'

const SIGNS = String.raw`(?:-{7}|<{7}) SEARCH[^\S\n]*\n`
const BLOCK = new RegExp(
  String.raw`^${SIGNS}(?<search>(?:[^]*?\n)??)={7}[^\S\n]*\n(?<replace>(?:[^]*?\n)??)(?:\+{7}|>{7}) REPLACE[^\S\n]*(?:\n|$)`,
)
const MARKER = /^(?:[-<]{7} SEARCH|={7}|[+>]{7} REPLACE)[^\S\n]*$/m
const ALMOST = /^[^\S\n]*(?:[-<]{3,}[^\S\n]*SEARCH|[+>]{3,}[^\S\n]*REPLACE)\b[^\w\n]*$/im

const everyBreakIsCrlf = (text: string): boolean =>
  /\n/.test(text) &&
  text
    .split('\n')
    .slice(0, -1)
    .every((line) => line.endsWith('\r'))

export function referenceReplace(file: string, diff: string): string | undefined {
  let rest = everyBreakIsCrlf(diff) ? diff.split('\r\n').join('\n') : diff
  const pairs: { search: string; replace: string | null }[] = []
  for (;;) {
    rest = rest.replace(/^(?:[^\S\n]*\n)+/, '')
    if (rest.trim() === '') break
    const groups = BLOCK.exec(rest)
    if (groups === null) return undefined
    const { search = '', replace = '' } = groups.groups ?? {}
    if (MARKER.test(search) || MARKER.test(replace) || ALMOST.test(search) || ALMOST.test(replace))
      return undefined
    if (search.length <= 1) return undefined
    pairs.push({ search: search.slice(0, -1), replace: replace === '' ? null : replace.slice(0, -1) })
    rest = rest.slice(groups[0].length)
  }
  return pairs.length === 0 ? undefined : inOrder(file, pairs)
}

function inOrder(
  file: string,
  pairs: readonly { search: string; replace: string | null }[],
): string | undefined {
  const wide = everyBreakIsCrlf(file)
  const fit = (text: string): string => (wide ? text.replace(/\r?\n/g, '\n').replace(/\n/g, '\r\n') : text)
  let [done, open] = ['', file]
  for (const { search, replace } of pairs) {
    const [before, ...others] = open.split(fit(search))
    if (before === undefined || others.length === 0) return undefined
    done += before
    const isLineStart = (file.slice(0, file.length - open.length) + before).match(/(?:^\uFEFF?|\n)$/) !== null
    open = open.slice(before.length + fit(search).length)
    if (replace !== null) done += fit(replace)
    else if (isLineStart) open = open.replace(/^\r?\n/, '')
  }
  return done + open
}

/** The implementation itself, in the same form. */
export function replaced(file: string, diff: string): string | undefined {
  try {
    return applyBlocks(file, parseBlocks(diff)).content
  } catch {
    return undefined
  }
}
