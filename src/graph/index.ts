/** Workflows on the journal: state, nodes, edges, branches, interrupts. Every step is an entry. */

export type { NodeFunction } from './builder.ts'
export { GraphBuilder, graph } from './builder.ts'
export type {
  Channel,
  Channels,
  ListChannel,
  MergeChannel,
  StateOf,
  UpdateOf,
  ValueChannel,
} from './channel.ts'
export { list, merge, reduce, value } from './channel.ts'
export type {
  AnswerTo,
  EffectContext,
  NodeContext,
  Question,
  RetryPolicy,
  RouteContext,
  StepOptions,
} from './definition.ts'
export { END, START } from './definition.ts'
export type { GraphSnapshot } from './graph.ts'
export { Graph } from './graph.ts'
export type {
  GraphConfig,
  GraphOptions,
  GraphRunOptions,
  NodeOptions,
  RunnableOptions,
} from './graph-options.ts'
export type { GraphEvent, GraphOutcome, GraphRun } from './graph-run.ts'
export type { MermaidOptions } from './mermaid.ts'
export type { GraphLimits } from './run.ts'
export type { RunTrace, TracedEdge, TracedNode } from './run-trace.ts'
export { Send } from './send.ts'
