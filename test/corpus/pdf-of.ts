/** PDFs as a writer makes them. */
import { PDFDocument, StandardFonts } from 'pdf-lib'

/** One page for each text. */
export async function pdfOf(pages: readonly string[], title?: string): Promise<Uint8Array> {
  const pdf = await PDFDocument.create()
  const font = await pdf.embedFont(StandardFonts.Helvetica)
  if (title !== undefined) pdf.setTitle(title)
  for (const text of pages) pdf.addPage().drawText(text, { x: 50, y: 700, size: 12, font, lineHeight: 14 })
  return pdf.save()
}
