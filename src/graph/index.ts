/** Workflows on the journal: state, nodes, edges, branches, interrupts. Every step is an entry. */

export type { Runnable } from '../drive/index.ts'
export type { GraphBuilder, NodeFunction } from './builder.ts'
export { graph } from './builder.ts'
export type {
  Channel,
  Channels,
  ConstantChannel,
  InputOf,
  ListChannel,
  MergeChannel,
  StateOf,
  UpdateOf,
  ValueChannel,
} from './channel.ts'
export { constant, list, merge, reduce, value } from './channel.ts'
export type {
  AnswerTo,
  EffectContext,
  Interrupt,
  NodeContext,
  Question,
  RetryPolicy,
  RouteContext,
  SchemaQuestion,
  StepOptions,
} from './definition.ts'
export { END, START } from './definition.ts'
export type { Graph, GraphSnapshot } from './graph.ts'
export type {
  ContextRef,
  FunctionOptions,
  GraphCancelOptions,
  GraphConfig,
  GraphOptions,
  GraphRunOptions,
  GraphTurnOptions,
  NodeOptions,
  RunnableOptions,
} from './graph-options.ts'
export type { GraphEvent, GraphOutcome, GraphRun } from './graph-run.ts'
export type { MermaidOptions } from './mermaid.ts'
export type { GraphLimits } from './run.ts'
export type { RunTrace, TracedEdge, TracedNode } from './run-trace.ts'
export { Send } from './send.ts'
