/** The research assistant of a workspace: its documents, its web search and its model, for every command that asks it. */
import type { Corpus, ResearchOptions } from 'holdfast/research'
import type { CommandContext } from '../command/context.ts'
import { readyAgent } from '../open-agent.ts'
import type { Workspace } from '../workspace.ts'
import { hasCorpus, openCorpus, openWeb } from './open-corpus.ts'

/** The conversations of research, and its flow. */
export const RESEARCH = 'research'

export interface OpenResearch {
  /** All but the store. */
  readonly options: Omit<ResearchOptions, 'store'>
  /** The name of the model. */
  readonly model: string
  /** The command closes it. */
  readonly corpus: Corpus
}

/** `agent`: an agent of the config, for its model. */
export async function openResearch(
  context: CommandContext,
  workspace: Workspace,
  agent?: string,
): Promise<OpenResearch> {
  const { args, env } = context
  const { corpus: _, web: _web, ...options } = workspace.research
  const web = openWeb(context, workspace.research, args.value('web'))
  const ready = await readyAgent(workspace, { agent, model: args.value('model'), env })
  const { settings } = ready.definition
  const corpus = await openCorpus(context, workspace)
  return {
    options: {
      model: ready.choice.model,
      ...(settings === undefined ? {} : { settings }),
      ...options,
      corpus,
      ...(web === undefined ? {} : { web }),
    },
    model: ready.choice.name,
    corpus,
  }
}

/** True if there are documents, and nothing else in the config has the name. */
export function hasResearch(workspace: Workspace): boolean {
  const { agents, serve: { flows = {}, graphs = {} } = {} } = workspace
  const isTaken = [agents, flows, graphs].some((names) => Object.hasOwn(names, RESEARCH))
  return !isTaken && hasCorpus(workspace)
}

/** A corpus that cannot be closed loses nothing. */
export async function closeCorpus(corpus: Corpus | undefined): Promise<void> {
  try {
    await corpus?.close()
  } catch {
    // The process ends.
  }
}
