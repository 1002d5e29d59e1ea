/** The research assistant as a graph: orchestrator → clarification, or research → synthesis. */
import { END, type Graph, type GraphOptions, graph, type NodeContext } from '../../graph/index.ts'
import { checkOptions, defined } from '../../protocol/index.ts'
import type { BaseAgent } from './base-agent.ts'
import { ClarificationAgent } from './clarification.ts'
import { AGENTS, type AgentOptions, ASSISTANT, RESEARCH_LIMITS, type ResearchOptions } from './config.ts'
import { MasterOrchestrator } from './orchestrator.ts'
import { ResearchAgent } from './research-agent.ts'
import { RESEARCH_CHANNELS, type ResearchChannels, type ResearchState, type ResearchUpdate } from './state.ts'
import { SynthesisAgent } from './synthesis.ts'

export type ResearchGraph = Graph<ResearchChannels>

export interface WorkflowAgents {
  readonly orchestrator: BaseAgent
  readonly clarification: BaseAgent
  readonly research: BaseAgent
  readonly synthesis: BaseAgent
}

/** The graph of four agents, which may be the package's or your own. */
export class AgentWorkflow {
  readonly #agents: WorkflowAgents

  constructor(agents: WorkflowAgents) {
    this.#agents = agents
  }

  /** Without `limits`: 20 steps and 60 seconds for each question. */
  build(options: GraphOptions = {}): ResearchGraph {
    const { orchestrator, clarification, research, synthesis } = this.#agents
    return graph({ name: 'research', state: RESEARCH_CHANNELS })
      .addNode('orchestrator', nodeOf(orchestrator))
      .addNode('clarification', nodeOf(clarification))
      .addNode('research', nodeOf(research))
      .addNode('synthesis', nodeOf(synthesis))
      .setEntryPoint('orchestrator')
      .addConditionalEdges('orchestrator', ({ next_agent }) => next_agent, {
        clarification: 'clarification',
        research: 'research',
      })
      .addEdge('clarification', END)
      .addEdge('research', 'synthesis')
      .addEdge('synthesis', END)
      .compile({ ...options, limits: { ...RESEARCH_LIMITS, ...options.limits } })
  }
}

export type ResearchNode = (state: ResearchState, context: NodeContext) => Promise<ResearchUpdate>

function nodeOf(agent: BaseAgent): ResearchNode {
  return (state, context) => agent.run(state, context)
}

/** The four agents as functions of the state, for a graph of your own with the same channels. */
export function researchNodes(
  options: ResearchOptions,
): Readonly<Record<keyof WorkflowAgents, ResearchNode>> {
  const { orchestrator, clarification, research, synthesis } = agentsOf(options)
  return {
    orchestrator: nodeOf(orchestrator),
    clarification: nodeOf(clarification),
    research: nodeOf(research),
    synthesis: nodeOf(synthesis),
  }
}

/**
 * Answers questions from your documents and the web, with citations. A question is a message of the user; the answer, its
 * sources and the confidence are in the state. Each conversation is a `contextId`.
 *
 * @example
 * const research = researchAssistant({ corpus, model: 'openai/gpt-4.1-mini', store })
 * const { state } = await research.invoke({ messages: [{ role: 'user', content: 'How deep is it?' }] }, { contextId })
 * console.log(state.final_answer, state.context.sources)
 */
export function researchAssistant(options: ResearchOptions): ResearchGraph {
  const agents = agentsOf(options)
  const { corpus: _, web: _web, model: _model, settings: _settings, agents: _agents, ...rest } = options
  const { topK: _topK, minScore: _minScore, ...graphOptions } = rest
  return new AgentWorkflow(agents).build(graphOptions)
}

function agentsOf(options: ResearchOptions): WorkflowAgents {
  checkOptions(options, ASSISTANT)
  const { corpus, web, model, settings, agents = {}, topK, minScore } = options
  checkOptions(agents, AGENTS)
  const shared: AgentOptions = defined({ model, settings })
  const own = <T extends AgentOptions>(agent: T | undefined): AgentOptions & T => {
    const merged = { ...settings, ...agent?.settings }
    return {
      ...shared,
      ...agent,
      ...(Object.keys(merged).length === 0 ? {} : { settings: merged }),
    } as AgentOptions & T
  }
  return {
    orchestrator: new MasterOrchestrator(own(agents.orchestrator)),
    clarification: new ClarificationAgent(own(agents.clarification)),
    research: new ResearchAgent({
      ...defined({ topK, minScore }),
      ...own(agents.research),
      corpus,
      ...defined({ web }),
    }),
    synthesis: new SynthesisAgent(own(agents.synthesis)),
  }
}
