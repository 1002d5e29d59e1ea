/**
 * `node scripts/make-papers.ts`: makes the PDF and DOCX files of examples/papers from their texts in scripts/papers. The
 * other files of that folder are written by hand.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeDocx } from './papers/docx.ts'
import { parsePaper } from './papers/paper.ts'
import { makePdf } from './papers/pdf.ts'

const SOURCES = new URL('./papers/', import.meta.url)

/** Each file by its name. */
export async function makePapers(): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>()
  for (const source of readdirSync(SOURCES).filter((name) => name.endsWith('.md'))) {
    const paper = parsePaper(readFileSync(new URL(source, SOURCES), 'utf8'))
    const name = source.replace(/\.md$/, '')
    files.set(name, name.endsWith('.pdf') ? await makePdf(paper) : makeDocx(paper))
  }
  return files
}

if (import.meta.main) {
  const folder = 'examples/papers'
  mkdirSync(folder, { recursive: true })
  for (const [name, bytes] of await makePapers()) {
    writeFileSync(join(folder, name), bytes)
    console.log(`${join(folder, name)} ${bytes.length} bytes`)
  }
}
