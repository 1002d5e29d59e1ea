/**
 * A small part of Markdown as data: paragraphs, headings, lists, tables, quotes, code, bold, italics, and links to http and
 * https. Anything else stays the text that it is. Bounded patterns, so that no text is slow to read.
 */

export type Block =
  | { readonly type: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly type: 'heading'; readonly content: readonly Inline[] }
  | List
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'quote'; readonly content: readonly Inline[] }
  /** The first row is the head. */
  | { readonly type: 'table'; readonly rows: readonly Inline[][][] }

/** An item is its text, with the lists below it. */
export interface List {
  readonly type: 'list'
  readonly isOrdered: boolean
  readonly start: number
  readonly items: (Inline | List)[][]
}

export type Inline =
  | { readonly type: 'text' | 'code' | 'bold' | 'italic'; readonly text: string }
  | { readonly type: 'link'; readonly text: string; readonly href: string }

/** The line below the head of a table. */
const RULE = /^\s{0,3}\|?\s*:?-{1,200}:?\s*(?:\|\s*:?-{1,200}:?\s*){0,99}\|?\s*$/
const QUOTE = /^ {0,3}> ?/
/** Also inside of an item. */
const FENCE = /^( {0,12})(`{3,}|~{3,})/
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/
const ITEM = /^(\s{0,24})(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/

export function blocksOf(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const blocks: Block[] = []
  const lists = new OpenLists(blocks)
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
    else if (paragraph.length === 0 && lists.addText(line)) continue
    else if (HEADING.test(line)) {
      endParagraph()
      blocks.push({ type: 'heading', content: inlineOf(HEADING.exec(line)?.[1] ?? '') })
    } else if (ITEM.test(line)) {
      endParagraph()
      lists.addItem(line)
    } else paragraph.push(line)
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

/** Deeper items are items of the deepest list. */
const MOST_LEVELS = 6
/** An item that is indented by more, compared with the one before, is below it. */
const LEAST_INDENT = 2

interface OpenList {
  readonly list: List
  /** The column of its newest sign. */
  readonly indent: number
}

/** The list at the end of the blocks, and the lists below its last items, outermost first. */
class OpenLists {
  readonly #blocks: Block[]
  #open: OpenList[] = []

  constructor(blocks: Block[]) {
    this.#blocks = blocks
  }

  addItem(line: string): void {
    const [, blanks = '', , number, text = ''] = ITEM.exec(line) ?? []
    const indent = columnsOf(blanks)
    this.#close((open) => indent < open.indent)
    const last = this.#open.at(-1)
    const isBelow =
      last !== undefined && indent >= last.indent + LEAST_INDENT && this.#open.length < MOST_LEVELS
    if (!isBelow) this.#open.pop()
    const siblings: (Block | Inline)[] = this.#open.at(-1)?.list.items.at(-1) ?? this.#blocks
    const before = siblings.at(-1)
    const isOrdered = number !== undefined
    const goesOn = before?.type === 'list' && before.isOrdered === isOrdered
    const list: List = goesOn ? before : { type: 'list', isOrdered, start: Number(number ?? 1), items: [] }
    if (!goesOn) siblings.push(list)
    list.items.push(inlineOf(text))
    this.#open.push({ list, indent })
  }

  /** An indented line goes on with the item that it is below; false for any other. */
  addText(line: string): boolean {
    const indent = columnsOf(/^\s*/.exec(line)?.[0] ?? '')
    if (this.#blocks.at(-1)?.type !== 'list' || indent < LEAST_INDENT || ITEM.test(line)) return false
    this.#close((open) => indent < open.indent + LEAST_INDENT)
    const item = this.#open.at(-1)?.list.items.at(-1)
    if (item?.at(-1)?.type !== 'list') item?.push({ type: 'text', text: '\n' })
    item?.push(...inlineOf(line.trim()))
    return true
  }

  /** Closes the innermost lists that are to be closed. The outermost stays open until another block comes. */
  #close(isOver: (open: OpenList) => boolean): void {
    if (this.#blocks.at(-1) !== this.#open[0]?.list) this.#open = []
    for (let last = this.#open.at(-1); this.#open.length > 1 && last !== undefined && isOver(last); ) {
      this.#open.pop()
      last = this.#open.at(-1)
    }
  }
}

function columnsOf(blanks: string): number {
  let columns = 0
  for (const blank of blanks) columns += blank === '\t' ? 4 - (columns % 4) : 1
  return columns
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
