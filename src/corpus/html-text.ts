/** HTML: the text that a reader sees, as one page, by linkedom. Runs in the process that reads documents. */
import { DocumentError, type ParsedDocument } from './parser.ts'
import { decodeText } from './plain-text.ts'

/** The part of a DOM node that is used here: this package is compiled without types of browsers. */
interface DomNode {
  readonly nodeType: number
  readonly nodeName: string
  readonly nodeValue: string | null
  readonly childNodes: Iterable<DomNode>
  readonly textContent: string
  getAttribute(name: string): string | null
}

interface Linkedom {
  parseHTML(
    this: void,
    html: string,
  ): {
    readonly document: { querySelector(selector: string): DomNode | null } & DomNode
  }
}

const ELEMENT = 1
const TEXT = 3
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
  const title = document.querySelector('title:not(svg *)')?.textContent.replaceAll(/\s+/g, ' ').trim() ?? ''
  return { ...(title === '' ? {} : { title }), pages: [visibleText(document)], isPaged: false }
}

async function load(): Promise<Linkedom> {
  try {
    return await import('linkedom')
  } catch {
    throw new DocumentError(
      'missing-package',
      'HTML cannot be read without the package linkedom. Install it: npm install linkedom@0.18.13',
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

/**
 * One pass without recursion: a page decides how deep its elements are nested. Goes by `childNodes`, because a doctype of
 * linkedom has no `nextSibling`.
 */
function visibleText(root: DomNode): string {
  const text: string[] = []
  const open = [{ nodes: root.childNodes[Symbol.iterator](), gap: '', isPre: false }]
  for (let parent = open.at(-1); parent !== undefined; parent = open.at(-1)) {
    const { value: node } = parent.nodes.next() as { readonly value: DomNode | undefined }
    if (node === undefined) {
      text.push(parent.gap)
      open.pop()
    } else if (node.nodeType === TEXT) {
      text.push(parent.isPre ? (node.nodeValue ?? '') : flat(node.nodeValue ?? ''))
    } else if (node.nodeType === ELEMENT && !isHidden(node)) {
      const name = node.nodeName.toUpperCase()
      text.push(gapOf(name))
      const isPre = parent.isPre || name === 'PRE'
      open.push({ nodes: node.childNodes[Symbol.iterator](), gap: gapOf(name), isPre })
    }
  }
  return text
    .join('')
    .replaceAll(/(?<! ) *\n */g, '\n')
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
