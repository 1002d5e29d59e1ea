/** The plan of an agent: its todo list, or, as long as there is none, the plan of a graph. */
import type { PlanEntry } from '@agentclientprotocol/sdk'
import type { Json, JsonObject } from '../../protocol/index.ts'
import type { ConversationPart } from '../conversation-parts.ts'

const TODO_ARTIFACT = 'todo-list'
const LONGEST = 300

/** Undefined if the part changes no plan. */
export function planIn(part: ConversationPart): PlanEntry[] | undefined {
  if (part.type === 'artifact') return fromTodoList(part.change)
  if (part.type !== 'step.end') return undefined
  const { plan } = part.update
  return typeof plan === 'string' ? fromText(plan) : undefined
}

function fromTodoList({ artifactId, content }: JsonObject): PlanEntry[] | undefined {
  const { items } = (content ?? {}) as { readonly items?: Json }
  if (artifactId !== TODO_ARTIFACT || !Array.isArray(items)) return undefined
  const list = items as readonly { readonly text: string; readonly done: boolean }[]
  const next = list.findIndex(({ done }) => !done)
  return list.map(({ text, done }, at) => ({
    content: text,
    priority: 'medium',
    status: done ? 'completed' : at === next ? 'in_progress' : 'pending',
  }))
}

function fromText(plan: string): PlanEntry[] {
  const steps = [...plan.matchAll(/^\s*(?:\d+[.)]|[-*])\s+(.+)$/gm)].map(([, step = '']) => step)
  return (steps.length > 0 ? steps : [plan]).map((step) => ({
    content: step.slice(0, LONGEST).toWellFormed(),
    priority: 'medium',
    status: 'pending',
  }))
}
