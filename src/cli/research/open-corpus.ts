/** Opens the documents and the web search of `holdfast research`: those of the config, else the file and the usual vendors. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  brave,
  type Corpus,
  type SqliteCorpus,
  searxng,
  sqliteCorpus,
  tavily,
  type WebSearch,
} from 'holdfast/research'
import { type CommandContext, workspaceOf } from '../command/context.ts'
import { shownPath } from '../config/config-errors.ts'
import type { ResearchConfig } from '../config/define-config.ts'
import { didYouMean } from '../nearest.ts'
import { unusable, wrongUsage } from '../refusal.ts'
import type { Workspace } from '../workspace.ts'

/**
 * The corpus that questions search, for its documents: that of `--corpus`, of the config, or of the folder of conversations.
 * Undefined if its file does not exist yet; `create` makes it.
 */
export function documentsCorpus(context: CommandContext, how: 'read'): Promise<Corpus | undefined>
export function documentsCorpus(context: CommandContext, how: 'change'): Promise<SqliteCorpus | undefined>
export function documentsCorpus(context: CommandContext, how: 'create'): Promise<SqliteCorpus>
export async function documentsCorpus(
  context: CommandContext,
  how: 'read' | 'change' | 'create',
): Promise<Corpus | undefined> {
  const given = context.args.value('corpus')
  if (given !== undefined) return fileCorpus(resolve(context.cwd, given), how)
  const workspace = await workspaceOf(context)
  const { research, folder, configPath = '' } = workspace
  if (research.corpus !== undefined) {
    const own = await configCorpus(research.corpus)
    if (how === 'read' || typeof (own as Partial<SqliteCorpus>).add === 'function') return own
    throw unusable(
      `${shownPath(configPath)}: research.corpus takes no documents from this command. Change them where they are, or name the file of another corpus with --corpus.`,
    )
  }
  if (how === 'create') workspace.makeFolder()
  return fileCorpus(corpusIn(folder), how)
}

function fileCorpus(path: string, how: 'read' | 'change' | 'create'): SqliteCorpus | undefined {
  if (how !== 'create' && !existsSync(path)) return undefined
  return sqliteCorpus(path, { readOnly: how === 'read' })
}

function configCorpus(corpus: NonNullable<ResearchConfig['corpus']>): Corpus | Promise<Corpus> {
  return typeof corpus === 'function' ? corpus() : corpus
}

function corpusIn(folder: string): string {
  return join(folder, 'corpus.db')
}

/** True if the config has a corpus, or documents were added. */
export function hasCorpus({ research, folder }: Workspace): boolean {
  return research.corpus !== undefined || existsSync(corpusIn(folder))
}

/** The corpus of `--corpus`, of the config, or of the folder of conversations. The command closes it. */
export async function openCorpus(
  { args, cwd }: CommandContext,
  { research: { corpus }, folder }: Workspace,
): Promise<Corpus> {
  const given = args.value('corpus')
  if (corpus !== undefined && given === undefined) return configCorpus(corpus)
  const path = given === undefined ? corpusIn(folder) : resolve(cwd, given)
  if (!existsSync(path))
    throw unusable(
      `There are no documents to search: ${shownPath(path)} does not exist. Add some first: holdfast research add FILES…`,
    )
  return sqliteCorpus(path, { readOnly: true })
}

/** Searches that need nothing but a variable of the environment, by name. */
const VENDORS: Readonly<Record<string, { readonly variable: string; readonly open: () => WebSearch }>> = {
  searxng: { variable: 'SEARXNG_URL', open: () => searxng() },
  brave: { variable: 'BRAVE_API_KEY', open: () => brave() },
  tavily: { variable: 'TAVILY_API_KEY', open: () => tavily() },
}

/** The web search with this name; else the first of the config, else the first vendor whose variable is set. */
export function openWeb(
  { env }: Pick<CommandContext, 'env'>,
  { web = {} }: ResearchConfig,
  name: string | undefined,
): WebSearch | undefined {
  const usable = Object.keys(VENDORS).filter((each) => env[VENDORS[each]?.variable ?? ''])
  const chosen = name ?? Object.keys(web)[0] ?? usable[0]
  if (chosen === undefined) return undefined
  if (Object.hasOwn(web, chosen)) return web[chosen]
  if (Object.hasOwn(VENDORS, chosen)) return VENDORS[chosen]?.open()
  const names = [...Object.keys(web), ...Object.keys(VENDORS)]
  throw wrongUsage(
    `There is no web search ${JSON.stringify(chosen)}.${didYouMean(chosen, names)} There are ${names.join(', ')}.`,
  )
}
