/**
 * One of many processes on one conversation: it says what it is told to say, each under its own key, drives when it can
 * and follows when another does. Each of its tools writes a line into a log outside of the store, before it returns.
 * The model replies by the words of what was said last: each word that names a tool is a call of it.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import type { PromptMessage } from '../../src/model/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'

export interface Membership {
  readonly name: string
  readonly path: string
  readonly log: string
  readonly leaseMs: number
}

export interface Say {
  readonly key: string
  readonly text: string
  readonly whileBusy: 'queue' | 'steer'
}

/** `acting`: an effect has just happened, and its tool has not returned. */
export type Told =
  | { readonly what: 'ready' | 'acting' }
  | {
      readonly what: 'outcome'
      readonly key: string
      readonly turn: number
      readonly reason: string
      readonly code?: string
    }

/** Each line of the log. */
export interface Line {
  readonly callId: string
  readonly key: string
  readonly tool: string
  readonly process: string
}

export const TOOLS: Readonly<Record<string, { readonly replay: 'never' | 'safe'; readonly leases: number }>> =
  {
    pay: { replay: 'never', leases: 0 },
    look: { replay: 'safe', leases: 0 },
    slow: { replay: 'never', leases: 0.6 },
  }

/** A part of a page: a kill cuts a write in two where a page ends, and the effect has happened by then. */
const LINE_BYTES = 256

function tools({ name: process, log, leaseMs }: Membership): Tool[] {
  return Object.entries(TOOLS).map(([tool, { replay, leases }]) =>
    defineTool({
      name: tool,
      description: `does ${tool}`,
      input: z.object({ of: z.string() }),
      replay,
      run: async ({ of }, { callId, idempotencyKey: key }) => {
        const line: Line = { callId, key, tool, process }
        appendFileSync(log, `${JSON.stringify(line).padEnd(LINE_BYTES - 1)}\n`)
        tell({ what: 'acting' })
        // A moment in which it can be hit between its effect and its result.
        await sleep(15 + leases * leaseMs)
        return { did: tool, of }
      },
    }),
  )
}

/** What was said last by one of us: late results and the like are told in the name of the user too. */
function reply(prompt: readonly PromptMessage[]): ScriptedStep {
  const last = prompt.findLastIndex(
    (message) => message.role === 'user' && textOf(message).startsWith('Number '),
  )
  const said = prompt[last] === undefined ? '' : textOf(prompt[last])
  const [, of = ''] = said.split(' ')
  const rounds = said.split(' then ').map((words) => words.split(' ').filter((word) => word in TOOLS))
  const replied = prompt.slice(last + 1).filter(({ role }) => role === 'assistant').length
  const calls = (rounds[replied] ?? []).map((tool, n) => ({ tool, args: { of: `${of}.${replied}.${n}` } }))
  return calls.length === 0 ? `Number ${of} is done.` : { calls }
}

function textOf({ content }: PromptMessage): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function tell(told: Told): void {
  process.send?.(told)
}

export function memberAgent(membership: Membership): { agent: Agent; close: () => Promise<void> } {
  const store = sqliteStore(membership.path, { synchronous: 'NORMAL' })
  const model = new ScriptedModel(({ prompt }) => reply(prompt))
  const { name, leaseMs } = membership
  const agent = new Agent({ contextId: 'many', name, store, model, tools: tools(membership), leaseMs })
  return { agent, close: () => store.close() }
}

function live(membership: Membership): void {
  const { agent } = memberAgent(membership)
  const say = async ({ key, text, whileBusy }: Say): Promise<void> => {
    const { turn, reason, error } = await agent.executeTurn(text, { key, whileBusy }).outcome
    tell({ what: 'outcome', key, turn, reason, ...(error === undefined ? {} : { code: error.code }) })
  }
  process.on('message', (told: Say) => void say(told))
  // Whoever started it is gone: nothing is left to do.
  process.on('disconnect', () => process.exit())
  tell({ what: 'ready' })
}

const [membership] = process.argv.slice(2)
if (import.meta.main && membership !== undefined) live(JSON.parse(membership) as Membership)
