/** The program of a process that converts an HTML page to Markdown: a page decides how long its conversion takes. */
import { answerRequests } from '../base/index.ts'

export interface HtmlPage {
  readonly html: string
  /** The address of the page, for relative links. */
  readonly url: string
}

export type Conversion =
  | { readonly markdown: string; readonly title: string }
  | { readonly problem: 'no-turndown' | 'too-deep' }

/** The part of a DOM element that is used here: this package is compiled without types of browsers. */
interface Element {
  readonly nodeName: string
  readonly textContent: string
  readonly parentNode: Element | null
  getAttribute(name: string): string | null
  querySelector(selector: string): Element | null | undefined
}

type Filter = (node: Element) => boolean
type Replacement = (content: string, node: Element) => string

interface Turndown {
  addRule(name: string, rule: { readonly filter: Filter; readonly replacement: Replacement }): void
  turndown(html: string): string
}

type TurndownModule = { readonly default: new (options: Readonly<Record<string, string>>) => Turndown }

const DROPPED: ReadonlySet<string> = new Set(
  'SCRIPT STYLE NOSCRIPT TEMPLATE NAV IFRAME OBJECT EMBED CANVAS AUDIO VIDEO SVG BUTTON SELECT TEXTAREA DIALOG'.split(
    ' ',
  ),
)
const LONGEST_TITLE = 300

async function convert({ html, url }: HtmlPage): Promise<Conversion> {
  let module: TurndownModule
  try {
    module = await import('turndown')
  } catch {
    return { problem: 'no-turndown' }
  }
  const page = new Page(url)
  const turndown = new module.default({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
  })
  for (const [name, filter, replacement] of page.rules()) turndown.addRule(name, { filter, replacement })
  try {
    const markdown = turndown.turndown(html).trim()
    return { markdown, title: page.title }
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'too-deep' }
    throw error
  }
}

class Page {
  title = ''
  #base: string
  #hasBase = false
  readonly #isData = new WeakMap<Element, boolean>()

  constructor(url: string) {
    this.#base = url
  }

  /** Later rules win. */
  rules(): readonly (readonly [name: string, filter: Filter, replacement: Replacement])[] {
    return [
      ['link', named('A'), (content, node) => this.#link(content, node)],
      ['image', named('IMG'), (_, node) => this.#image(node)],
      ['caption', named('CAPTION'), (content) => `${oneLine(content)}\n\n`],
      ['section', named('THEAD', 'TBODY', 'TFOOT'), (content) => content],
      ['row', named('TR'), (content, node) => this.#row(content, node)],
      ['cell', named('TD', 'TH'), (content, node) => this.#cell(content, node)],
      ['table', named('TABLE'), (content) => `\n\n${content.trim()}\n\n`],
      ['base', named('BASE'), (_, node) => this.#setBase(node)],
      ['title', named('TITLE'), (_, node) => this.#setTitle(node)],
      ['dropped', isDropped, () => ''],
    ]
  }

  #setTitle({ textContent }: Element): string {
    this.title ||= textContent.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE).toWellFormed()
    return ''
  }

  /** The first one counts. It comes before the links of a page. */
  #setBase(node: Element): string {
    const href = node.getAttribute('href')
    if (!this.#hasBase && href !== null && URL.canParse(href, this.#base)) {
      this.#base = new URL(href, this.#base).href
      this.#hasBase = true
    }
    return ''
  }

  #link(content: string, node: Element): string {
    const text = oneLine(content)
    const href = this.#absolute(node.getAttribute('href'))
    return text === '' || href === undefined ? text : `[${text}](${href})`
  }

  #image(node: Element): string {
    const alt = oneLine(node.getAttribute('alt') ?? '').replaceAll(/[[\]\\]/g, '\\$&')
    const src = this.#absolute(node.getAttribute('src'))
    return src === undefined ? alt : `![${alt}](${src})`
  }

  /** Undefined for addresses that lead nowhere outside of a browser, and for images that are their own address. */
  #absolute(href: string | null): string | undefined {
    if (href === null || href.startsWith('#') || !URL.canParse(href, this.#base)) return undefined
    const url = new URL(href, this.#base)
    if (!['https:', 'http:', 'mailto:'].includes(url.protocol)) return undefined
    return url.href.replaceAll('(', '%28').replaceAll(')', '%29')
  }

  #cell(content: string, node: Element): string {
    const text = oneLine(content)
    return this.#isInData(node) ? `| ${text.replaceAll('|', '\\|')} ` : `${content.trim()} `
  }

  #row(content: string, node: Element): string {
    if (!this.#isInData(node)) return `${content.trim()}\n`
    const row = `${content.trim()} |\n`
    if (tableOf(node)?.querySelector('tr') !== node) return row
    return `${row}${'| --- '.repeat(row.match(/(?<!\\)\|/g)?.length ?? 1).slice(0, -6)}|\n`
  }

  /** A table with headings and no other table in it. Others only lay out a page. */
  #isInData(node: Element): boolean {
    const table = tableOf(node)
    if (table === undefined) return false
    const known = this.#isData.get(table)
    if (known !== undefined) return known
    const isData = Boolean(table.querySelector('th')) && !table.querySelector('table')
    this.#isData.set(table, isData)
    return isData
  }
}

function named(...names: readonly string[]): Filter {
  return ({ nodeName }) => names.includes(nodeName)
}

/** Besides code and controls, texts that a reader would not see. */
function isDropped(node: Element): boolean {
  if (DROPPED.has(node.nodeName.toUpperCase())) return true
  const style = node.getAttribute('style') ?? ''
  return node.getAttribute('hidden') !== null || /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)
}

function tableOf(node: Element): Element | undefined {
  let above = node.parentNode
  while (above !== null && above.nodeName !== 'TABLE') above = above.parentNode
  return above ?? undefined
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

answerRequests(convert)
