/**
 * Questions to documents, answered with citations, without a key. The corpus is tiny and in memory; `sqliteCorpus` reads your PDF
 * files. The first process is killed with -9 in the middle of its search; the second one goes on and answers.
 */
import { spawnSync } from 'node:child_process'
import {
  askResearch,
  type Corpus,
  type FoundPassage,
  type Passage,
  researchAssistant,
} from 'holdfast/research'
import { sqliteStore } from 'holdfast/sqlite'

const isFirst = process.argv[2] === 'first'

const documents = {
  'Harbours of the bay': [
    'The bay has three harbours. Cancale lies in the west.',
    'The harbour of Cancale is 4 metres deep at high tide. At low tide it dries out.',
  ],
  'Survey of 1998': ['The harbour of Cancale is 6 metres deep at high tide. Lefevre carried out the survey.'],
}

/** Finds pages by the part of the query's words that they have. */
function tinyCorpus(): Corpus {
  const passages = Object.entries(documents).flatMap(([title, pages]) =>
    pages.map((text, at): Passage => {
      const place = { id: `${title} ${at + 1}`, documentId: title, source: `${title}.txt`, page: at + 1 }
      return { ...place, title, start: 0, end: text.length, text }
    }),
  )
  const wordsOf = (text: string): string[] => text.toLowerCase().match(/\p{L}{3,}/gu) ?? []
  return {
    search: async (query, { topK = 5 } = {}) => {
      if (isFirst) process.kill(process.pid, 'SIGKILL')
      const wanted = wordsOf(query)
      const found = passages.map((passage): FoundPassage => {
        const given = new Set(wordsOf(passage.text))
        return { ...passage, score: wanted.filter((word) => given.has(word)).length / wanted.length }
      })
      const good = found.filter(({ score }) => score >= 0.3)
      return good.toSorted((a, b) => b.score - a.score).slice(0, topK)
    },
    passage: async (id) => passages.find((passage) => passage.id === id),
    documents: async () =>
      Object.entries(documents).map(([title, pages]) => {
        const counts = { pages: pages.length, passages: pages.length }
        return { id: title, title, source: `${title}.txt`, ...counts, hash: title, addedAt: 0 }
      }),
    close: async () => {},
  }
}

const store = sqliteStore('research.db')
// For real: model: 'openai/gpt-4.1-mini'. Without a model the answer quotes sentences.
const research = researchAssistant({ corpus: tinyCorpus(), store })
const contextId = 'harbours'

async function ask(question: string): Promise<void> {
  const { answer, sources, confidenceScore } = await askResearch(research, question, { contextId })
  console.log(`\n› ${question}\n${answer}`)
  for (const { number, title, page, quote } of sources)
    console.log(`  [${number}] ${title}, page ${page}: "${quote}"`)
  if (confidenceScore !== null) console.log(`  confidence ${confidenceScore}`)
}

const question = 'How deep is the harbour of Cancale at high tide?'
if (isFirst) await ask(question)

const { signal } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, 'first'])
console.log(`The first process was killed in its search: ${signal}.`)
const { state } = await research.invoke(null, { contextId })
console.log(`The second one goes on, and answers the question:\n\n${state.final_answer}`)

await ask('And at low tide?')
await ask('Tell me who wrote this paper')
await ask('What is the price of gold?')
await store.close()
