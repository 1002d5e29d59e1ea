/**
 * Reads a prompt: who said what, what was called and what came of it. A conversation is a list of turns, each begun by
 * one message of the person. It understands no words.
 */

import type { GroundingContext } from '../model/grounding-context.ts'
import type { PromptMessage, PromptPart } from '../model/language-model.ts'
import type { ActiveValue, Sighting } from '../protocol/index.ts'

export interface Done {
  readonly tool: string
  readonly args: unknown
  readonly failed: boolean
  /** Whether nobody knows if it happened. */
  readonly isUnknown: boolean
  /** Undefined while there is no result. */
  readonly output: unknown
  /** The result in words for people, if the tool has any. */
  readonly display?: string
  /** Things that the result showed. */
  readonly seen?: readonly Sighting[]
  /** The active values from then on. */
  readonly active?: readonly ActiveValue[]
}

export interface Exchange {
  readonly text: string
  readonly calls: readonly Done[]
  /** The last reply. */
  readonly reply: string
}

interface OpenExchange extends Exchange {
  text: string
  readonly calls: (Done & { readonly id: string })[]
  reply: string
}

/** Data sent beside the prompt. */
export interface Structured {
  /** Display texts of tools, by call. */
  readonly displays?: Readonly<Record<string, unknown>> | undefined
  /** Calls whose outcome is unknown. */
  readonly unknown?: readonly string[] | undefined
  readonly known?: GroundingContext | undefined
}

/** The turns, oldest first. Messages of the person that follow each other directly are one turn. */
export function readConversation(prompt: readonly PromptMessage[], structured: Structured = {}): Exchange[] {
  const turns: OpenExchange[] = []
  for (const message of prompt) {
    if (message.role === 'system') continue
    const last = turns.at(-1)
    if (message.role === 'user') {
      const text = textOf(message.content)
      if (last && last.calls.length === 0 && last.reply === '') last.text = `${last.text}\n${text}`.trim()
      else turns.push({ text, calls: [], reply: '' })
    } else if (last) {
      if (message.role === 'assistant') readReply(message.content, last)
      else readResults(message.content, last, structured)
    }
  }
  return turns
}

function readReply(content: readonly PromptPart[], turn: OpenExchange): void {
  turn.reply = textOf(content)
  for (const { type, toolCallId = '', toolName = '', input } of content) {
    if (type === 'tool-call') {
      turn.calls.push({
        id: toolCallId,
        tool: toolName,
        args: input,
        failed: false,
        isUnknown: false,
        output: undefined,
      })
    }
  }
}

function readResults(content: readonly PromptPart[], turn: OpenExchange, structured: Structured): void {
  const { displays = {}, unknown = [], known } = structured
  for (const { type, toolCallId = '', output } of content) {
    if (type !== 'tool-result') continue
    const at = turn.calls.findLastIndex(({ id }) => id === toolCallId)
    const call = turn.calls[at]
    if (call === undefined) continue
    const kind = output?.type ?? 'json'
    const failed = kind.startsWith('error') || kind === 'execution-denied'
    const value = kind === 'content' ? joined(output?.value) : output?.value
    const display = Object.hasOwn(displays, toolCallId) ? displays[toolCallId] : undefined
    turn.calls[at] = {
      ...call,
      failed,
      isUnknown: unknown.includes(toolCallId),
      output: parsed(value ?? null),
      ...(typeof display === 'string' && display !== '' ? { display } : {}),
      ...(known === undefined ? {} : shownBy(toolCallId, known)),
    }
  }
}

function shownBy(id: string, { seen, active }: GroundingContext): Pick<Done, 'seen' | 'active'> {
  const since = active.findLast(({ callId }) => callId === id)
  return {
    ...(Object.hasOwn(seen, id) ? { seen: seen[id] ?? [] } : {}),
    ...(since === undefined ? {} : { active: since.values }),
  }
}

/** A result in parts, of which only texts can be read. */
function joined(value: unknown): unknown {
  return Array.isArray(value)
    ? textOf(value.filter((part) => typeof part === 'object' && part !== null))
    : value
}

/** Tools often answer with JSON as text. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

function textOf(content: readonly PromptPart[]): string {
  return content
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text ?? '')
    .join('\n')
    .trim()
}
