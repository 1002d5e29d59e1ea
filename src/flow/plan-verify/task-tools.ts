/** The tools of a task agent: its own or the toolbox, with a completion in any case. */
import { HoldfastError } from '../../protocol/index.ts'
import { type Tool, toolsFrom } from '../../tool/index.ts'
import type { DescribeImage } from '../../toolbox/index.ts'
import { llmDo } from '../../turn/index.ts'
import { checkCriteria } from './criteria.ts'
import { COMPLETION } from './state.ts'
import { modelSettings, type TaskAgentConfig } from './task-config.ts'

export async function taskTools(config: TaskAgentConfig): Promise<readonly Tool[]> {
  const { cwd = '.', tools, criteria = [] } = config
  const { loadTools } = await import('../../toolbox/index.ts')
  const own =
    tools === undefined ? await loadTools({ cwd, describeImage: describeBy(config) }) : toolsFrom(tools)
  const completion = own.find(({ name }) => name === COMPLETION)
  if (completion !== undefined) checkCompletion(completion)
  const all = completion === undefined ? [...own, ...(await loadTools({ cwd, toolIds: [COMPLETION] }))] : own
  checkCriteria(criteria, all)
  return all
}

/** A completion without an answer would never end the work. */
function checkCompletion({ parameters }: Tool): void {
  const { properties } = parameters as { readonly properties?: object }
  if (properties !== undefined && 'result' in properties) return
  throw new HoldfastError('invalid-option', {
    message: `Your tool ${COMPLETION} has no argument "result", which carries the answer. Add it, or leave the tool out: it is added.`,
  })
}

function describeBy(config: TaskAgentConfig): DescribeImage {
  const { model, visionModel } = config
  return ({ bytes, mediaType, question, signal }) =>
    llmDo(
      [
        { type: 'text', text: question },
        { type: 'file', mediaType, data: bytes },
      ],
      {
        model: visionModel ?? model,
        settings: modelSettings(config),
        signal,
      },
    )
}
