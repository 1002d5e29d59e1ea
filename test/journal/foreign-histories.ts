/** Generates whole and broken conversations, in the format of each framework. */
import * as fc from 'fast-check'
import type { ImportFormat } from '../../src/journal/index.ts'

export interface ScriptCall {
  readonly id: string
  readonly tool: string
  readonly city: string
}

export type Line =
  | { readonly by: 'user'; readonly text: string }
  | { readonly by: 'system'; readonly text: string }
  | { readonly by: 'model'; readonly text: string; readonly calls: readonly ScriptCall[] }
  | {
      readonly by: 'tool'
      readonly result: { readonly id: string; readonly tool: string; readonly text: string }
    }

type Writer = (line: Line) => object

const cities = fc.constantFrom('Rome', 'Oslo', 'Lima')
const words = fc.constantFrom('Hello.', 'Look it up.', 'Thank you.', 'And then?', 'Fine.')
const tools = fc.constantFrom('weather', 'time')
/** Few, so that they collide. */
const ids = fc.constantFrom('a', 'b', 'c', 'd')
const maybeBlank = fc.oneof(
  { weight: 5, arbitrary: words },
  { weight: 1, arbitrary: fc.constantFrom('', '  ') },
)

const anyLine: fc.Arbitrary<Line> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ by: fc.constant('user' as const), text: maybeBlank }) },
  { weight: 1, arbitrary: fc.record({ by: fc.constant('system' as const), text: maybeBlank }) },
  {
    weight: 4,
    arbitrary: fc.record({
      by: fc.constant('model' as const),
      text: maybeBlank,
      calls: fc.array(fc.record({ id: ids, tool: tools, city: cities }), { maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      by: fc.constant('tool' as const),
      result: fc.record({ id: ids, tool: tools, text: words }),
    }),
  },
)

/** Anything in any order: colliding ids, results without calls, blanks. */
export const brokenScript: fc.Arbitrary<readonly Line[]> = fc.array(anyLine, { maxLength: 25 })

/** A legal conversation. */
export const wholeScript: fc.Arbitrary<readonly Line[]> = fc
  .array(
    fc.record({
      asked: words,
      rounds: fc.array(
        fc.array(fc.record({ tool: tools, city: cities, text: words }), { minLength: 1, maxLength: 3 }),
        {
          maxLength: 3,
        },
      ),
      reply: words,
    }),
    { maxLength: 6 },
  )
  .map((exchanges) => {
    let count = 0
    return exchanges.flatMap(({ asked, rounds, reply }): Line[] => [
      { by: 'user', text: asked },
      ...rounds.flatMap((round): Line[] => {
        const calls = round.map(({ tool, city, text }) => ({ id: `id-${(count += 1)}`, tool, city, text }))
        return [
          { by: 'model', text: '', calls: calls.map(({ id, tool, city }) => ({ id, tool, city })) },
          ...calls.map(({ id, tool, text }): Line => ({ by: 'tool', result: { id, tool, text } })),
        ]
      }),
      { by: 'model', text: reply, calls: [] },
    ])
  })

const langchainNames = {
  user: 'HumanMessage',
  system: 'SystemMessage',
  model: 'AIMessage',
  tool: 'ToolMessage',
}
const roles = { user: 'user', system: 'system', model: 'assistant', tool: 'tool' }

const aiSdk: Writer = (line) => {
  const role = roles[line.by]
  if (line.by === 'tool') {
    const { id, tool, text } = line.result
    const output = { type: 'text', value: text }
    return { role, content: [{ type: 'tool-result', toolCallId: id, toolName: tool, output }] }
  }
  if (line.by !== 'model') return { role, content: line.text }
  const calls = line.calls.map(({ id, tool, city }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: tool,
    input: { city },
  }))
  return { role, content: [{ type: 'text', text: line.text }, ...calls] }
}

const openai: Writer = (line) => {
  const role = roles[line.by]
  if (line.by === 'tool') return { role, tool_call_id: line.result.id, content: line.result.text }
  if (line.by !== 'model' || line.calls.length === 0) return { role, content: line.text }
  const calls = line.calls.map(({ id, tool, city }) => ({
    id,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify({ city }) },
  }))
  return { role, content: line.text, tool_calls: calls }
}

const anthropic: Writer = (line) => {
  if (line.by === 'tool') {
    const { id, text } = line.result
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] }
  }
  if (line.by !== 'model') return { role: roles[line.by], content: line.text }
  const calls = line.calls.map(({ id, tool, city }) => ({
    type: 'tool_use',
    id,
    name: tool,
    input: { city },
  }))
  return { role: 'assistant', content: [{ type: 'text', text: line.text }, ...calls] }
}

const google: Writer = (line) => {
  if (line.by === 'tool') {
    const { id, tool, text } = line.result
    return { role: 'user', parts: [{ functionResponse: { id, name: tool, response: { output: text } } }] }
  }
  const role = line.by === 'model' ? 'model' : line.by
  const calls = line.by === 'model' ? line.calls : []
  return {
    role,
    parts: [
      { text: line.text },
      ...calls.map(({ id, tool, city }) => ({ functionCall: { id, name: tool, args: { city } } })),
    ],
  }
}

const langchain: Writer = (line) => {
  const told = (kwargs: object) => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', langchainNames[line.by]],
    kwargs,
  })
  if (line.by === 'tool') return told({ content: line.result.text, tool_call_id: line.result.id })
  if (line.by !== 'model') return told({ content: line.text })
  const calls = line.calls.map(({ id, tool, city }) => ({ id, name: tool, args: { city } }))
  return told({ content: line.text, tool_calls: calls })
}

const holdfast: Writer = (line) => {
  if (line.by === 'tool') {
    const { id, tool, text } = line.result
    return { role: 'tool', content: [{ type: 'tool-result', callId: id, tool, status: 'ok', output: text }] }
  }
  if (line.by !== 'model') return { role: 'user', content: line.text }
  const calls = line.calls.map(({ id, tool, city }) => ({
    type: 'tool-call',
    callId: id,
    tool,
    args: { city },
  }))
  return { role: 'assistant', content: [{ type: 'text', text: line.text }, ...calls] }
}

function responsesItems(line: Line): readonly object[] {
  if (line.by === 'tool')
    return [{ type: 'function_call_output', call_id: line.result.id, output: line.result.text }]
  const type = line.by === 'model' ? 'output_text' : 'input_text'
  const message = { type: 'message', role: roles[line.by], content: [{ type, text: line.text }] }
  if (line.by !== 'model') return [message]
  const calls = line.calls.map(({ id, tool, city }) => ({
    type: 'function_call',
    call_id: id,
    name: tool,
    arguments: JSON.stringify({ city }),
  }))
  return line.text === '' && calls.length > 0 ? calls : [message, ...calls]
}

const WRITERS: Readonly<Record<Exclude<ImportFormat, 'openai-responses'>, Writer>> = {
  'ai-sdk': aiSdk,
  openai,
  anthropic,
  google,
  langchain,
  holdfast,
}

export const FORMAT_NAMES: readonly ImportFormat[] = [
  ...(Object.keys(WRITERS) as (keyof typeof WRITERS)[]),
  'openai-responses',
]

export function written(script: readonly Line[], format: ImportFormat): object[] {
  return format === 'openai-responses' ? script.flatMap(responsesItems) : script.map(WRITERS[format])
}

export type Accident =
  | { readonly do: 'lose' | 'repeat' | 'swap' | 'strange-part'; readonly at: number }
  | { readonly do: 'lose-field'; readonly at: number; readonly field: number }

export const accidents: fc.Arbitrary<readonly Accident[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constantFrom('lose' as const, 'repeat' as const, 'swap' as const, 'strange-part' as const),
      at: fc.nat(30),
    }),
    fc.record({ do: fc.constant('lose-field' as const), at: fc.nat(30), field: fc.nat(10) }),
  ),
  { maxLength: 4 },
)

export function afterwards(history: readonly object[], happened: readonly Accident[]): object[] {
  const list = structuredClone([...history]) as Record<string, unknown>[]
  for (const accident of happened) {
    const at = list.length === 0 ? 0 : accident.at % list.length
    const item = list[at]
    if (item === undefined) continue
    if (accident.do === 'lose') list.splice(at, 1)
    if (accident.do === 'repeat') list.splice(at, 0, structuredClone(item))
    if (accident.do === 'swap')
      list.splice(at, 1).forEach((moved) => list.splice((at * 7) % (list.length + 1), 0, moved))
    if (accident.do === 'strange-part') partsIn(item)?.push({ type: 'hologram', rays: 3 })
    if (accident.do === 'lose-field') loseField(item, accident.field)
  }
  return list
}

function partsIn(item: Record<string, unknown>): unknown[] | undefined {
  const { content, parts } = item
  return Array.isArray(content) ? content : Array.isArray(parts) ? parts : undefined
}

/** Drops a field of a part, where it has any: ids, names, texts. */
function loseField(item: Record<string, unknown>, field: number): void {
  const parts = partsIn(item) as Record<string, unknown>[] | undefined
  const victim = parts?.[field % parts.length] ?? item
  const keys = Object.keys(victim).filter((key) => key !== 'role' && key !== 'type')
  const key = keys[field % Math.max(1, keys.length)]
  if (key !== undefined) delete victim[key]
}
