/** Takes tools of the AI SDK, `tool()` and `dynamicTool()`, as they are. Nothing of that package is imported. */
import {
  HoldfastError,
  invalidOption,
  type Json,
  type JsonObject,
  type Message,
  quote,
} from '../protocol/index.ts'
import { defineTool } from './define-tool.ts'
import { jsonSchema } from './json-schema.ts'
import { toolResult } from './result.ts'
import { isStandardSchema, type StandardSchema } from './standard-schema.ts'
import type { Tool, ToolContext, ToolDefinition } from './tool.ts'
import { XRAY, type XraySource } from './xray.ts'

/** A tool of the AI SDK, by its shape. */
export interface AiTool {
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly outputSchema?: unknown
  readonly execute?: unknown
  readonly needsApproval?: unknown
  readonly toModelOutput?: unknown
  readonly type?: unknown
}

/** Tools by name: those of the AI SDK, and tools of `defineTool`, whose own name counts. */
export type ToolSet = Readonly<Record<string, AiTool | Tool>>

/** The tools of an agent: a list that may hold sets, or a set. */
export type ToolsOption = readonly (Tool | ToolSet)[] | ToolSet

/** The options of `defineTool` that the AI SDK does not have. */
export type AiToolOptions = Pick<
  ToolDefinition<StandardSchema, unknown>,
  | 'replay'
  | 'exclusive'
  | 'timeoutMs'
  | 'maxResultBytes'
  | 'approve'
  | 'verify'
  | 'display'
  | 'returns'
  | 'selects'
  | 'unmarkedIds'
>

/**
 * A tool of the AI SDK as a tool of an agent: `aiTool('weather', weather, { replay: 'safe' })`. `replay` is `never` unless
 * said otherwise, `approve` follows `needsApproval`. Each result that `execute` yields is progress, the last one is the
 * result; `toModelOutput` makes what the model reads.
 */
export function aiTool(name: string, tool: AiTool, options: AiToolOptions = {}): Tool {
  const { description, execute, type, outputSchema } = checked(name, tool)
  const approve = options.approve ?? approvalRule(tool.needsApproval)
  return defineTool({
    name,
    description: typeof description === 'string' && description.trim() !== '' ? description : name,
    ...inputOf(name, tool.inputSchema),
    ...(isStandardSchema(outputSchema) && type !== 'dynamic' && tool.toModelOutput === undefined
      ? { output: outputSchema }
      : {}),
    ...options,
    approve,
    run: async function* (input: unknown, context: ToolContext) {
      const output = yield* lastOf(execute(input, executeOptions(context)))
      return modelOutput(tool.toModelOutput, { toolCallId: context.callId, input, output })
    },
  })
}

/** Every tool of the option, with those of the AI SDK converted. Throws for anything else. */
export function toolsFrom(option: unknown): readonly Tool[] {
  if (Array.isArray(option))
    return (option as readonly unknown[]).flatMap((item) => (isSet(item) ? fromSet(item) : [item as Tool]))
  if (isSet(option)) return fromSet(option)
  throw invalidOption(
    'tools',
    `must be a list such as [search], or tools by name such as { search }, not one tool`,
  )
}

const converted = new WeakMap<object, Map<string, Tool>>()

function fromSet(set: ToolSet): readonly Tool[] {
  return Object.entries(set).map(([name, tool]) => (isTool(tool) ? tool : sameTool(name, tool)))
}

/** One conversion for each tool, also if a function gives it for every turn. */
function sameTool(name: string, tool: AiTool): Tool {
  if (typeof tool !== 'object' || tool === null) return aiTool(name, tool)
  const known = converted.get(tool) ?? new Map<string, Tool>()
  converted.set(tool, known)
  const made = known.get(name) ?? aiTool(name, tool)
  known.set(name, made)
  return made
}

function isTool(value: unknown): value is Tool {
  const { run, parameters } = (value ?? {}) as Partial<Tool>
  return typeof run === 'function' && typeof parameters === 'object'
}

/** An object of tools; not a tool of either kind itself. */
function isSet(value: unknown): value is ToolSet {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isTool(value)) return false
  const { inputSchema, name, execute } = value as Readonly<Record<string, unknown>>
  const isAi = isSchema(inputSchema) || typeof execute === 'function'
  return !isAi && typeof name !== 'string'
}

type Execute = (input: unknown, options: object) => unknown

function checked(name: string, tool: AiTool): AiTool & { readonly execute: Execute } {
  const refuse = (why: string): HoldfastError =>
    new HoldfastError('invalid-option', { message: `Tool ${quote(name)} cannot be used: ${why}.` })
  if (typeof tool !== 'object' || tool === null)
    throw refuse('it is neither a tool of the AI SDK nor one of defineTool()')
  const { execute, type, inputSchema } = tool
  if (type === 'provider' || type === 'provider-defined')
    throw refuse('its provider defines or runs it, so that the journal could not; define a tool of your own')
  if (!isSchema(inputSchema)) throw refuse('it has no `inputSchema`; make it with tool() or defineTool()')
  if (typeof execute !== 'function')
    throw refuse('it has no `execute`; to ask a person, use askUser() or return ask() in a tool')
  return tool as AiTool & { readonly execute: Execute }
}

function isSchema(value: unknown): boolean {
  return isStandardSchema(value) || typeof value === 'function' || aiSchema(value) !== undefined
}

/** A schema of the AI SDK, made by `jsonSchema()` or `zodSchema()`. */
interface AiSchema {
  readonly jsonSchema: unknown
  readonly validate?: (value: unknown) => unknown
}

function aiSchema(value: unknown): AiSchema | undefined {
  const isObject = typeof value === 'object' && value !== null
  return isObject && 'jsonSchema' in value ? value : undefined
}

function inputOf(
  name: string,
  schema: unknown,
): { readonly input: StandardSchema; readonly parameters?: JsonObject } {
  if (isStandardSchema(schema)) return { input: schema }
  const made = aiSchema(typeof schema === 'function' ? (schema as () => unknown)() : schema)
  const { jsonSchema: parameters, validate } = made ?? { jsonSchema: undefined }
  if (typeof parameters !== 'object' || parameters === null || 'then' in parameters)
    throw new HoldfastError('invalid-option', {
      message: `Tool ${quote(name)} cannot be used: its JSON Schema is not there yet. Give \`inputSchema\` as a Zod schema or jsonSchema({ … }).`,
    })
  const known = parameters as JsonObject
  if (validate === undefined) return { input: jsonSchema(known), parameters: known }
  return { input: { '~standard': { version: 1, vendor: 'ai', validate: byAi(validate) } }, parameters: known }
}

function byAi(validate: (value: unknown) => unknown): StandardSchema['~standard']['validate'] {
  return async (value) => {
    const result = (await validate(value)) as
      | {
          readonly success?: unknown
          readonly value?: unknown
          readonly error?: { readonly message?: string }
        }
      | undefined
    // Without a verdict, the schema is broken: `validate` says so.
    if (typeof result?.success !== 'boolean') return undefined as never
    if (result.success) return { value: result.value }
    return { issues: [{ message: result.error?.message ?? 'It does not fit.' }] }
  }
}

function approvalRule(needsApproval: unknown): NonNullable<AiToolOptions['approve']> {
  if (typeof needsApproval !== 'function') return needsApproval ? 'always' : 'never'
  const asks = needsApproval as (input: unknown, options: object) => unknown
  return async ({ input, callId }) => Boolean(await asks(input, { toolCallId: callId, messages: [] }))
}

function executeOptions(context: ToolContext): object {
  const { callId, signal, metadata } = context
  return {
    toolCallId: callId,
    abortSignal: signal,
    context: metadata,
    experimental_context: metadata,
    get messages(): readonly object[] {
      const { [XRAY]: source } = context as ToolContext & { readonly [XRAY]?: XraySource }
      const messages = source?.messages() ?? []
      const reply = messages.findLastIndex(({ role }) => role === 'assistant')
      return messages.slice(0, reply < 0 ? messages.length : reply).map(modelMessage)
    },
  }
}

/** The last value of a generator, with each as progress; any other value as it is. Closed once the call is settled. */
async function* lastOf(returned: unknown): AsyncGenerator<Json, unknown, undefined> {
  const result = await returned
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  for await (const value of result as AsyncIterable<unknown>) {
    last = value
    yield value as Json
  }
  return last
}

async function modelOutput(
  toModelOutput: unknown,
  call: { readonly toolCallId: string; readonly input: unknown; readonly output: unknown },
): Promise<unknown> {
  const { output } = call
  if (typeof toModelOutput !== 'function') return output ?? null
  const made = (await (toModelOutput as (options: object) => unknown)(call)) as {
    readonly type: string
    readonly value?: unknown
    readonly reason?: string
  }
  const { type, value, reason = 'It was denied.' } = made
  if (type === 'error-text' || type === 'error-json') return failed(value)
  if (type === 'execution-denied') return failed(reason)
  const read = type === 'content' ? contentOf(value) : value
  return typeof output === 'string' ? toolResult(read, output) : read
}

function failed(value: unknown): unknown {
  return toolResult(value, typeof value === 'string' ? value : JSON.stringify(value), { failed: true })
}

/** Texts as one text; files stay as they are. */
function contentOf(value: unknown): unknown {
  const parts = value as readonly { readonly type: string; readonly text?: string }[]
  return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => text).join('\n') : parts
}

/** A message in the AI SDK's form. */
function modelMessage(message: Message): object {
  if (message.role === 'user') return { role: 'user', content: message.content }
  if (message.role === 'tool') {
    const content = message.content.map(({ callId, tool, output }) => ({
      type: 'tool-result',
      toolCallId: callId,
      toolName: tool,
      output: typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output },
    }))
    return { role: 'tool', content }
  }
  const content = message.content.map((part) =>
    part.type === 'tool-call'
      ? { type: 'tool-call', toolCallId: part.callId, toolName: part.tool, input: part.args }
      : { type: part.type, text: part.text },
  )
  return { role: 'assistant', content }
}
