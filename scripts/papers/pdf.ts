/** A paper as a PDF file of A5 pages with page numbers. The same paper gives the same bytes. */
import { PDFDocument, type PDFFont, type PDFPage, StandardFonts } from 'pdf-lib'
import type { Block, Paper } from './paper.ts'

const [WIDTH, HEIGHT, MARGIN] = [420, 595, 46]
const [BODY, SMALL, HEADING, TITLE] = [10.5, 9, 12, 15]
const LEADING = 1.36
const GAP = 7
/** A fixed date: the bytes must not depend on the day on which they are made. */
const MADE = new Date('2023-11-01T00:00:00Z')

interface Fonts {
  readonly body: PDFFont
  readonly bold: PDFFont
  readonly italic: PDFFont
}

interface Style {
  readonly font: PDFFont
  readonly size: number
}

export async function makePdf({ title, byline, blocks }: Paper): Promise<Uint8Array> {
  const pdf = await PDFDocument.create()
  pdf.setTitle(title)
  pdf.setAuthor(byline)
  pdf.setCreationDate(MADE)
  pdf.setModificationDate(MADE)
  const fonts: Fonts = {
    body: await pdf.embedFont(StandardFonts.TimesRoman),
    bold: await pdf.embedFont(StandardFonts.HelveticaBold),
    italic: await pdf.embedFont(StandardFonts.TimesRomanItalic),
  }
  const sheet = new Sheet(pdf, fonts)
  sheet.text(title, { font: fonts.bold, size: TITLE })
  sheet.text(byline, { font: fonts.italic, size: BODY })
  for (const block of blocks) sheet.block(block)
  numberPages(pdf, fonts.body)
  return pdf.save()
}

function numberPages(pdf: PDFDocument, font: PDFFont): void {
  for (const [at, page] of pdf.getPages().entries())
    page.drawText(String(at + 1), { x: WIDTH / 2, y: MARGIN / 2, size: SMALL, font })
}

/** Writes from the top down, and begins a page when one is full. */
class Sheet {
  readonly #pdf: PDFDocument
  readonly #fonts: Fonts
  #page: PDFPage
  #y: number

  constructor(pdf: PDFDocument, fonts: Fonts) {
    this.#pdf = pdf
    this.#fonts = fonts
    this.#page = pdf.addPage([WIDTH, HEIGHT])
    this.#y = HEIGHT - MARGIN
  }

  block(block: Block): void {
    if (block.kind === 'table') this.#table(block.rows)
    else if (block.kind === 'paragraph') this.text(block.text, { font: this.#fonts.body, size: BODY })
    else {
      // A heading stays with the first lines of its text.
      this.#room(HEADING * LEADING + GAP + 3 * BODY * LEADING)
      this.#y -= GAP
      this.text(block.text, { font: this.#fonts.bold, size: HEADING })
    }
  }

  text(text: string, style: Style): void {
    for (const line of wrapped(text, style, WIDTH - 2 * MARGIN)) {
      this.#room(style.size * LEADING)
      this.#y -= style.size * LEADING
      this.#page.drawText(line, { x: MARGIN, y: this.#y, ...style })
    }
    this.#y -= GAP
  }

  #table(rows: readonly (readonly string[])[]): void {
    const { body, bold } = this.#fonts
    const widths = columnWidths(rows, { font: body, size: SMALL })
    for (const [at, row] of rows.entries())
      this.#row(row, widths, { font: at === 0 ? bold : body, size: SMALL })
    this.#y -= GAP
  }

  #row(row: readonly string[], widths: readonly number[], style: Style): void {
    const cells = row.map((cell, at) => wrapped(cell, style, (widths[at] ?? 0) - GAP))
    const height = Math.max(...cells.map(({ length }) => length)) * style.size * LEADING + 3
    this.#room(height)
    let x = MARGIN
    for (const [at, lines] of cells.entries()) {
      for (const [line, text] of lines.entries()) {
        const y = this.#y - (line + 1) * style.size * LEADING
        if (text !== '') this.#page.drawText(text, { x, y, ...style })
      }
      x += widths[at] ?? 0
    }
    this.#y -= height
    const [start, end] = [
      { x: MARGIN, y: this.#y },
      { x: WIDTH - MARGIN, y: this.#y },
    ]
    this.#page.drawLine({ start, end, thickness: 0.4 })
  }

  #room(height: number): void {
    if (this.#y - height >= MARGIN) return
    this.#page = this.#pdf.addPage([WIDTH, HEIGHT])
    this.#y = HEIGHT - MARGIN
  }
}

function wrapped(text: string, { font, size }: Style, width: number): readonly string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (font.widthOfTextAtSize(longer, size) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.filter((line, at) => line !== '' || at === lines.length - 1)
}

/** In proportion to the longest cell of each column, and wide enough for its longest word. */
function columnWidths(rows: readonly (readonly string[])[], { font, size }: Style): readonly number[] {
  const columns = (rows[0] ?? []).map((_, at) => rows.map((row) => row[at] ?? ''))
  const widthOf = (text: string): number => font.widthOfTextAtSize(text, size) * 1.15 + GAP
  const least = columns.map((cells) => Math.max(...cells.flatMap((cell) => cell.split(' ')).map(widthOf)))
  const wanted = columns.map((cells, at) => Math.max(...cells.map(widthOf)) - (least[at] ?? 0))
  const spare = WIDTH - 2 * MARGIN - sum(least)
  return least.map((width, at) => width + spare * ((wanted[at] ?? 0) / Math.max(sum(wanted), 1)))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
