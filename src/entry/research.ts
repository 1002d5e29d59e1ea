/** `holdfast/research`: questions to your own documents and the web, answered with citations. */
export type { Chunk, Chunker, SentenceChunkerOptions } from '../corpus/chunk.ts'
export { sentenceChunker } from '../corpus/chunk.ts'
export type { EmbeddingModel } from '../corpus/embedding.ts'
export type { DocumentFile, DocumentLimits, ParsedDocument, Parser, SkipCode } from '../corpus/parser.ts'
export { DocumentError } from '../corpus/parser.ts'
export type {
  Corpus,
  CorpusDocument,
  FoundPassage,
  Passage,
  PassageQuery,
  PassageSurroundings,
  WebPage,
  WebQuery,
  WebSearch,
} from '../corpus/port.ts'
export type { Reranker } from '../corpus/rank.ts'
export type { DocumentContent, DocumentSource } from '../corpus/sources.ts'
export type {
  AddOptions,
  AddProgress,
  AddReport,
  SkippedSource,
  SqliteCorpus,
  SqliteCorpusOptions,
} from '../corpus/sqlite/sqlite-corpus.ts'
export { sqliteCorpus } from '../corpus/sqlite/sqlite-corpus.ts'
export type { BraveOptions, SearxngOptions, TavilyOptions, WebSearchOptions } from '../corpus/web/index.ts'
export { brave, searxng, tavily } from '../corpus/web/index.ts'
export type {
  AgentOptions,
  AskOptions,
  CheckedClaim,
  ClaimVerdict,
  OrchestratorOptions,
  PdfResult,
  ResearchAgentOptions,
  ResearchAnswer,
  ResearchChannels,
  ResearchContext,
  ResearchFlow,
  ResearchGraph,
  ResearchModel,
  ResearchNode,
  ResearchOptions,
  ResearchPrompt,
  ResearchState,
  ResearchUpdate,
  Source,
  SynthesisOptions,
  WebResult,
  WorkflowAgents,
} from '../flow/research/index.ts'
export {
  AgentWorkflow,
  answerOf,
  askResearch,
  BaseAgent,
  ClarificationAgent,
  formatHistory,
  initialState,
  MasterOrchestrator,
  RESEARCH_CHANNELS,
  ResearchAgent,
  researchAssistant,
  researchFlow,
  researchNodes,
  SynthesisAgent,
} from '../flow/research/index.ts'
