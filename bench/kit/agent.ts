/**
 * The work that is measured when a whole agent is: a turn with two model calls and one tool between them, streamed. The
 * model answers at once and the tool has its rows ready, so the rest is the cost of the runtime. Texts and sizes are
 * those of kit/turn.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Agent,
  type AgentConfig,
  defineTool,
  type Json,
  type LanguageModel,
  type StandardSchema,
  type TurnOptions,
} from 'holdfast'
import { scriptOf } from './turn.ts'

export type ModelCall = Parameters<LanguageModel['doStream']>[0]
export type ModelPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

const TURN = 7
const { input, commits } = scriptOf(TURN)
const [asking, settling, closing] = [dataAt(1), dataAt(2), dataAt(3)]

export const QUESTION = input.data['message'] as string
export const ARGS = asking['args'] as Json
const ROWS = settling['output'] as Json
const ANSWER = textOf(closing)
export const TOOL: string = 'list_tasks'

const ASK: readonly ModelPart[] = [
  { type: 'stream-start' },
  ...textParts(textOf(dataAt(1, 0)), 4),
  { type: 'tool-input-start', id: 'call-1', toolName: TOOL },
  ...pieces(JSON.stringify(ARGS), 4).map((delta) => ({ type: 'tool-input-delta', id: 'call-1', delta })),
  { type: 'tool-input-end', id: 'call-1' },
  { type: 'tool-call', toolCallId: 'call-1', toolName: TOOL, input: JSON.stringify(ARGS) },
  finish('tool-calls', 1800),
]
const REPLY: readonly ModelPart[] = [{ type: 'stream-start' }, ...textParts(ANSWER, 12), finish('stop', 2100)]

/** Asks for the tool, and when it has the result answers. It keeps nothing of what it was asked. */
export function quickModel(latencyMs: number = 0): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: 'bench',
    modelId: 'quick',
    doStream: async ({ prompt }) => {
      if (latencyMs > 0) await sleep(latencyMs)
      return { stream: streamOf(prompt.at(-1)?.role === 'tool' ? REPLY : ASK) }
    },
  }
}

/** The effect of the tool, for those who call it by themselves. */
export async function listTasks(_args: unknown): Promise<Json> {
  return ROWS
}

const anything: StandardSchema<Record<string, Json>> = {
  '~standard': {
    version: 1,
    vendor: 'bench',
    validate: (value) => ({ value: value as Record<string, Json> }),
  },
}

const parameters = {
  type: 'object',
  properties: {
    projectId: { type: 'string' },
    status: { type: 'string' },
    limit: { type: 'number' },
    note: { type: 'string' },
  },
}

const tool = defineTool({
  name: TOOL,
  description: 'Lists the tasks of a project.',
  input: anything,
  parameters,
  run: listTasks,
})

/** The config of every agent here. */
export function quickAgent(config: Pick<AgentConfig, 'contextId'> & Partial<AgentConfig>): Agent {
  return new Agent({
    model: quickModel(),
    systemPrompt: 'You keep the tasks of a small team. Be brief.',
    tools: [tool],
    ...config,
  })
}

/** One turn, with one who reads along. Throws if it does not end as it should: then nothing was measured. */
export async function playAgentTurn(agent: Agent, options: TurnOptions = {}): Promise<void> {
  const turn = agent.executeTurn(QUESTION, options)
  let deltas = 0
  for await (const event of turn) if (event.type === 'text.delta') deltas += 1
  const { reason, text, error } = await turn.outcome
  if (reason !== 'stop' || text !== ANSWER || deltas === 0)
    throw new Error(`A turn of ${agent.contextId} ended as ${reason}: ${JSON.stringify(error ?? text)}`)
}

function dataAt(commit: number, entry: number = commit === 1 ? 1 : 0): Record<string, Json | undefined> {
  return { ...commits[commit]?.[entry]?.data }
}

function textOf({ content }: Record<string, Json | undefined>): string {
  const [first] = content as readonly { readonly text: string }[]
  return first?.text ?? ''
}

function textParts(text: string, deltas: number): ModelPart[] {
  const id = 'text-1'
  return [
    { type: 'text-start', id },
    ...pieces(text, deltas).map((delta) => ({ type: 'text-delta', id, delta })),
    { type: 'text-end', id },
  ]
}

function pieces(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, i) => text.slice(i * size, (i + 1) * size))
}

function finish(unified: string, total: number): ModelPart {
  const usage = { inputTokens: { total, cacheRead: 1024, cacheWrite: 0 }, outputTokens: { total: 140 } }
  return { type: 'finish', finishReason: { unified, raw: unified }, usage }
}

function streamOf(parts: readonly ModelPart[]): ReadableStream<ModelPart> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
