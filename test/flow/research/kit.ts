/** A corpus, a web and models for the research assistant: small, in memory, and the same in every process. */
import type {
  Corpus,
  FoundPassage,
  Passage,
  PassageQuery,
  WebPage,
  WebQuery,
  WebSearch,
} from '../../../src/corpus/port.ts'
import type { PromptMessage } from '../../../src/model/index.ts'
import { type ScriptedFunction, ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { eagerTimer } from '../../recovery/mortal.ts'

export interface TextDocument {
  readonly title: string
  readonly pages: readonly string[]
}

export const HARBOURS: readonly TextDocument[] = [
  {
    title: 'Harbours of the bay',
    pages: [
      'The bay has three harbours. Cancale lies in the west.',
      'The harbour of Cancale is 4 metres deep at high tide. At low tide it dries out. Oysters are grown on 380 hectares of the foreshore.',
      'Granville has a wet dock. The gate of the dock opens 2 hours before high tide.',
    ],
  },
  {
    title: 'Survey of 1998',
    pages: [
      'The survey of the coast was carried out by Lefevre in 1998.',
      'The harbour of Cancale is 6 metres deep at high tide. Silt had been dredged the year before.',
    ],
  },
  {
    title: 'Les phares',
    pages: ['Le phare de la Pierre-de-Herpin a été construit en 1882. Sa portée est de 13 milles.'],
  },
]

const SMALL = new Set(
  'a an and at by how in is it of on the to was what which who when where le la les de des est a été du quel quelle en sa'.split(
    ' ',
  ),
)

function wordsOf(text: string): string[] {
  const found = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return found.filter((word) => !SMALL.has(word)).map((word) => word.replace(/s$/, ''))
}

export interface MemoryCorpus extends Corpus {
  readonly queries: { readonly query: string; readonly topK: number | undefined }[]
}

export interface CorpusFaults {
  /** Thrown by each search. */
  readonly fails?: Error
  /** Awaited by each search. */
  readonly before?: (query: string) => Promise<void>
}

/** Its score is the part of the query's words that a passage has; passages below 0.3 are left out. */
export function memoryCorpus(
  documents: readonly TextDocument[] = HARBOURS,
  faults: CorpusFaults = {},
): MemoryCorpus {
  const queries: { query: string; topK: number | undefined }[] = []
  const passages = documents.flatMap(({ title, pages }, at) =>
    pages.map(
      (text, page): Passage => ({
        id: `d${at + 1}p${page + 1}`,
        documentId: `d${at + 1}`,
        title,
        source: `${title.toLowerCase().replaceAll(' ', '-')}.pdf`,
        page: page + 1,
        start: 0,
        end: text.length,
        text,
      }),
    ),
  )
  const search = async (
    query: string,
    { topK = 5, minScore = 0.3 }: PassageQuery = {},
  ): Promise<FoundPassage[]> => {
    queries.push({ query, topK })
    await faults.before?.(query)
    if (faults.fails !== undefined) throw faults.fails
    const wanted = [...new Set(wordsOf(query))]
    const scored = passages.map((passage) => {
      const given = new Set(wordsOf(`${passage.title} ${passage.text}`))
      const share = wanted.filter((word) => given.has(word)).length / Math.max(1, wanted.length)
      return { ...passage, score: Math.round(share * 100) / 100 }
    })
    return scored
      .filter(({ score }) => score >= minScore)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, topK)
  }
  return {
    queries,
    search,
    passage: async (id) => passages.find((passage) => passage.id === id),
    documents: async () =>
      documents.map(({ title, pages }, at) => ({
        id: `d${at + 1}`,
        title,
        source: `${title}.pdf`,
        pages: pages.length,
        passages: pages.length,
        hash: String(at),
        addedAt: 0,
      })),
    close: async () => {},
  }
}

export interface MemoryWeb extends WebSearch {
  readonly queries: string[]
}

export function memoryWeb(
  pages: readonly WebPage[] | Error,
  before: (query: string, options?: WebQuery) => Promise<void> = async () => {},
): MemoryWeb {
  const queries: string[] = []
  return {
    name: 'memory',
    queries,
    search: async (query, options) => {
      queries.push(query)
      await before(query, options)
      if (pages instanceof Error) throw pages
      return pages
    },
  }
}

/** The replies of a model to each agent. A function gets the prompt of the call as text. */
export interface ResearchScript {
  readonly orchestrator?: Reply
  readonly clarification?: Reply
  /** By the number of earlier replies in the prompt. */
  readonly research?: readonly Reply[]
  readonly synthesis?: Reply
  readonly support?: Reply
}

type Reply = Exclude<ScriptedStep, ScriptedFunction> | ((prompt: string) => ScriptedStep)

const AGENTS = {
  orchestrator: 'You route questions',
  clarification: 'You ask a user',
  research: 'You find evidence',
  synthesis: 'You answer the newest question',
  support: 'You check whether sources',
} as const

const OBVIOUS: Required<ResearchScript> = {
  orchestrator: 'RESEARCH',
  clarification: 'What do you mean?',
  research: ['Found something.'],
  synthesis: 'NOT FOUND',
  support: '{"unsupported": []}',
}

export function researchModel(script: ResearchScript = {}): ScriptedModel {
  return new ScriptedModel(({ prompt }) => replyTo(script, prompt), {
    name: 'scripted/model',
    timer: eagerTimer,
  })
}

function agentOf(prompt: readonly PromptMessage[]): keyof typeof AGENTS {
  const system = JSON.stringify(prompt[0]?.content ?? '')
  const found = Object.entries(AGENTS).find(([, text]) => system.includes(text))
  if (found === undefined) throw new Error(`No agent has the prompt ${system}`)
  return found[0] as keyof typeof AGENTS
}

export function promptText(prompt: readonly PromptMessage[]): string {
  return prompt
    .slice(1)
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((part) => part.text ?? JSON.stringify(part)).join('\n'),
    )
    .join('\n')
}

function replyTo(script: ResearchScript, prompt: readonly PromptMessage[]): ScriptedStep {
  const agent = agentOf(prompt)
  const number = prompt.filter(({ role }) => role === 'assistant').length
  const replies = { ...OBVIOUS, ...script }
  const reply = agent === 'research' ? (replies.research[number] ?? 'Found something.') : replies[agent]
  return typeof reply === 'function' ? reply(promptText(prompt)) : reply
}

/** The agents that called the model, in order. */
export function callers(model: ScriptedModel): readonly string[] {
  return model.calls.map(({ prompt }) => agentOf(prompt))
}
