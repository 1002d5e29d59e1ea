/** HTML: the text that a reader sees, as one page, by linkedom. Runs in the process that reads documents. */
import { DocumentError, type ParsedDocument } from './parser.ts'
import { decodeText } from './plain-text.ts'

/** The part of a DOM node that is used here: this package is compiled without types of browsers. */
interface DomNode {
  readonly nodeType: number
  readonly nodeName: string
  readonly nodeValue: string | null
  readonly firstChild: DomNode | null
  readonly nextSibling: DomNode | null
  readonly textContent: string
  getAttribute(name: string): string | null
}

interface Linkedom {
  parseHTML(
    this: void,
    html: string,
  ): {
    readonly document: {
      readonly childNodes: Iterable<DomNode>
      querySelector(selector: string): DomNode | null
    }
  }
}

const ELEMENT = 1
const TEXT = 3
const DOCTYPE = 10
const DROPPED: ReadonlySet<string> = new Set(
  'TITLE SCRIPT STYLE NOSCRIPT TEMPLATE HEAD NAV IFRAME OBJECT EMBED CANVAS AUDIO VIDEO SVG MATH BUTTON SELECT TEXTAREA DIALOG'.split(
    ' ',
  ),
)
const PARAGRAPHS: ReadonlySet<string> = new Set(
  'P H1 H2 H3 H4 H5 H6 ARTICLE SECTION ASIDE MAIN HEADER FOOTER BLOCKQUOTE PRE UL OL DL TABLE FIGURE FORM HR ADDRESS'.split(
    ' ',
  ),
)
const LINES: ReadonlySet<string> = new Set(
  'DIV LI TR BR DT DD CAPTION FIGCAPTION THEAD TBODY TFOOT BODY'.split(' '),
)
const CELLS: ReadonlySet<string> = new Set(['TD', 'TH'])

export async function parseHtml(bytes: Uint8Array): Promise<ParsedDocument> {
  const { parseHTML } = await load()
  const { document } = parseHTML(decodeText(bytes, declaredEncoding(bytes)))
  const title = document.querySelector('title')?.textContent.replaceAll(/\s+/g, ' ').trim() ?? ''
  return { ...(title === '' ? {} : { title }), pages: [visibleText(firstNode(document.childNodes))] }
}

async function load(): Promise<Linkedom> {
  try {
    return await import('linkedom')
  } catch {
    throw new DocumentError(
      'missing-package',
      'HTML cannot be read without the package linkedom. Install it: npm install linkedom',
    )
  }
}

/** The name in a `meta` element; undefined if there is none, or no decoder of that name. */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024))
  const name = /<meta[^>]{1,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1]
  try {
    return name === undefined ? undefined : new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

/** The doctype comes first in linkedom, and has no next sibling. */
function firstNode(nodes: Iterable<DomNode>): DomNode | null {
  for (const node of nodes) if (node.nodeType !== DOCTYPE) return node
  return null
}

/** One pass over a node and its siblings, without recursion: a page decides how deep its elements are nested. */
function visibleText(first: DomNode | null): string {
  const text: string[] = []
  const closing: { readonly next: DomNode | null; readonly gap: string; readonly isPre: boolean }[] = []
  let [node, isPre]: [DomNode | null, boolean] = [first, false]
  while (node !== null || closing.length > 0) {
    if (node === null) {
      const closed = closing.pop() as (typeof closing)[number]
      text.push(closed.gap)
      ;({ next: node, isPre } = closed)
    } else if (node.nodeType === ELEMENT && !isHidden(node)) {
      const gap = gapOf(node.nodeName.toUpperCase())
      text.push(gap)
      closing.push({ next: node.nextSibling, gap, isPre })
      isPre ||= node.nodeName.toUpperCase() === 'PRE'
      node = node.firstChild
    } else {
      if (node.nodeType === TEXT) text.push(isPre ? (node.nodeValue ?? '') : flat(node.nodeValue ?? ''))
      node = node.nextSibling
    }
  }
  return text
    .join('')
    .replaceAll(/ *\n */g, '\n')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}

function gapOf(name: string): string {
  if (PARAGRAPHS.has(name)) return '\n\n'
  if (LINES.has(name)) return '\n'
  return CELLS.has(name) ? ' ' : ''
}

function isHidden(node: DomNode): boolean {
  if (DROPPED.has(node.nodeName.toUpperCase()) || node.getAttribute('hidden') !== null) return true
  return /display\s*:\s*none|visibility\s*:\s*hidden/i.test(node.getAttribute('style') ?? '')
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
