/** A corpus in a SQLite file: documents are parsed, cut into passages and indexed; several processes may use one file. */
import { type Clock, systemClock } from '../../base/index.ts'
import { checkOptions, HoldfastError, invalidOption, type OptionSet, shown } from '../../protocol/index.ts'
import { builtinParsers } from '../builtin-parsers.ts'
import { type Chunker, sentenceChunker } from '../chunk.ts'
import { type EmbeddingModel, embed, embeddingId } from '../embedding.ts'
import { DocumentError, type DocumentLimits, LIMITS, type Parser, type SkipCode } from '../parser.ts'
import type {
  Corpus,
  CorpusDocument,
  FoundPassage,
  Passage,
  PassageQuery,
  PassageSurroundings,
} from '../port.ts'
import { DocumentProcess } from '../process-parser.ts'
import { fuse, MIN_SCORE, type Ranked, type Reranker, reranked } from '../rank.ts'
import { checkParsers, type ReadOptions, readContent, readDocument } from '../read-document.ts'
import { type DocumentSource, type FoundSource, findSources } from '../sources.ts'
import { translate } from './corpus-errors.ts'
import { CorpusFile } from './corpus-file.ts'
import {
  findKnown,
  findPassage,
  findRanked,
  findSurroundings,
  isStored,
  listDocuments,
  removeDocument,
  writeDocument,
} from './document-rows.ts'
import { lexicalSearch } from './lexical-search.ts'
import type { DatabaseSync } from './node-sqlite.ts'
import { inSnapshot } from './open-corpus.ts'
import { embedMissing, loadVectorExtension, vectorSearch } from './vector-search.ts'

export interface SqliteCorpusOptions {
  readonly readOnly?: boolean
  /** Parsers of yours. They go before the built-in ones, and run in this process, without limits. */
  readonly parsers?: readonly Parser[]
  /** Default: `sentenceChunker()`. */
  readonly chunker?: Chunker
  /** Any embedding model of the AI SDK: passages are then also found by meaning. */
  readonly embedding?: EmbeddingModel
  /** The cosine of two texts that have nothing in common, for this embedding model. Default: 0.3. */
  readonly minSimilarity?: number
  readonly reranker?: Reranker
  /** The default of `minScore` in searches. 0.15 if not given. */
  readonly minScore?: number
  readonly limits?: DocumentLimits
  /** Timeout for other processes before `store-busy`. 10 seconds if not given. */
  readonly busyMs?: number
  readonly clock?: Clock
}

export interface AddProgress {
  readonly phase: 'documents' | 'embeddings'
  readonly done: number
  readonly total: number
  /** The document that is read now. */
  readonly source?: string
}

export interface AddOptions {
  readonly onProgress?: (progress: AddProgress) => void
  /** Stops after the document that is being written. */
  readonly signal?: AbortSignal
}

export interface SkippedSource {
  readonly source: string
  readonly code: SkipCode
  readonly reason: string
}

export interface AddReport {
  readonly added: readonly CorpusDocument[]
  /** Their content is known, under this or another source. */
  readonly unchanged: readonly { readonly source: string; readonly document: CorpusDocument }[]
  readonly skipped: readonly SkippedSource[]
  /** Files of folders that were not read: no format here has their endings. */
  readonly ignored: readonly string[]
}

export interface SqliteCorpus extends Corpus {
  readonly path: string
  /**
   * Adds files, the files of folders, and texts. A document is added whole or not at all, and its passages are found from
   * then on; an unchanged one is not read again, a changed one replaces its older content. With an embedding model, every
   * passage that has no vector of it gets one, also of earlier documents.
   */
  add(sources: readonly DocumentSource[], options?: AddOptions): Promise<AddReport>
  /** The removed document; undefined if there is none with this id. */
  remove(id: string): Promise<CorpusDocument | undefined>
}

/** The folder of a new file is created. Throws `store-foreign` or `store-newer` for a file that is no such corpus. */
export function sqliteCorpus(path: string, options: SqliteCorpusOptions = {}): SqliteCorpus {
  return new FileCorpus(path, options)
}

const BUSY_MS = 10_000
const MIN_SIMILARITY = 0.3
const TOP_K = 5
const MOST_RESULTS = 20
/** Candidates of each ranking before they are fused or reranked. */
const CANDIDATES = 50

class FileCorpus implements SqliteCorpus {
  readonly path: string
  readonly #options: SqliteCorpusOptions
  readonly #file: CorpusFile
  readonly #process: DocumentProcess
  readonly #reading: ReadOptions
  #hasExtension = false
  #isClosed = false

  constructor(path: string, options: SqliteCorpusOptions) {
    checkOptions(options, CORPUS_OPTIONS)
    checkOptions(options.limits ?? {}, LIMIT_OPTIONS)
    checkParsers(options.parsers ?? [])
    checkSimilarity(options.minSimilarity)
    this.path = path
    this.#options = options
    const limits = { ...LIMITS, ...options.limits }
    this.#process = new DocumentProcess(limits)
    this.#reading = {
      limits,
      parsers: [...(options.parsers ?? []), ...builtinParsers(this.#process)],
      chunker: options.chunker ?? sentenceChunker(),
    }
    const { readOnly = false, busyMs = BUSY_MS, embedding } = options
    const allowExtension = embedding !== undefined
    const onOpen = (db: DatabaseSync): void => {
      this.#hasExtension = allowExtension && loadVectorExtension(db)
    }
    this.#file = new CorpusFile(path, { readOnly, busyMs, allowExtension, onOpen })
  }

  async add(sources: readonly DocumentSource[], options: AddOptions = {}): Promise<AddReport> {
    checkOptions(options, ADD_OPTIONS)
    const { signal } = options
    const reading = { ...this.#reading, ...(signal === undefined ? {} : { signal }) }
    const extensions = new Set(reading.parsers.flatMap((parser) => parser.extensions))
    const ignored: string[] = []
    const onIgnored = (path: string) => void ignored.push(path)
    const found = await findSources(sources, { ...reading, extensions, onIgnored })
    const results = await this.#addEach(found, reading, options)
    // A source whose content another one had before loses it when that one changes.
    for (const [each, result] of results)
      if ('document' in result && !this.#query((db) => isStored(db, result.document)))
        results.set(each, await this.#addOne(each, reading))
    await this.#embedMissing(options)
    return { ...reportOf(results), ignored }
  }

  async #addEach(
    found: readonly FoundSource[],
    reading: ReadOptions,
    { onProgress, signal }: AddOptions,
  ): Promise<Map<FoundSource, AddedOne>> {
    const results = new Map<FoundSource, AddedOne>()
    const count = { phase: 'documents', total: found.length } as const
    for (const [done, each] of found.entries()) {
      signal?.throwIfAborted()
      onProgress?.({ ...count, done, source: each.source })
      results.set(each, await this.#addOne(each, reading))
    }
    onProgress?.({ ...count, done: found.length })
    return results
  }

  async #addOne(found: FoundSource, reading: ReadOptions): Promise<AddedOne> {
    try {
      const content = await readContent(found, reading)
      const known = this.#query((db) => findKnown(db, content))
      if (known !== undefined) return { isNew: false, document: known }
      const read = await readDocument(content, reading)
      const addedAt = (this.#options.clock ?? systemClock).now()
      const document = this.#query((db) => writeDocument(db, content, { document: read, addedAt }))
      return { isNew: true, document }
    } catch (error) {
      // close() ends the process that reads documents.
      this.#checkOpen()
      if (error instanceof DocumentError) return { code: error.code, reason: error.message }
      throw error
    }
  }

  async #embedMissing({ signal, onProgress }: AddOptions): Promise<void> {
    const { embedding } = this.#options
    if (embedding === undefined) return
    await embedMissing((work) => this.#query(work), embedding, {
      ...(signal === undefined ? {} : { signal }),
      onProgress: (done, total) => onProgress?.({ phase: 'embeddings', done, total }),
    })
  }

  async remove(id: string): Promise<CorpusDocument | undefined> {
    return this.#query((db) => removeDocument(db, id))
  }

  async documents(): Promise<readonly CorpusDocument[]> {
    return this.#query(listDocuments)
  }

  async passage(id: string): Promise<Passage | undefined> {
    return this.#query((db) => findPassage(db, id))
  }

  async surroundings(id: string): Promise<PassageSurroundings | undefined> {
    return this.#query((db) => findSurroundings(db, id))
  }

  async search(query: string, options: PassageQuery = {}): Promise<readonly FoundPassage[]> {
    checkOptions(options, SEARCH_OPTIONS)
    const { topK = TOP_K, minScore = this.#options.minScore ?? MIN_SCORE, signal } = options
    if (typeof query !== 'string' || !Number.isInteger(topK) || topK < 1 || topK > MOST_RESULTS)
      throw new HoldfastError('invalid-option', {
        message: `search() takes a text, and a topK from 1 to ${MOST_RESULTS}.`,
        details: { option: 'topK' },
      })
    signal?.throwIfAborted()
    const vector = await this.#vectorOf(query, signal)
    const { reranker } = this.#options
    const found = this.#query((db) =>
      inSnapshot(db, () => {
        const ranked = this.#rank(db, query, vector).filter(({ score }) => score > 0)
        if (reranker !== undefined) return findRanked(db, ranked.slice(0, CANDIDATES))
        return findRanked(db, ranked.filter(({ score }) => score >= minScore).slice(0, topK))
      }),
    )
    if (reranker === undefined || found.length === 0) return found
    const scores = await reranker.rerank(query, found, signal === undefined ? {} : { signal })
    return reranked(found, scores)
      .filter(({ score }) => score >= minScore)
      .slice(0, topK)
  }

  /** Undefined: words alone are compared. */
  async #vectorOf(query: string, signal: AbortSignal | undefined): Promise<Float32Array | undefined> {
    const { embedding } = this.#options
    if (embedding === undefined || query.trim() === '') return undefined
    const [vector] = await embed(embedding, [query], signal)
    return vector
  }

  #rank(db: DatabaseSync, query: string, vector: Float32Array | undefined): readonly Ranked[] {
    const { embedding, minSimilarity = MIN_SIMILARITY } = this.#options
    const byWords = lexicalSearch(db, query, CANDIDATES)
    if (embedding === undefined || vector === undefined) return byWords
    const byMeaning = vectorSearch(db, {
      model: embeddingId(embedding),
      vector,
      limit: CANDIDATES,
      floor: minSimilarity,
      isExtended: this.#hasExtension,
    })
    return fuse(byWords, byMeaning)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#process.close()
    this.#file.close()
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw new HoldfastError('store-closed', {
      message: `The corpus ${this.path} was closed. Open another one.`,
      details: { path: this.path },
    })
  }

  #query<T>(work: (db: DatabaseSync) => T): T {
    this.#checkOpen()
    try {
      return this.#file.use(work)
    } catch (error) {
      throw translate(error, this.path)
    }
  }
}

type AddedOne =
  | { readonly isNew: boolean; readonly document: CorpusDocument }
  | { readonly code: SkipCode; readonly reason: string }

function reportOf(results: ReadonlyMap<FoundSource, AddedOne>): Omit<AddReport, 'ignored'> {
  const added: CorpusDocument[] = []
  const unchanged: AddReport['unchanged'][number][] = []
  const skipped: SkippedSource[] = []
  for (const [{ source }, result] of results)
    if ('code' in result) skipped.push({ source, ...result })
    else if (result.isNew) added.push(result.document)
    else unchanged.push({ source, document: result.document })
  return { added, unchanged, skipped }
}

const CORPUS_OPTIONS: OptionSet<SqliteCorpusOptions> = {
  place: 'sqliteCorpus()',
  options: {
    readOnly: 'true or false',
    parsers: 'a list',
    chunker: 'an object',
    embedding: 'an object',
    minSimilarity: 'a number',
    reranker: 'an object',
    minScore: { least: 0 },
    limits: 'an object',
    busyMs: { leastMs: 0 },
    clock: 'an object',
  },
}

/** Beyond the range of a cosine every passage would be as good as the question itself. */
function checkSimilarity(minSimilarity = MIN_SIMILARITY): void {
  if (minSimilarity >= -1 && minSimilarity < 1) return
  throw invalidOption('minSimilarity', `must be a cosine from -1 on and below 1, not ${shown(minSimilarity)}`)
}

const LIMIT_OPTIONS: OptionSet<DocumentLimits> = {
  place: 'limits',
  options: {
    bytes: { least: 1 },
    characters: { least: 1 },
    pages: { least: 1 },
    megabytes: { least: 32 },
    timeoutMs: { leastMs: 1 },
  },
}

const ADD_OPTIONS: OptionSet<AddOptions> = {
  place: 'add()',
  options: { onProgress: 'a function', signal: 'an AbortSignal' },
}

const SEARCH_OPTIONS: OptionSet<PassageQuery> = {
  place: 'search()',
  options: { topK: 'a number', minScore: { least: 0 }, signal: 'an AbortSignal' },
}
