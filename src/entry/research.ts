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
