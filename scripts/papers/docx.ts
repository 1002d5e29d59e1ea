/** A paper as a DOCX file, which is a zip archive of XML. The same paper gives the same bytes. */
import type { Block, Paper } from './paper.ts'
import { zip } from './zip.ts'

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml'

export function makeDocx({ title, byline, blocks }: Paper): Uint8Array {
  const body = [
    paragraph(title, 'Title'),
    paragraph(byline),
    ...blocks.map(blockXml),
    '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>',
  ]
  return zip({
    '[Content_Types].xml': `${XML}<Types xmlns="${PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="${TYPE}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="${TYPE}.styles+xml"/>
<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>
</Types>`,
    '_rels/.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">
<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="word/document.xml"/>
<Relationship Id="rId2" Type="${PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>
</Relationships>`,
    'docProps/core.xml': `${XML}<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${escaped(title)}</dc:title><dc:creator>${escaped(byline)}</dc:creator></cp:coreProperties>`,
    'word/_rels/document.xml.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">
<Relationship Id="rId1" Type="${OFFICE}/styles" Target="styles.xml"/>
</Relationships>`,
    'word/styles.xml': `${XML}<w:styles xmlns:w="${WORD}">${STYLES.map(styleXml).join('')}</w:styles>`,
    'word/document.xml': `${XML}<w:document xmlns:w="${WORD}"><w:body>${body.join('\n')}</w:body></w:document>`,
  })
}

const STYLES: readonly (readonly [id: string, name: string, halfPoints: number])[] = [
  ['Title', 'Title', 36],
  ['Heading1', 'heading 1', 28],
]

function styleXml([id, name, size]: readonly [string, string, number]): string {
  return `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/><w:rPr><w:b/><w:sz w:val="${size}"/></w:rPr></w:style>`
}

function blockXml(block: Block): string {
  if (block.kind !== 'table') return paragraph(block.text, block.kind === 'heading' ? 'Heading1' : undefined)
  const rows = block.rows.map((row) => `<w:tr>${row.map(cellXml).join('')}</w:tr>`).join('\n')
  return `<w:tbl><w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr>\n${rows}\n</w:tbl>`
}

function cellXml(text: string): string {
  return `<w:tc><w:tcPr><w:tcW w:w="0" w:type="auto"/></w:tcPr>${paragraph(text)}</w:tc>`
}

function paragraph(text: string, style?: string): string {
  const properties = style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`
  return `<w:p>${properties}<w:r><w:t xml:space="preserve">${escaped(text)}</w:t></w:r></w:p>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
