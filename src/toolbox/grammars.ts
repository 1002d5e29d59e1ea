/**
 * Tree-sitter and its grammars, which are optional packages, loaded when they are needed. A loaded grammar stays for the
 * life of the process: WebAssembly cannot unload it. Knows nothing of files.
 */
import { createRequire } from 'node:module'
import { startOnce } from '../tool/index.ts'
import type { DefinitionLanguage } from './definition-languages.ts'

/** The part of web-tree-sitter that is used. */
export interface TreeSitter {
  readonly Parser: { new (): Parser; init(module?: object): Promise<void> }
  readonly Language: { load(path: string): Promise<Language> }
  readonly Query: new (language: Language, source: string) => Query
}

export interface Parser {
  setLanguage(language: Language): unknown
  parse(text: string, old: null, options: Interruptible): SyntaxTree | null
  reset(): void
  delete(): void
}

interface Language {
  readonly abiVersion: number
}

interface Interruptible {
  /** Returns true to end the work. */
  readonly progressCallback: () => boolean
}

interface Query {
  matches(node: SyntaxNode, options: Interruptible): readonly QueryMatch[]
}

export interface QueryMatch {
  readonly captures: readonly { readonly name: string; readonly node: SyntaxNode }[]
}

interface SyntaxTree {
  readonly rootNode: SyntaxNode
  delete(): void
}

export interface SyntaxNode {
  readonly id: number
  readonly text: string
  readonly startPosition: { readonly row: number }
  readonly startIndex: number
  readonly endIndex: number
  readonly hasError: boolean
}

/** An optional package that is not installed. */
export class MissingPackage extends Error {
  readonly packages: readonly string[]

  constructor(packages: readonly string[]) {
    super(
      `list_code_definition_names needs ${packages.join(' and ')}, not installed: npm install ${packages.join(' ')}`,
    )
    this.name = 'MissingPackage'
    this.packages = packages
  }
}

export interface Grammar {
  readonly language: Language
  readonly query: Query
}

export interface GrammarSource {
  readonly load: () => Promise<TreeSitter>
  /** The path of a file in a package. Throws if it is not installed. */
  readonly locate: (specifier: string) => string
}

export const INSTALLED: GrammarSource = {
  load: async () => (await import('web-tree-sitter')) as unknown as TreeSitter,
  locate: (specifier) => createRequire(import.meta.url).resolve(specifier),
}

export class Grammars {
  readonly #source: GrammarSource
  readonly #grammars = new Map<DefinitionLanguage, Promise<Grammar>>()

  constructor(source: GrammarSource = INSTALLED) {
    this.#source = source
  }

  /** A parser for any grammar. The caller deletes it. Throws `MissingPackage`. */
  async parser(): Promise<Parser> {
    const { Parser: Created } = await this.#loaded()
    return new Created()
  }

  /** Throws `MissingPackage`. */
  async of(language: DefinitionLanguage): Promise<Grammar> {
    const known = this.#grammars.get(language)
    if (known !== undefined) return known
    const loading = this.#load(language)
    this.#grammars.set(language, loading)
    // A package may be installed later.
    loading.catch(() => this.#grammars.delete(language))
    return loading
  }

  async #load({ package: name, file, query }: DefinitionLanguage): Promise<Grammar> {
    const treeSitter = await this.#loaded()
    let path: string
    try {
      path = this.#source.locate(`${name}/${file}`)
    } catch {
      throw new MissingPackage([name])
    }
    const language = await treeSitter.Language.load(path)
    return { language, query: new treeSitter.Query(language, query) }
  }

  async #loaded(): Promise<TreeSitter> {
    const treeSitter = await this.#source.load().catch(() => {
      throw new MissingPackage(['web-tree-sitter'])
    })
    const { Parser } = treeSitter
    await startOnce(Parser, () => Parser.init())
    return treeSitter
  }
}

/** One for the process: a grammar that is loaded twice takes its memory twice. */
export const installedGrammars: Grammars = new Grammars()
