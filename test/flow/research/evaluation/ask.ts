/** One question to the research assistant without a model, with the trace of its run. */
import type { Corpus, WebPage } from '../../../../src/corpus/port.ts'
import { type ResearchState, researchAssistant } from '../../../../src/flow/research/index.ts'
import type { TraceParts } from './questions.ts'

export interface Asked extends TraceParts {
  readonly state: ResearchState
}

export interface Asking {
  readonly corpus: Corpus
  /** A conversation; the last question is judged. */
  readonly questions: readonly string[]
  readonly web?: readonly WebPage[]
}

/** The agents and tools are those of the last question, from the entries of its run. */
export async function ask({ corpus, questions, web }: Asking): Promise<Asked> {
  const search = web === undefined ? {} : { web: { name: 'pages', search: async () => web } }
  const research = researchAssistant({ corpus, ...search })
  let asked: Asked | undefined
  for (const content of questions) {
    const [agents, tools] = [new Set<string>(), new Set<string>()]
    const run = research.stream({ messages: [{ role: 'user', content }] }, { contextId: 'evaluation' })
    for await (const { type, data } of run) {
      if (type === 'node.end') agents.add(data.node)
      if (type === 'tool.start') tools.add(data.tool)
    }
    const outcome = await run.outcome
    if (outcome.status !== 'completed')
      throw new Error(`"${content}" ended as ${outcome.status}: ${outcome.error?.message ?? ''}`)
    asked = { state: outcome.state, agents: [...agents], tools: [...tools] }
  }
  if (asked === undefined) throw new Error('There is no question.')
  return asked
}
