/** The place in a text that is most like another text, for a message. Pure, and bounded in time and length. */

const MOST_SHOWN = 12
const LONGEST_LINE = 200
/** Lines that are compared letter by letter. */
const MOST_COMPARED = 20_000

/** A sentence with the most similar lines and their numbers. */
export function nearestText(content: string, wanted: string): string {
  const lines = content.split(/\r?\n/)
  const searched = wanted.split(/\r?\n/)
  const at = byEqualLines(lines, searched) ?? bySimilarLine(lines, searched)
  if (at === undefined) return 'There is no similar text: read the file again.'
  const shown = lines.slice(at, at + Math.min(searched.length, MOST_SHOWN))
  const text = shown.map((line, index) => `${at + index + 1}: ${line.slice(0, LONGEST_LINE)}`).join('\n')
  return `The nearest text is:\n${text}`
}

/** The start at which most lines are equal but for spaces around them. */
function byEqualLines(lines: readonly string[], searched: readonly string[]): number | undefined {
  const places = Map.groupBy(lines.keys(), (index) => (lines[index] as string).trim())
  const votes = new Map<number, number>()
  for (const [index, line] of searched.entries()) {
    if (line.trim() === '') continue
    for (const place of (places.get(line.trim()) ?? []).slice(0, 100)) {
      const start = Math.max(0, place - index)
      votes.set(start, (votes.get(start) ?? 0) + 1)
    }
  }
  return [...votes].toSorted(([one, ones], [other, others]) => others - ones || one - other)[0]?.[0]
}

/** The start at which the longest line of the text would be most similar. */
function bySimilarLine(lines: readonly string[], searched: readonly string[]): number | undefined {
  const longest = searched.reduce((long, line) => (line.trim().length > long.trim().length ? line : long), '')
  const wanted = pairsOf(longest)
  let [best, at] = [0.3, -1]
  for (const [index, line] of lines.slice(0, MOST_COMPARED).entries()) {
    const score = similarity(wanted, pairsOf(line))
    if (score > best) [best, at] = [score, index]
  }
  return at === -1 ? undefined : Math.max(0, at - searched.indexOf(longest))
}

function pairsOf(line: string): ReadonlySet<string> {
  const text = line.trim().slice(0, LONGEST_LINE)
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)))
}

function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0
  let shared = 0
  for (const pair of one) if (other.has(pair)) shared += 1
  return (2 * shared) / (one.size + other.size)
}
