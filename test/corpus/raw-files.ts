/** PDF and DOCX files written by hand, so that each part of them can be wrong. */
import { constants, crc32, deflateRawSync } from 'node:zlib'

export type PdfObject = string | { readonly dict: string; readonly stream: Uint8Array | string }

export interface RawPdf {
  /** Objects from number 1 on. The first is the catalog. */
  readonly objects: readonly PdfObject[]
  readonly trailer?: string
}

export function rawPdf({ objects, trailer = '' }: RawPdf): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')]
  const offsets: number[] = []
  let length = parts[0]?.length ?? 0
  const push = (bytes: Uint8Array | string): void => {
    const part = Buffer.from(bytes as string)
    parts.push(part)
    length += part.length
  }
  for (const [at, object] of objects.entries()) {
    offsets.push(length)
    push(`${at + 1} 0 obj\n`)
    if (typeof object === 'string') push(object)
    else {
      const bytes = Buffer.from(object.stream as string)
      push(`<<${object.dict}/Length ${bytes.length}>>\nstream\n`)
      push(bytes)
      push('\nendstream')
    }
    push('\nendobj\n')
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const count = objects.length + 1
  const end = `trailer\n<</Size ${count}/Root 1 0 R${trailer}>>\nstartxref\n${length}\n%%EOF`
  push(`xref\n0 ${count}\n0000000000 65535 f \n${rows}${end}`)
  return Buffer.concat(parts)
}

export const HELLO = 'BT /F1 12 Tf 50 700 Td (Hello from the page) Tj ET'
export const FONT = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'

export interface PagePdf {
  readonly content?: Uint8Array | string
  /** Entries of the dictionary of the content, such as a filter. */
  readonly dict?: string
  readonly catalog?: string
  readonly page?: string
  readonly resources?: string
  /** Objects from number 6 on. */
  readonly more?: readonly PdfObject[]
  readonly trailer?: string
}

/** One page with a font F1. */
export function pagePdf({
  content = HELLO,
  dict = '',
  catalog = '',
  page = '',
  resources = '',
  more = [],
  trailer = '',
}: PagePdf = {}): Buffer {
  return rawPdf({
    objects: [
      `<</Type/Catalog/Pages 2 0 R${catalog}>>`,
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>${resources}>>${page}>>`,
      { dict, stream: content },
      FONT,
      ...more,
    ],
    trailer,
  })
}

/** Spaces, compressed to a thousandth. One compressed megabyte is repeated, so that it takes no time to make. */
export function rawBomb(megabytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(1024 * 1024, 32), { finishFlush: constants.Z_FULL_FLUSH })
  const end = Buffer.from([3, 0])
  return Buffer.concat([...Array.from({ length: megabytes }, () => block), end])
}

/** With the header of zlib, as in a PDF. */
export function deflateBomb(megabytes: number): Buffer {
  return Buffer.concat([Buffer.from([0x78, 0x9c]), rawBomb(megabytes)])
}

export interface ZipPart {
  readonly name: string
  readonly content: string | Uint8Array
  /** Bits of the general purpose flag. */
  readonly flags?: number
  /** Bytes instead of the compressed content. */
  readonly packed?: Uint8Array
}

export function zipOf(zipParts: readonly ZipPart[]): Buffer {
  const files: Buffer[] = []
  const index: Buffer[] = []
  let offset = 0
  for (const { name, content, flags = 0, packed: given } of zipParts) {
    const raw = Buffer.from(content as string)
    const packed = Buffer.from(given ?? deflateRawSync(raw))
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(raw), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(raw.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const entry = Buffer.alloc(46)
    entry.write('PK\u0001\u0002', 'latin1')
    entry.writeUInt16LE(20, 4)
    fields.copy(entry, 6)
    entry.writeUInt32LE(offset, 42)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), fields, Buffer.from(name), packed])
    files.push(local)
    index.push(entry, Buffer.from(name))
    offset += local.length
  }
  const size = index.reduce((total, { length }) => total + length, 0)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(zipParts.length, 8)
  end.writeUInt16LE(zipParts.length, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, ...index, end])
}

const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
export const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

/** The text of one paragraph. */
export function paragraph(text: string): string {
  return `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
}

export function bodyXml(body: string, prolog = ''): string {
  return `<?xml version="1.0" encoding="UTF-8"?>${prolog}<w:document ${WORD}><w:body>${body}</w:body></w:document>`
}

export function docxParts(documentXml: string): readonly ZipPart[] {
  const types = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'
  return [
    {
      name: '[Content_Types].xml',
      content: `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${types}"/></Types>`,
    },
    { name: '_rels/.rels', content: relations('officeDocument', 'word/document.xml') },
    { name: 'word/document.xml', content: documentXml },
  ]
}

export function relations(type: string, target: string, mode = ''): string {
  return `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${RELATION}/${type}" Target="${target}"${mode}/></Relationships>`
}

export function docx(body: string, prolog = ''): Buffer {
  return zipOf(docxParts(bodyXml(body, prolog)))
}
