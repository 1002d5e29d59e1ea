/** Plays generated conversations against reflex and judges each message. */

import type { PromptMessage, PromptPart } from '../../src/model/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { type Case, type Message, makeCases } from './cases.ts'
import type { Phrases } from './phrases.ts'
import { Random } from './random.ts'
import { makeToolSet, type ToolSet } from './tool-sets.ts'

export type Verdict = 'right' | 'asked' | 'gave up' | 'wrong'

export interface Judged {
  readonly kind: string
  readonly verdict: Verdict
  /** Ids that are neither in a text nor in a result. */
  readonly invented: readonly string[]
  readonly story: string
}

const MOST_ROUNDS = 8

/** One set of tools and all its conversations, the same for the same seed. */
export async function tryToolSet(seed: number, phrases: Phrases): Promise<Judged[]> {
  const random = new Random(seed)
  const set = makeToolSet(random)
  const judged: Judged[] = []
  for (const each of makeCases(set, random, phrases)) judged.push(...(await playCase(set, each)))
  return judged
}

interface Made {
  readonly tool: string
  readonly args: JsonObject
}

async function playCase(set: ToolSet, { kind, messages }: Case): Promise<Judged[]> {
  const prompt: PromptMessage[] = []
  const judged: Judged[] = []
  let offered: readonly string[] = []
  for (const message of messages) {
    prompt.push({ role: 'user', content: [{ type: 'text', text: message.text }] })
    const { made, text } = await turnLoop(set, prompt)
    const verdict = judge(set, resolved(message, offered), { made, text })
    const invented = inventedIn(prompt, made)
    const story = `${kind}: ${messages.map((each) => each.text).join(' | ')}\n  at ${JSON.stringify(message)}\n  made ${JSON.stringify(made)}\n  said ${text}`
    judged.push({ kind, verdict, invented, story })
    if (verdict !== 'right') break
    offered = [...text.matchAll(/^\d\. ([\w-]+):?/gm)].map((match) => match[1] ?? '')
  }
  return judged
}

/** Which tool an ordinal means depends on the order in which they were offered. */
function resolved(message: Message, offered: readonly string[]): Message {
  if (message.expected.kind !== 'calls') return message
  const calls = message.expected.calls.map(({ tool, args }) => {
    const at = ['FIRST OFFERED', 'SECOND OFFERED'].indexOf(tool)
    return { tool: at < 0 ? tool : (offered[at] ?? ''), args }
  })
  return { ...message, expected: { kind: 'calls', calls } }
}

async function turnLoop(set: ToolSet, prompt: PromptMessage[]): Promise<{ made: Made[]; text: string }> {
  const made: Made[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { content } = await reflex().doGenerate({ prompt, tools: set.tools })
    const calls = content.filter((part) => part.type === 'tool-call')
    const parts = content.map((part): PromptPart => {
      return part.type === 'text' ? part : { ...part, input: JSON.parse(part.input) as JsonObject }
    })
    prompt.push({ role: 'assistant', content: parts })
    if (calls.length === 0)
      return { made, text: content.map((part) => (part.type === 'text' ? part.text : '')).join('') }
    const results = calls.map(({ toolCallId, toolName, input }): PromptPart => {
      const args = JSON.parse(input) as JsonObject
      made.push({ tool: toolName, args })
      return {
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: 'json', value: set.answer(toolName, args) },
      }
    })
    prompt.push({ role: 'tool', content: results })
  }
  return { made, text: 'IT NEVER ENDS' }
}

function judge(
  set: ToolSet,
  { expected }: Message,
  { made, text }: { made: readonly Made[]; text: string },
): Verdict {
  const acting = made.filter(({ tool }) => !set.reading.has(tool))
  if (text === 'IT NEVER ENDS') return 'wrong'
  if (expected.kind === 'no call') return made.length === 0 ? 'right' : 'wrong'
  if (expected.kind === 'offer')
    return made.length === 0 && text.includes('what I can do') ? 'right' : 'wrong'
  if (expected.kind === 'question') {
    if (acting.length > 0 || !text.endsWith('?')) return 'wrong'
    return expected.words.every((word) => text.includes(word)) ? 'right' : 'asked'
  }
  const rest = [...made]
  const all = expected.calls.every((call) => {
    const at = rest.findIndex((each) => canonical(each) === canonical(call))
    if (at >= 0) rest.splice(at, 1)
    return at >= 0
  })
  const looking =
    rest.every(({ tool }) => set.reading.has(tool)) &&
    (expected.calls.some(({ tool }) => !isListing(set, tool)) || rest.length === 0)
  if (all && looking) return text.endsWith('?') ? 'asked' : 'right'
  const harmless = acting.length === 0
  if (harmless && text.endsWith('?')) return 'asked'
  return harmless && made.length === 0 ? 'gave up' : 'wrong'
}

function isListing({ kinds }: ToolSet, tool: string): boolean {
  return kinds.some(({ list, search }) => list.name === tool || search?.name === tool)
}

/** Ids may come as numbers or as texts. */
function canonical({ tool, args }: Made): string {
  const keys = Object.keys(args).sort()
  return JSON.stringify([tool, keys.map((key) => [key, /id$/i.test(key) ? textOf(args[key]) : args[key]])])
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function inventedIn(prompt: readonly PromptMessage[], made: readonly Made[]): string[] {
  const known = JSON.stringify(prompt.filter(({ role }) => role === 'user' || role === 'tool'))
  return made.flatMap(({ args }) => {
    return Object.entries(args).flatMap(([key, value]) =>
      /id$/i.test(key) && !known.includes(textOf(value)) ? [`${key} ${textOf(value)}`] : [],
    )
  })
}

export interface Tally {
  readonly kind: string
  readonly count: number
  readonly shares: Readonly<Record<Verdict, number>>
  readonly invented: number
}

/** By kind, with all together at the end. */
export function tally(judged: readonly Judged[]): Tally[] {
  const kinds = [...new Set(judged.map(({ kind }) => kind))].sort()
  return [
    ...kinds.map((kind) =>
      tallyOf(
        kind,
        judged.filter((each) => each.kind === kind),
      ),
    ),
    tallyOf('all', judged),
  ]
}

function tallyOf(kind: string, judged: readonly Judged[]): Tally {
  const share = (verdict: Verdict): number =>
    judged.filter((each) => each.verdict === verdict).length / Math.max(1, judged.length)
  const shares = {
    right: share('right'),
    asked: share('asked'),
    'gave up': share('gave up'),
    wrong: share('wrong'),
  }
  return {
    kind,
    count: judged.length,
    shares,
    invented: judged.filter(({ invented }) => invented.length > 0).length,
  }
}
