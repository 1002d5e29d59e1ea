/** Tools that the client of a run declares: their calls wait for the client, which runs them and sends the results. */
import type { JsonObject } from '../../protocol/index.ts'
import { clientTool, type StandardSchema, type Tool, type ToolsOption, toolsFrom } from '../../tool/index.ts'
import { isFields } from '../body-fields.ts'
import { AG_UI } from '../client-metadata.ts'

interface DeclaredTool {
  readonly name: string
  readonly description?: string
  readonly parameters?: JsonObject
}

/**
 * The tools of an agent for one turn: its own, and those that the AG-UI client has declared. An own tool hides a declared
 * one of the same name.
 *
 * @example
 * agents: { support: { model, tools: (turn) => withClientTools([search], turn) } }
 */
export function withClientTools(own: ToolsOption, turn: { readonly metadata: JsonObject }): readonly Tool[] {
  const tools = toolsFrom(own)
  const names = new Set(tools.map(({ name }) => name))
  const added = declaredIn(turn.metadata[AG_UI]).filter(({ name }) => !names.has(name) && names.add(name))
  return [...tools, ...added.map(toolOf)]
}

/** A program may have written the metadata: a tool that is none is left out. */
function declaredIn(run: unknown): readonly DeclaredTool[] {
  const tools = isFields(run) ? run['tools'] : undefined
  return Array.isArray(tools) ? tools.filter(isDeclared) : []
}

function isDeclared(tool: unknown): tool is DeclaredTool {
  if (!isFields(tool)) return false
  const { name, description = '', parameters = {} } = tool
  return (
    typeof name === 'string' &&
    /^[\w-]{1,64}$/.test(name) &&
    typeof description === 'string' &&
    isFields(parameters)
  )
}

function toolOf({ name, description = name, parameters }: DeclaredTool): Tool {
  return clientTool({ name, description, input: shownSchema(parameters ?? { type: 'object' }) })
}

/**
 * The schema of a client is for the model. It checks nothing here: it could cost any amount of work, and the client checks
 * the arguments that it gets.
 */
function shownSchema(schema: JsonObject): StandardSchema<JsonObject> {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => ({ value: value as JsonObject }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}
