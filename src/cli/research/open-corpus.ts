/** Opens the documents and the web search of `holdfast research`: those of the config. */
import type { Corpus, WebSearch } from 'holdfast/research'
import type { ResearchConfig } from '../config/define-config.ts'
import { didYouMean } from '../nearest.ts'
import { unusable, wrongUsage } from '../refusal.ts'

/** The corpus of the config. The command closes it. */
export async function openCorpus({ corpus }: ResearchConfig): Promise<Corpus> {
  if (corpus === undefined)
    throw unusable(
      'There are no documents to search. Give the config a corpus: research: { corpus: () => … }.',
    )
  return typeof corpus === 'function' ? corpus() : corpus
}

/** The web search with this name, or the first one of the config; undefined if there is none. */
export function openWeb({ web = {} }: ResearchConfig, name: string | undefined): WebSearch | undefined {
  const names = Object.keys(web)
  const [first] = names
  const chosen = name ?? first
  if (chosen === undefined) return undefined
  const found = Object.hasOwn(web, chosen) ? web[chosen] : undefined
  if (found !== undefined) return found
  const known =
    names.length === 0 ? 'The config has none: research: { web: { … } }.' : `There are ${names.join(', ')}.`
  throw wrongUsage(`There is no web search ${JSON.stringify(chosen)}.${didYouMean(chosen, names)} ${known}`)
}
