/** The base of the agents of the research graph: each is a node, and outside of a graph a function of the state. */
import { END, graph, type NodeContext, START } from '../../graph/index.ts'
import { contextKey, LOCAL_OWNER } from '../../protocol/index.ts'
import { RESEARCH_CHANNELS, type ResearchState, type ResearchUpdate } from './state.ts'

export abstract class BaseAgent {
  /** The name of its node. */
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /** The update of its node: changed fields only, and of `messages` the new ones. */
  abstract run(state: ResearchState, context: NodeContext): Promise<ResearchUpdate>

  /** Runs the agent alone, in memory, and returns the state after it. The given state stays as it is. */
  async execute(state: ResearchState): Promise<ResearchState> {
    const alone = graph({ name: this.name, state: RESEARCH_CHANNELS })
      .addNode(this.name, (before, context) => this.run(before, context))
      .addEdge(START, this.name)
      .addEdge(this.name, END)
      .compile()
    const contextId = isContextId(state.session_id) ? { contextId: state.session_id } : {}
    const { state: after } = await alone.invoke(state, contextId)
    return after
  }
}

/** A session id is any text. */
function isContextId(contextId: string): boolean {
  try {
    contextKey({ ...LOCAL_OWNER, contextId })
    return true
  } catch {
    return false
  }
}
