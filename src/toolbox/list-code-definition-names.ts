/** The tool `list_code_definition_names`: the definitions in a file, or in the source files of a folder. */
import { quote } from '../protocol/index.ts'
import { defineTool, jsonSchema, type Tool } from '../tool/index.ts'
import { LANGUAGES, languageOf } from './definition-languages.ts'
import { type Definitions, definitionsIn } from './definitions.ts'
import { type Grammar, type Grammars, installedGrammars, MissingPackage, type Parser } from './grammars.ts'
import { PathError } from './path-error.ts'
import { readBytes } from './read-bytes.ts'
import { pathArgument, searchPath } from './search-path.ts'
import { type SourceFiles, sourceFilesIn } from './source-files.ts'
import { counted } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import type { Workspace } from './workspace.ts'

export interface DefinitionsInput {
  readonly path: string
}

export interface DefinitionsResult {
  /** The definitions in `results`. */
  readonly definitions: number
  readonly results: readonly FileDefinitions[]
  /** The rest that is not in `results`, and what to do. */
  readonly leftOut?: string
  readonly notes?: readonly string[]
}

export interface FileDefinitions {
  readonly path: string
  /** `12: class Agent`, `15: method Agent.start`. */
  readonly definitions: readonly string[]
  /** How many more the file has. */
  readonly notShown?: number
  /** The file does not parse as a whole: definitions may be missing. */
  readonly syntaxErrors?: true
}

const MOST_FILES = 1000
const MOST_FILE_BYTES = 512 * 1024
const MOST_OUTPUT_CHARS = 40_000
const TIMEOUT_MS = 120_000

const LANGUAGE_NAMES = LANGUAGES.map(({ id }) => id).join(', ')

const DESCRIPTION = `Lists the names of definitions with their line numbers: functions, classes, methods, interfaces, types, \
enums and exported constants at the top level of a file, or of all source files below a folder. Languages: \
${LANGUAGE_NAMES}. Files that .gitignore names are left out. Use it to get to know code before you read files.`

const INPUT = jsonSchema<DefinitionsInput>({
  type: 'object',
  properties: {
    path: {
      type: 'string',
      description: 'The file or folder, from the working folder. "." is the working folder.',
    },
  },
  required: ['path'],
  additionalProperties: false,
})

export function listCodeDefinitionNames({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'list_code_definition_names',
    description: DESCRIPTION,
    input: INPUT,
    replay: 'safe',
    timeoutMs: TIMEOUT_MS,
    approve: 'never',
    run: (input, { signal }) => listDefinitions(workspace, input, { signal }),
    display: ({ definitions, results }) =>
      `${counted(definitions, 'definition')} in ${counted(results.length, 'file')}`,
  })
}

export interface ListDefinitionsOptions {
  readonly signal: AbortSignal
  readonly grammars?: Grammars
  /** As in `SearchOptions`. */
  readonly program?: string | null
}

export async function listDefinitions(
  workspace: Workspace,
  input: DefinitionsInput,
  { signal, grammars = installedGrammars, program }: ListDefinitionsOptions,
): Promise<DefinitionsResult> {
  const { path, kind } = await searchPath(workspace, input.path)
  const files =
    kind === 'folder' && (await sourceFilesIn(workspace, path, { signal, program, most: MOST_FILES }))
  const listing = new DefinitionListing({ workspace, grammars, parser: await grammars.parser() })
  try {
    if (files) return await listing.ofFolder(files, signal)
    return await listing.ofFile(path, input.path)
  } finally {
    listing.end()
  }
}

interface ListingParts {
  readonly workspace: Workspace
  readonly grammars: Grammars
  readonly parser: Parser
}

class DefinitionListing {
  readonly #parts: ListingParts
  readonly #results: FileDefinitions[] = []
  readonly #missing = new Map<string, number>()
  #definitions = 0
  #chars = 0
  #tooLarge = 0
  #tooSlow = 0
  #unreadable = 0

  constructor(parts: ListingParts) {
    this.#parts = parts
  }

  end(): void {
    this.#parts.parser.delete()
  }

  /** `given`: the path as the model gave it. */
  async ofFile(path: string, given: string): Promise<DefinitionsResult> {
    const language = languageOf(path)
    if (language === undefined)
      throw new Error(
        `${quote(given)} is in no language with known definitions (${LANGUAGE_NAMES}). Read it with read_file.`,
      )
    await this.#add(path, await this.#parts.grammars.of(language))
    if (this.#tooLarge > 0)
      throw new PathError('failed', given, 'is larger than 512 KB. Search it with search_files.')
    if (this.#tooSlow > 0)
      throw new PathError('failed', given, 'takes too long to parse. Read it with read_file.')
    return this.#result([], undefined)
  }

  async ofFolder(
    { paths, count, others, otherExtensions }: SourceFiles,
    signal: AbortSignal,
  ): Promise<DefinitionsResult> {
    let looked = 0
    for (const path of paths) {
      signal.throwIfAborted()
      if (this.#chars >= MOST_OUTPUT_CHARS) break
      looked += 1
      const grammar = await this.#grammarOf(path)
      if (grammar !== undefined) await this.#addReadable(path, grammar)
    }
    const rest = count - looked
    const leftOut = `${counted(rest, 'more source file')} not listed. Give the path of a folder below to see them.`
    return this.#result(this.#notes(others, otherExtensions), rest > 0 ? leftOut : undefined)
  }

  async #grammarOf(path: string): Promise<Grammar | undefined> {
    const language = languageOf(path)
    if (language === undefined) return undefined
    try {
      return await this.#parts.grammars.of(language)
    } catch (error) {
      if (!(error instanceof MissingPackage)) throw error
      this.#missing.set(language.package, (this.#missing.get(language.package) ?? 0) + 1)
      return undefined
    }
  }

  /** A file that was removed or replaced in the meantime is counted, and ends nothing. */
  async #addReadable(path: string, grammar: Grammar): Promise<void> {
    try {
      await this.#add(path, grammar)
    } catch (error) {
      if (!(error instanceof PathError)) throw error
      this.#unreadable += 1
    }
  }

  async #add(path: string, grammar: Grammar): Promise<void> {
    const { workspace, parser } = this.#parts
    await workspace.withFile(pathArgument(path), async ({ handle, path: found, size }) => {
      if (size > MOST_FILE_BYTES) {
        this.#tooLarge += 1
        return
      }
      const text = new TextDecoder().decode(await readBytes(handle, 0, MOST_FILE_BYTES))
      const parsed = definitionsIn(text, parser, grammar)
      if (parsed === undefined) this.#tooSlow += 1
      else this.#keep(found, parsed)
    })
  }

  #keep(path: string, { definitions, isBroken }: Definitions): void {
    if (definitions.length === 0 && !isBroken) return
    const lines: string[] = []
    this.#chars += path.length
    for (const { line, kind, name } of definitions) {
      if (this.#chars >= MOST_OUTPUT_CHARS) break
      const text = `${line}: ${kind} ${name}`
      lines.push(text)
      this.#chars += text.length
    }
    this.#definitions += lines.length
    this.#results.push({
      path,
      definitions: lines,
      ...(lines.length < definitions.length ? { notShown: definitions.length - lines.length } : {}),
      ...(isBroken ? { syntaxErrors: true } : {}),
    })
  }

  #notes(others: number, extensions: readonly string[]): readonly string[] {
    const missing = [...this.#missing].map(
      ([name, count]) => `${counted(count, 'file')} left out: npm install ${name} to list them.`,
    )
    return [
      ...missing,
      ...(others > 0 ? [`${counted(others, 'file')} in other languages (${extensions.join(', ')}).`] : []),
      ...(this.#tooLarge > 0 ? [`${counted(this.#tooLarge, 'file')} of more than 512 KB left out.`] : []),
      ...(this.#tooSlow > 0 ? [`${counted(this.#tooSlow, 'file')} left out: parsing takes too long.`] : []),
      ...(this.#unreadable > 0 ? [`${counted(this.#unreadable, 'file')} could not be read.`] : []),
    ]
  }

  #result(notes: readonly string[], leftOut: string | undefined): DefinitionsResult {
    return {
      definitions: this.#definitions,
      results: this.#results,
      ...(leftOut === undefined ? {} : { leftOut }),
      ...(notes.length > 0 ? { notes } : {}),
    }
  }
}
