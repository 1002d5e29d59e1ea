/** DOCX: its paragraphs as one page, by mammoth. Runs in the process that reads documents. */
import { CORE, packStored, unpackDocx } from './docx-zip.ts'
import { DocumentError, type DocumentLimits, type ParsedDocument } from './parser.ts'

/** The part of mammoth that is used here. */
interface Mammoth {
  extractRawText(input: { readonly buffer: Buffer }): Promise<{ readonly value: string }>
}

/** Office saves a document with a password as a file of an older kind. */
const OLE = [0xd0, 0xcf, 0x11, 0xe0]
/** Bytes of XML for a character of text: a tenth of this is usual. */
const BYTES_PER_CHARACTER = 4
/** Styles and settings take this much beside any text. */
const LEAST_BYTES = 16_000_000

export async function parseDocx(
  bytes: Uint8Array,
  limits: Required<DocumentLimits>,
): Promise<ParsedDocument> {
  if (OLE.every((byte, at) => bytes[at] === byte))
    throw new DocumentError(
      'encrypted',
      'The document has a password, or the format of an older Word. Save it as DOCX without one.',
    )
  const parts = unpackDocx(bytes, Math.max(LEAST_BYTES, limits.characters * BYTES_PER_CHARACTER))
  const mammoth = await load()
  try {
    const { value } = await mammoth.extractRawText({ buffer: packStored(parts) })
    return { ...titleOf(parts.get(CORE)), pages: [value], isPaged: false }
  } catch (error) {
    if (error instanceof RangeError) throw error
    throw new DocumentError('malformed', `The DOCX cannot be read: ${(error as Error).message}`)
  }
}

async function load(): Promise<Mammoth> {
  try {
    return ((await import('mammoth')) as unknown as { readonly default: Mammoth }).default
  } catch {
    throw new DocumentError(
      'missing-package',
      'DOCX cannot be read without the package mammoth. Install it: npm install mammoth',
    )
  }
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function titleOf(core: Buffer | undefined): { title?: string } {
  const raw = /<dc:title>([^<]{1,1000})<\/dc:title>/.exec(core?.toString('utf8') ?? '')?.[1]
  const title = raw?.replaceAll(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => NAMED[name] ?? '').trim()
  return title === undefined || title === '' ? {} : { title }
}
