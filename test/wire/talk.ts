/** A conversation with a real agent, real provider packages and a server that is as strict as the vendors. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'
import {
  Agent,
  type AgentConfig,
  defineTool,
  type LanguageModel,
  type Message,
  type ModelChoice,
  type ModelOptions,
  memoryStore,
  type Store,
  type Tool,
} from '../../src/index.ts'
import { DIALECTS, keyOf, type Speaker, type WireServer } from './server.ts'

export const SPEAKERS = Object.keys(DIALECTS) as readonly Speaker[]

const NAMES: Readonly<Record<Exclude<Speaker, 'openai-chat'>, string>> = {
  anthropic: 'anthropic/claude-sonnet-4-5',
  'openai-responses': 'openai/gpt-5',
  google: 'google/gemini-3-pro-preview',
  compatible: 'openai-compatible/deepseek-chat',
}

/** The model by its name, with a key and an address. OpenAI's chat has no name of its own and is an object. */
export function named(wire: WireServer, speaker: Speaker, more: ModelOptions = {}): ModelChoice {
  const { apiKey = keyOf(DIALECTS[speaker]), ...settings } = more
  const place = { apiKey, baseURL: wire.baseURL(speaker) }
  if (speaker === 'openai-chat') return { model: createOpenAI(place).chat('gpt-4.1'), settings }
  return { model: NAMES[speaker], settings: { ...settings, ...place } }
}

/** The model as an object of its package. */
export function made(wire: WireServer, speaker: Speaker): LanguageModel {
  const settings = { apiKey: keyOf(DIALECTS[speaker]), baseURL: wire.baseURL(speaker) }
  if (speaker === 'anthropic') return createAnthropic(settings)('claude-sonnet-4-5')
  if (speaker === 'google') return createGoogleGenerativeAI(settings)('gemini-3-pro-preview')
  if (speaker === 'openai-chat') return createOpenAI(settings).chat('gpt-4.1')
  if (speaker === 'openai-responses') return createOpenAI(settings)('gpt-5')
  return createOpenAICompatible({ ...settings, name: 'deepseek', includeUsage: true })('deepseek-chat')
}

export interface Talk {
  readonly store: Store
  /** The same conversation with another model, or other tools. */
  readonly with: (model: AgentConfig['model'], more?: Partial<AgentConfig>) => Agent
}

/** Until it holds. What goes over a network takes as long as it takes. */
export async function eventually(what: string, holds: () => unknown): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    if (await holds()) return
    await new Promise((later) => setTimeout(later, 1))
  }
  throw new Error(`It never came to pass: ${what}`)
}

/** What was said, each message a line. */
export function lines(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    if (message.role === 'user') return `user ${JSON.stringify(message.content)}`
    if (message.role === 'tool')
      return message.content
        .map(({ tool, status, output }) => `${tool} ${status} ${JSON.stringify(output)}`)
        .join(', ')
    return message.content
      .map((part) => (part.type === 'tool-call' ? `-> ${part.tool}` : part.text))
      .join(' ')
  })
}

/** One journal, and agents on it. */
export function talk(shared: Partial<AgentConfig> = {}): Talk {
  const store = shared.store ?? memoryStore()
  return {
    store,
    with: (model, more = {}) => {
      const config = { tools: TOOLS, ...shared, ...more, ...(model === undefined ? {} : { model }) }
      return new Agent({ contextId: 'talk', store, systemPrompt: 'be brief', ...config })
    },
  }
}

const weather: Tool = defineTool({
  name: 'weather',
  description: 'Looks outside',
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, sky: 'blue' }),
})

const clock: Tool = defineTool({
  name: 'clock',
  description: 'Tells the time',
  input: z.object({}),
  run: () => 'noon',
})

/** Never comes to an end, and does not hear that it should. */
const stuck: Tool = defineTool({
  name: 'stuck',
  description: 'Waits',
  input: z.object({}),
  run: () => new Promise<never>(() => {}),
})

/** Is only opened for those who may. */
export const door: Tool = defineTool({
  name: 'door',
  description: 'Opens the door',
  input: z.object({}),
  approve: 'always',
  run: () => 'open',
})

export const TOOLS: readonly Tool[] = [weather, clock, stuck]
