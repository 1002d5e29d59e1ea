/**
 * A small part of Markdown as data: paragraphs, headings, lists, tables, quotes, code, bold, italics, and links to http and
 * https. Anything else stays the text that it is. Bounded patterns, so that no text is slow to read.
 */

export type Block =
  | { readonly type: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly type: 'heading'; readonly content: readonly Inline[] }
  | { readonly type: 'list'; readonly isOrdered: boolean; readonly start: number; readonly items: Inline[][] }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'quote'; readonly content: readonly Inline[] }
  /** The first row is the head. */
  | { readonly type: 'table'; readonly rows: readonly Inline[][][] }

export type Inline =
  | { readonly type: 'text' | 'code' | 'bold' | 'italic'; readonly text: string }
  | { readonly type: 'link'; readonly text: string; readonly href: string }

/** The line below the head of a table. */
const RULE = /^\s{0,3}\|?\s*:?-{1,200}:?\s*(?:\|\s*:?-{1,200}:?\s*){0,99}\|?\s*$/
const QUOTE = /^ {0,3}> ?/
/** Also inside of an item. */
const FENCE = /^( {0,12})(`{3,}|~{3,})/
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/
const ITEM = /^\s{0,12}(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/

export function blocksOf(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const blocks: Block[] = []
  let paragraph: string[] = []
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', content: inlineOf(paragraph.join('\n')) })
    paragraph = []
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, indent = '', fence] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      endParagraph()
      const end = endOf(lines, at + 1, (each) => !each.trim().startsWith(fence))
      const code = lines.slice(at + 1, end).map((each) => withoutIndent(each, indent.length))
      blocks.push({ type: 'code', text: code.join('\n') })
      at = end
    } else if (line.includes('|') && isRule(lines[at + 1])) {
      endParagraph()
      const end = endOf(lines, at + 2, (each) => each.includes('|'))
      const rows = [line, ...lines.slice(at + 2, end)]
      blocks.push({ type: 'table', rows: rows.map((row) => cellsOf(row)) })
      at = end - 1
    } else if (QUOTE.test(line)) {
      endParagraph()
      const end = endOf(lines, at, (each) => QUOTE.test(each))
      const quoted = lines.slice(at, end).map((each) => each.replace(QUOTE, ''))
      blocks.push({ type: 'quote', content: inlineOf(quoted.join('\n')) })
      at = end - 1
    } else if (line.trim() === '') endParagraph()
    else if (paragraph.length === 0 && addToItem(blocks, line)) continue
    else if (!addLine(blocks, line, endParagraph)) paragraph.push(line)
  }
  endParagraph()
  return blocks
}

function isRule(line = ''): boolean {
  return line.includes('|') && line.length < 1000 && RULE.test(line)
}

/** The first line from `from` on that is not one of them. */
function endOf(lines: readonly string[], from: number, isOne: (line: string) => boolean): number {
  let end = from
  while (end < lines.length && isOne(lines[end] ?? '')) end++
  return end
}

function withoutIndent(line: string, most: number): string {
  const own = line.length - line.trimStart().length
  return line.slice(Math.min(own, most))
}

function cellsOf(row: string): Inline[][] {
  const cells = row.trim().replace(/^\|/, '').replace(/\|$/, '')
  return cells.split(/(?<!\\)\|/).map((cell) => inlineOf(cell.trim().replaceAll('\\|', '|')))
}

/** A heading or an item; false for a line of a paragraph. */
function addLine(blocks: Block[], line: string, endParagraph: () => void): boolean {
  const heading = HEADING.exec(line)?.[1]
  if (heading !== undefined) {
    endParagraph()
    blocks.push({ type: 'heading', content: inlineOf(heading) })
    return true
  }
  const [, bullet, number, text = ''] = ITEM.exec(line) ?? []
  if (bullet === undefined && number === undefined) return false
  endParagraph()
  const last = blocks.at(-1)
  const isOrdered = number !== undefined
  if (last?.type === 'list' && last.isOrdered === isOrdered) last.items.push(inlineOf(text))
  else blocks.push({ type: 'list', isOrdered, start: Number(number ?? 1), items: [inlineOf(text)] })
  return true
}

/** An indented line below an item goes on with it; false for any other. */
function addToItem(blocks: readonly Block[], line: string): boolean {
  const last = blocks.at(-1)
  if (last?.type !== 'list' || !/^\s{2}/.test(line) || ITEM.test(line)) return false
  last.items.at(-1)?.push({ type: 'text', text: '\n' }, ...inlineOf(line.trim()))
  return true
}

/** Characters of an address, with brackets that are closed in it. */
const ADDRESS = `(?:[^\\s<>"'\`()\\]]|\\([^\\s<>"'\`()\\]]{0,200}\\)){1,2000}`

const INLINE = new RegExp(
  [
    '`(?<code>[^`\\n]{1,2000})`',
    '\\*\\*(?<bold>[^*\\n]{1,2000})\\*\\*',
    '(?<![\\w*])\\*(?<italic>[^*\\s][^*\\n]{0,500})\\*(?![\\w*])',
    '\\[(?<label>[^\\]\\[\\n]{1,300})\\]\\((?<target>(?:[^()\\s]|\\([^()\\s]{0,200}\\)){1,2000})\\)',
    // The sign after an address is one of the sentence.
    `(?<![\\w/])(?<bare>https?://${ADDRESS})(?<![.,;:!?*])`,
  ].join('|'),
  'g',
)

function inlineOf(text: string): Inline[] {
  const found: Inline[] = []
  let last = 0
  for (const match of text.matchAll(INLINE)) {
    const inline = inlineIn(match.groups ?? {})
    if (inline === undefined) continue
    if (match.index > last) found.push({ type: 'text', text: text.slice(last, match.index) })
    found.push(inline)
    last = match.index + match[0].length
  }
  if (last < text.length) found.push({ type: 'text', text: text.slice(last) })
  return found
}

function inlineIn({ code, bold, italic, label, target, bare }: Record<string, string>): Inline | undefined {
  if (code !== undefined) return { type: 'code', text: code }
  if (bold !== undefined) return { type: 'bold', text: bold }
  if (italic !== undefined) return { type: 'italic', text: italic }
  const href = webAddress(target ?? bare ?? '')
  return href === undefined ? undefined : { type: 'link', text: label ?? href, href }
}

/** The address in its normal form, if a browser may open it. */
function webAddress(target: string): string | undefined {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return undefined
  const { protocol, username, password, href } = new URL(target)
  // A name before the host looks like the host.
  if (username !== '' || password !== '') return undefined
  return protocol === 'http:' || protocol === 'https:' ? href : undefined
}
