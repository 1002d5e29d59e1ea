/** Checks the citations of an answer: the passage exists, has the words of the claim, and is on the page that is named. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import mammoth from 'mammoth'
import type { Corpus, Passage } from '../../../../src/corpus/port.ts'
import type { ResearchState } from '../../../../src/flow/research/index.ts'
import { wordsIn } from './questions.ts'

/** Of Debian's poppler-utils; without it pages of PDF files are not compared. */
export const hasPdftotext: boolean = spawnSync('pdftotext', ['-v']).error === undefined

export interface CheckedCitations {
  readonly count: number
  /** Sentences about those that are wrong. */
  readonly faults: readonly string[]
}

/** The least part of a claim's words in each passage that it cites; together they have all. */
const LEAST_SHARE = 0.8

export async function checkCitations(
  { context: { claims = [], sources = [] } }: ResearchState,
  corpus: Corpus,
): Promise<CheckedCitations> {
  const faults: string[] = []
  let count = 0
  for (const { text, citations } of claims) {
    const cited: Passage[] = []
    for (const number of citations) {
      count += 1
      const source = sources.find((each) => each.number === number)
      const passage = source && (await corpus.passage(source.passageId))
      if (passage === undefined) faults.push(`[${number}] names no passage: ${text}`)
      else if (passage.page !== source?.page || !(await isOnPage(passage)))
        faults.push(`[${number}] is not on page ${source?.page} of ${passage.source}: ${passage.text}`)
      else cited.push(passage)
    }
    faults.push(...wordFaults(text, cited))
  }
  return { count, faults }
}

function wordFaults(claim: string, cited: readonly Passage[]): readonly string[] {
  if (cited.length === 0) return [`No passage for the claim: ${claim}`]
  // A conflict has an introduction in bold.
  const words = wordsIn(claim.replace(/^\*\*[^*]+\*\*/, ''))
  const share = (text: string): number => {
    const given = new Set(wordsIn(text))
    return words.filter((word) => given.has(word)).length / words.length
  }
  const isHeld = cited.every(({ text }) => share(text) >= LEAST_SHARE)
  return isHeld && share(cited.map(({ text }) => text).join(' ')) === 1
    ? []
    : [`The cited passages lack words of the claim: ${claim}`]
}

const pages = new Map<string, Promise<readonly (readonly string[])[]>>()

async function isOnPage({ source, page, text }: Passage): Promise<boolean> {
  if (source.endsWith('.pdf') && !hasPdftotext) return true
  const known = pages.get(source) ?? pagesOf(source)
  pages.set(source, known)
  const given = new Set((await known)[(page ?? 1) - 1])
  return wordsIn(text).every((word) => given.has(word))
}

/** The words of each page, by another program than the one of the corpus. */
async function pagesOf(source: string): Promise<readonly (readonly string[])[]> {
  if (source.endsWith('.pdf'))
    return execFileSync('pdftotext', [source, '-'], { encoding: 'utf8' }).split('\f').map(wordsIn)
  if (source.endsWith('.docx')) return [wordsIn((await mammoth.extractRawText({ path: source })).value)]
  return [wordsIn(readFileSync(source, 'utf8').replaceAll(/<[^>]*>/g, ' '))]
}
