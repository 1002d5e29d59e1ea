/** The graph of a task: planner → agent ⇄ tools → verifier → replan → agent; without planning, the verifier is the end. */
import { pendingCalls } from '../../agent/index.ts'
import { END, type Graph, type GraphOptions, graph, START } from '../../graph/index.ts'
import { newestRound } from './rounds.ts'
import { type TaskState as State, TASK_CHANNELS, type TaskChannels } from './state.ts'
import { MOST_NUDGES, type TaskNodes, taskNodes } from './task-nodes.ts'

export type TaskGraph = Graph<TaskChannels>

export interface TaskGraphOptions extends TaskNodes {
  readonly planning: boolean
  readonly maxReplans: number
  readonly graph: GraphOptions
}

export function taskGraph({ planning, maxReplans, graph: options, ...config }: TaskGraphOptions): TaskGraph {
  const nodes = taskNodes(config)
  const base = graph({ name: 'task', state: TASK_CHANNELS })
    .addNode('agent', nodes.agent)
    .addNode('tools', nodes.tools)
    .addNode('verifier', nodes.verifier)
    .addConditionalEdges('agent', afterAgent, ['tools', 'agent', END])
    .addConditionalEdges('tools', afterTools, ['verifier', 'agent'])
  if (!planning) return base.addEdge(START, 'agent').addEdge('verifier', END).compile(options)
  return base
    .addNode('planner', nodes.planner)
    .addNode('replan', nodes.replan)
    .addEdge(START, 'planner')
    .addEdge('planner', 'agent')
    .addEdge('replan', 'agent')
    .addConditionalEdges('verifier', (state) => afterVerifier(state, maxReplans), ['replan', END])
    .compile(options)
}

function afterAgent({ messages, nudges }: State): 'tools' | 'agent' | typeof END {
  // Calls of a round that was cut short are not run by the next one.
  if (pendingCalls(newestRound(messages)).length > 0) return 'tools'
  return nudges > MOST_NUDGES ? END : 'agent'
}

function afterTools({ finalAnswer }: State): 'verifier' | 'agent' {
  return finalAnswer === null ? 'agent' : 'verifier'
}

/** A run without a verdict ends: nobody could tell the next plan what to mend. */
function afterVerifier({ isVerified, planIteration }: State, maxReplans: number): 'replan' | typeof END {
  return isVerified === false && planIteration <= maxReplans ? 'replan' : END
}
