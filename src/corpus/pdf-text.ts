/** PDF: the text of each page, by unpdf. Runs in the process that reads documents. */
import { DocumentError, type DocumentLimits, type ParsedDocument, tooLarge } from './parser.ts'

/** The part of unpdf that is used here. */
interface Unpdf {
  getDocumentProxy(this: void, bytes: Uint8Array, options: object): Promise<PdfDocument>
}

interface PdfDocument {
  readonly numPages: number
  getPage(number: number): Promise<PdfPage>
  getMetadata(): Promise<{ readonly info?: { readonly Title?: unknown } }>
  /** Until 1.7. */
  destroy?(): Promise<void>
  /** From 1.8 on. */
  readonly loadingTask?: { destroy(): Promise<void> }
}

interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly object[] }>
  cleanup(): unknown
}

/** Nothing but the bytes is read: no fonts or tables of characters from addresses, no code from the file. */
const OPTIONS = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  useWasm: false,
  enableXfa: false,
  disableAutoFetch: true,
  disableStream: true,
  isOffscreenCanvasSupported: false,
  isImageDecoderSupported: false,
  verbosity: 0,
}

export async function parsePdf(bytes: Uint8Array, limits: Required<DocumentLimits>): Promise<ParsedDocument> {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024))
  if (!head.includes('%PDF-')) throw new DocumentError('malformed', 'The file is no PDF.')
  const { getDocumentProxy } = await load()
  const pdf = await open(() => getDocumentProxy(bytes, OPTIONS))
  try {
    return { ...(await titleOf(pdf)), pages: await readPages(pdf, limits) }
  } finally {
    await (pdf.loadingTask ?? pdf).destroy?.()
  }
}

async function load(): Promise<Unpdf> {
  try {
    return await import('unpdf')
  } catch {
    throw new DocumentError(
      'missing-package',
      'PDF cannot be read without the package unpdf. Install it: npm install unpdf',
    )
  }
}

async function open(getDocument: () => Promise<PdfDocument>): Promise<PdfDocument> {
  try {
    return await getDocument()
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'PasswordException')
      throw new DocumentError('encrypted', 'The PDF needs a password. Save a copy without one.')
    throw new DocumentError('malformed', `The PDF cannot be read: ${message}`)
  }
}

async function readPages(pdf: PdfDocument, limits: Required<DocumentLimits>): Promise<readonly string[]> {
  if (pdf.numPages > limits.pages) throw tooLarge('pages', limits.pages)
  const pages: string[] = []
  let characters = 0
  let broken: Error | undefined
  // One page at a time: the memory of one is freed before the next.
  for (let number = 1; number <= pdf.numPages; number++) {
    const text = await pageText(pdf, number).catch((error: unknown) => {
      broken ??= error as Error
      return ''
    })
    characters += text.length
    if (characters > limits.characters) throw tooLarge('characters', limits.characters)
    pages.push(text)
  }
  if (broken !== undefined && characters === 0)
    throw new DocumentError('malformed', `The pages of the PDF cannot be read: ${broken.message}`)
  return pages
}

async function pageText(pdf: PdfDocument, number: number): Promise<string> {
  const page = await pdf.getPage(number)
  try {
    const { items } = await page.getTextContent()
    return (items as readonly { readonly str?: string; readonly hasEOL?: boolean }[])
      .map(({ str = '', hasEOL }) => (hasEOL === true ? `${str}\n` : str))
      .join('')
  } finally {
    page.cleanup()
  }
}

async function titleOf(pdf: PdfDocument): Promise<{ title?: string }> {
  const metadata = await pdf.getMetadata().catch(() => undefined)
  const title = metadata?.info?.Title
  return typeof title === 'string' && title.trim() !== '' ? { title } : {}
}
