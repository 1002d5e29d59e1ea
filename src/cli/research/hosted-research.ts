/** The research flow of `holdfast serve`, beside the agents of the config. */
import type { HostConfig } from 'holdfast/host'
import type { Mount } from 'holdfast/http'
import { researchFlow } from 'holdfast/research'
import { researchHttp } from 'holdfast/research/http'
import type { CommandContext } from '../command/context.ts'
import type { Workspace } from '../workspace.ts'
import { closeCorpus, hasResearch, openResearch, RESEARCH } from './open-research.ts'

export interface HostedResearch {
  readonly host: Pick<HostConfig, 'flows' | 'ttlMs'>
  readonly mounts: readonly Mount[]
  readonly close: () => Promise<void>
}

const SESSION_MS = 24 * 60 * 60 * 1000

/** Undefined if there are no documents, or the config uses the name or the mount for its own. */
export async function hostedResearch(
  context: CommandContext,
  workspace: Workspace,
): Promise<HostedResearch | undefined> {
  const { mounts = [] } = workspace.serve ?? {}
  if (!hasResearch(workspace) || mounts.some(({ name }) => name === RESEARCH)) return undefined
  const { options, corpus } = await openResearch(context, workspace)
  return {
    host: { flows: { [RESEARCH]: researchFlow(options) }, ttlMs: { [RESEARCH]: SESSION_MS } },
    mounts: [researchHttp({ corpus, flow: RESEARCH })],
    close: () => closeCorpus(corpus),
  }
}
