/** The papers in examples/papers: made from their texts, and read alike by independent programs. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import mammoth from 'mammoth'
import { extractText, getDocumentProxy } from 'unpdf'
import { beforeAll, describe, expect, it } from 'vitest'
import { makePapers } from '../scripts/make-papers.ts'
import { parsePaper } from '../scripts/papers/paper.ts'

const FOLDER = 'examples/papers'
const FILES: readonly string[] = readdirSync(FOLDER).filter((name) => name !== 'README.md')
const PDFS: readonly string[] = FILES.filter((name) => name.endsWith('.pdf'))

let made: ReadonlyMap<string, Uint8Array>
beforeAll(async () => {
  made = await makePapers()
})

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

function sourceWords(name: string): string[] {
  const { title, byline, blocks } = parsePaper(readFileSync(`scripts/papers/${name}.md`, 'utf8'))
  const texts = blocks.flatMap((block) => (block.kind === 'table' ? block.rows.flat() : [block.text]))
  return words([title, byline, ...texts].join(' '))
}

async function pagesOf(name: string): Promise<readonly string[]> {
  const pdf = await getDocumentProxy(new Uint8Array(readFileSync(`${FOLDER}/${name}`)))
  return (await extractText(pdf, { mergePages: false })).text
}

function pdftotext(name: string): readonly string[] {
  return execFileSync('pdftotext', [`${FOLDER}/${name}`, '-'], { encoding: 'utf8' })
    .split('\f')
    .slice(0, -1)
}

/** Of Debian's poppler-utils; without it those cases are skipped. */
const hasPdftotext = spawnSync('pdftotext', ['-v']).error === undefined

it('there are enough of them, in every format', () => {
  const count = (ending: string): number => FILES.filter((name) => name.endsWith(ending)).length
  expect(FILES.length).toBeGreaterThanOrEqual(14)
  expect([PDFS.length, count('.docx'), count('.html'), count('.md'), count('.txt')]).toEqual([5, 2, 3, 5, 2])
})

it('files that are made equal the ones that are stored', () => {
  expect([...made.keys()].toSorted()).toEqual(FILES.filter((name) => /\.(?:pdf|docx)$/.test(name)).toSorted())
  for (const [name, bytes] of made)
    expect([name, Buffer.from(bytes).equals(readFileSync(`${FOLDER}/${name}`))]).toEqual([name, true])
})

describe.each(PDFS)('%s', (name) => {
  it('has several pages, each with its number at the end, and all words of its text', async () => {
    const pages = await pagesOf(name)
    expect(pages.length).toBeGreaterThanOrEqual(3)
    expect(pages.map((page) => words(page).at(-1))).toEqual(pages.map((_, at) => String(at + 1)))
    expect(pages.flatMap((page) => words(page).slice(0, -1))).toEqual(sourceWords(name))
  })

  it.skipIf(!hasPdftotext && !process.env['CI'])(
    'has the same words on the same pages for pdftotext',
    async () => {
      const sorted = (pages: readonly string[]): string[][] => pages.map((page) => words(page).toSorted())
      expect(sorted(await pagesOf(name))).toEqual(sorted(pdftotext(name)))
    },
  )
})

it.each(FILES.filter((name) => name.endsWith('.docx')))('%s has all words of its text', async (name) => {
  const { value } = await mammoth.extractRawText({ buffer: readFileSync(`${FOLDER}/${name}`) })
  expect(words(value)).toEqual(sourceWords(name))
  const { value: html } = await mammoth.convertToHtml({ buffer: readFileSync(`${FOLDER}/${name}`) })
  expect(html).toMatch(/<h1>.*<\/h1>/)
})
