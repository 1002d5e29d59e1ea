/** Formats the steps of tasks and of research as the commands that run them print them. */
import type { Json, JsonObject, Message } from 'holdfast'
import type { GraphEvent } from 'holdfast/graph'
import type { Source } from 'holdfast/research'
import { dim, type Styled, styled } from 'holdfast/terminal'
import type { Step } from '../exchange.ts'
import { SEARCHES, sourceLines } from '../research/research-printer.ts'
import { TaskPrinter } from '../task/task-printer.ts'
import { cut, oneLine } from './text.ts'
import { wrapText } from './word-wrap.ts'

/** The lines of a step; undefined if it is none of a known flow. Steps come in their order. */
export type FlowPrinter = (step: Step) => Styled[] | undefined

type NodeUpdate = { readonly task: string; readonly node: string; readonly update: JsonObject }

/** `graph`: the name of the graph that ran the steps. */
export function flowPrinter(graph: string | undefined, columns: number): FlowPrinter {
  const lines =
    graph === 'research' ? researchLines(columns) : graph === 'task' ? taskLines(columns) : undefined
  return (step) => {
    if (lines === undefined || step.type !== 'node' || step.update === undefined) return undefined
    return lines({ task: step.task, node: step.task.split('.')[0] ?? '', update: step.update })
  }
}

const RESEARCH_NODES = new Set(['orchestrator', 'clarification', 'research', 'synthesis'])

function researchLines(columns: number): (ended: NodeUpdate) => Styled[] | undefined {
  return ({ node, update }) => {
    if (!RESEARCH_NODES.has(node)) return undefined
    const { final_answer: answer, confidence_score: confidence, context } = update
    const { observations, sources } = Object(context) as { observations?: Json; sources?: Json }
    const found = listOf(node === 'research' ? observations : []) as readonly string[]
    const cited = listOf(sources) as readonly Source[]
    return [
      ...found.map((each) => dim(cut(`  ${observationText(oneLine(each))}`, columns))),
      ...(typeof answer === 'string' ? textLines(answer, columns) : []),
      ...(cited.length > 0 ? [sourceLines(cited, columns)] : []),
      ...(typeof confidence === 'number' ? [dim(`confidence ${confidence}`)] : []),
    ]
  }
}

/** `pdf_retrieval found …` names a tool; a person reads what was searched. */
function observationText(observation: string): string {
  const [tool = ''] = observation.split(' ', 1)
  const shown = Object.hasOwn(SEARCHES, tool) ? SEARCHES[tool] : undefined
  return shown === undefined ? observation : `${shown}:${observation.slice(tool.length)}`
}

const TASK_NODES = new Set(['planner', 'agent', 'tools', 'verifier', 'replan'])

function taskLines(columns: number): (ended: NodeUpdate) => Styled[] | undefined {
  const lines: Styled[] = []
  const printer = new TaskPrinter({ columns, print: (text) => lines.push(text) })
  return (ended) => {
    if (!TASK_NODES.has(ended.node)) return undefined
    for (const event of taskEvents(ended)) printer.event(event as unknown as GraphEvent)
    const { finalAnswer } = ended.update
    const answer = typeof finalAnswer === 'string' ? textLines(finalAnswer, columns) : []
    return [...lines.splice(0), ...answer]
  }
}

/** The events that the printer of tasks reads, from the update that the node left. */
function taskEvents({ task, node, update }: NodeUpdate): readonly object[] {
  const messages = listOf(update['messages']) as readonly Message[]
  const ofMessages = messages.flatMap(({ role, content }): object[] => {
    const parts = typeof content === 'string' ? [] : content
    if (role === 'tool') return parts.map((data) => ({ type: 'tool.end', path: [task], data }))
    if (role !== 'assistant') return []
    const calls = parts.filter(({ type }) => type === 'tool-call')
    return [
      { type: 'model.end', path: [task], data: { content: parts } },
      ...calls.map((data) => ({ type: 'tool.start', path: [task], data })),
    ]
  })
  return [...ofMessages, { type: 'node.end', path: [], data: { node, update } }]
}

function textLines(text: string, columns: number): Styled[] {
  return wrapText(text, columns).map((line) => styled`${line}`)
}

function listOf(value: Json | undefined): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
