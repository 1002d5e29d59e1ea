/** `holdfast/research`: questions to your own documents and the web, answered with citations. */
export type {
  Corpus,
  CorpusDocument,
  FoundPassage,
  Passage,
  PassageQuery,
  WebPage,
  WebQuery,
  WebSearch,
} from '../corpus/port.ts'
export type { BraveOptions, SearxngOptions, TavilyOptions, WebSearchOptions } from '../corpus/web/index.ts'
export { brave, searxng, tavily } from '../corpus/web/index.ts'
