/**
 * The program of a process that reads the text of an HTML page: the article without menus, scripts and hidden elements. The
 * parser runs no script and loads nothing.
 */
import { answerRequests } from '../../base/index.ts'

export type Reading =
  | { readonly title: string; readonly text: string }
  | { readonly problem: 'no-package' | 'no-text' | 'too-many-elements' }

/** The part of a DOM node that is used here: this package is compiled without types of browsers. */
interface DomNode {
  readonly nodeType: number
  readonly nodeName: string
  readonly textContent: string | null
  readonly childNodes: Iterable<DomNode>
}

interface DomDocument extends DomNode {
  readonly documentElement: { readonly localName: string } | null
  querySelector(selector: string): DomNode | null
}

interface Article {
  readonly title?: string | null | undefined
  readonly content?: string | null | undefined
}

interface Packages {
  readonly parse: (html: string) => DomDocument
  readonly article: (document: DomDocument) => Article | null
}

/** The work grows faster than the number of elements, and with the square of their depth. Browsers stop at this depth, too. */
const MOST_ELEMENTS = 30_000
const DEEPEST = 512
const LONGEST_TITLE = 300

async function load(): Promise<Packages | undefined> {
  try {
    const { parseHTML } = (await import('linkedom')) as unknown as {
      parseHTML: (html: string) => { readonly document: DomDocument }
    }
    const { Readability } = await import('@mozilla/readability')
    const options = { disableJSONLD: true, serializer: blockText }
    return {
      parse: (html) => parseHTML(html).document,
      article: (document) => new Readability<string>(document, options).parse(),
    }
  } catch {
    return undefined
  }
}

async function read(html: string): Promise<Reading> {
  const packages = await load()
  if (packages === undefined) return { problem: 'no-package' }
  const document = parsed(html, packages)
  if (!isBounded(document)) return { problem: 'too-many-elements' }
  const pageTitle = titleOf(document)
  const { title, content } = packages.article(document) ?? {}
  return content ? { title: oneLine(title || pageTitle), text: content } : { problem: 'no-text' }
}

/** The parser takes the first element as the root, whichever it is. */
function parsed(html: string, { parse }: Packages): DomDocument {
  const document = parse(html)
  if (document.documentElement?.localName === 'html') return document
  return parse(`<!doctype html><html><head></head><body>${html}</body></html>`)
}

/** A page may have its title without a head around it; drawings have titles, too. */
function titleOf(document: DomDocument): string {
  return document.querySelector('title:not(svg *)')?.textContent ?? ''
}

function isBounded(document: DomDocument): boolean {
  let level: readonly DomNode[] = [document]
  let [depth, elements] = [0, 0]
  while (level.length > 0) {
    level = level.flatMap(({ childNodes }) => [...childNodes].filter(({ nodeType }) => nodeType === ELEMENT))
    elements += level.length
    if (++depth > DEEPEST || elements > MOST_ELEMENTS) return false
  }
  return true
}

const SKIPPED: ReadonlySet<string> = new Set(
  'TITLE SCRIPT STYLE NOSCRIPT TEMPLATE IFRAME OBJECT EMBED CANVAS SVG BUTTON SELECT TEXTAREA'.split(' '),
)
const PARAGRAPHS: ReadonlySet<string> = new Set(
  'P DIV SECTION ARTICLE MAIN HEADER FOOTER ASIDE H1 H2 H3 H4 H5 H6 UL OL DL BLOCKQUOTE PRE TABLE FIGURE FIGCAPTION HR'.split(
    ' ',
  ),
)
/** Elements that begin a line. */
const LINES: ReadonlySet<string> = new Set('BR LI DT DD TR CAPTION'.split(' '))
const [ELEMENT, TEXT] = [1, 3]

/** Paragraphs, items and rows stay apart: sentences of two elements must not run together. */
function blockText(root: DomNode): string {
  const parts: string[] = []
  const write = (node: DomNode): void => {
    if (node.nodeType === TEXT) parts.push((node.textContent ?? '').replaceAll(/\s+/g, ' '))
    if (node.nodeType !== ELEMENT) return
    const name = node.nodeName.toUpperCase()
    if (SKIPPED.has(name)) return
    const edge = PARAGRAPHS.has(name) ? '\n\n' : ''
    parts.push(LINES.has(name) ? '\n' : edge)
    for (const child of node.childNodes) write(child)
    parts.push(name === 'TD' || name === 'TH' ? ' | ' : edge)
  }
  write(root)
  return tidy(parts.join(''))
}

function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/^[ |]+|[ |]+$/g, '').replaceAll(/ {2,}/g, ' '))
  return lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE).toWellFormed()
}

answerRequests(read)
