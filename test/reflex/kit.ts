/** A conversation with the embedded model, told in short lines. */
import type { ModelCall, PromptMessage, PromptPart, ToolDeclaration } from '../../src/model/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { reflex } from '../../src/reflex/index.ts'

type Params = Readonly<Record<string, unknown>>

/** A tool with parameters; those that end with `!` are required. */
export function tool(name: string, description: string, params: Params = {}): ToolDeclaration {
  const properties: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(params)) properties[key.replace('!', '')] = schema
  const required = Object.keys(params).filter((key) => key.endsWith('!'))
  const inputSchema = { type: 'object', properties, required: required.map((key) => key.slice(0, -1)) }
  return { type: 'function', name, description, inputSchema }
}

/** Answers a call; an `Error` makes it fail. */
export type Answers = (name: string, args: JsonObject) => unknown

const MOST_ROUNDS = 8

/** Says one thing after the other, and returns calls and replies as lines. */
export async function talk(
  tools: readonly ToolDeclaration[],
  says: readonly string[],
  answers: Answers = () => ({ ok: true }),
): Promise<string[]> {
  const prompt: PromptMessage[] = []
  const lines: string[] = []
  for (const text of says) {
    prompt.push({ role: 'user', content: [{ type: 'text', text }] })
    for (let round = 0; ; round++) {
      if (round === MOST_ROUNDS) throw new Error(`It does not end: ${lines.join('\n')}`)
      const { content } = await reflex().doGenerate({ prompt, tools })
      const parts = content.map((part): PromptPart => {
        return part.type === 'text' ? part : { ...part, input: JSON.parse(part.input) as JsonObject }
      })
      prompt.push({ role: 'assistant', content: parts })
      for (const part of content)
        lines.push(part.type === 'text' ? part.text : `${part.toolName} ${part.input}`)
      const calls = parts.filter(({ type }) => type === 'tool-call')
      if (calls.length === 0) break
      prompt.push({ role: 'tool', content: calls.map((call) => resultOf(call, answers)) })
    }
  }
  return lines
}

function resultOf({ toolCallId = '', toolName = '', input }: PromptPart, answers: Answers): PromptPart {
  const value = answers(toolName, input as JsonObject)
  const output =
    value instanceof Error ? { type: 'error-text', value: value.message } : { type: 'json', value }
  return { type: 'tool-result', toolCallId, toolName, output }
}

/** A call with one message. */
export function ask(text: string, tools?: readonly ToolDeclaration[]): ModelCall {
  const prompt: PromptMessage[] = [{ role: 'user', content: [{ type: 'text', text }] }]
  return tools === undefined ? { prompt } : { prompt, tools }
}
