/** Tools by which a model lists and reads a server's resources and prompts, if the config asks for them. */
import type { JsonObject } from '../protocol/index.ts'
import { defineTool, jsonSchema, type Tool, type ToolContext } from '../tool/index.ts'
import type { LiveServer, ServerConnection } from './connection.ts'
import { blocksOf } from './content.ts'
import { type ReadOptions, readFrom } from './read-request.ts'
import type { Client, ContentBlock } from './sdk.ts'

/** @param nameOf makes the name for models */
export function readTools(
  connection: ServerConnection,
  live: LiveServer,
  nameOf: (name: string) => string,
): readonly Tool[] {
  const { options } = connection.settings
  const { resources, prompts } = live.client.getServerCapabilities() ?? {}
  const made = [
    ...(options.resources === true && resources !== undefined ? [LIST_RESOURCES, READ_RESOURCE] : []),
    ...(options.prompts === true && prompts !== undefined ? [LIST_PROMPTS, GET_PROMPT] : []),
  ]
  return made.map((each) => readTool(connection, nameOf(each.name), each))
}

interface ReadTool {
  readonly name: string
  readonly description: string
  readonly properties: JsonObject
  readonly required: readonly string[]
  readonly read: (reader: Reader, input: ReadInput, context: ToolContext) => Promise<unknown>
}

/** Reads from the server of the tool. */
type Reader = <T extends object>(read: (client: Client, options: ReadOptions) => Promise<T>) => Promise<T>

interface ReadInput {
  readonly uri?: string
  readonly name?: string
  readonly arguments?: Readonly<Record<string, string>>
}

function readTool(connection: ServerConnection, name: string, definition: ReadTool): Tool {
  const { name: server, options } = connection.settings
  const { description, properties, required, read } = definition
  const isTrusted =
    options.trust === true || (Array.isArray(options.trust) && options.trust.includes(definition.name))
  return defineTool({
    name,
    description: `${description} of the MCP server ${server}.`,
    input: jsonSchema<ReadInput>({ type: 'object', properties, required, additionalProperties: false }),
    replay: isTrusted ? 'safe' : 'never',
    approve: isTrusted ? 'never' : 'always',
    origin: { kind: 'mcp', server },
    run: (input, context) => read((from) => readFrom(connection, from, context.signal), input, context),
  })
}

const MOST = 200

function leftOut({ length }: readonly unknown[]): { readonly more?: number } {
  return length > MOST ? { more: length - MOST } : {}
}

const LIST_RESOURCES: ReadTool = {
  name: 'list_resources',
  description: 'Lists the resources, with their addresses,',
  properties: {},
  required: [],
  read: async (reader) => {
    const { resources } = await reader((client, options) => client.listResources(undefined, options))
    return {
      resources: resources
        .slice(0, MOST)
        .map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType })),
      ...leftOut(resources),
    }
  },
}

const READ_RESOURCE: ReadTool = {
  name: 'read_resource',
  description: 'Reads a resource',
  properties: { uri: { type: 'string', minLength: 1, description: 'The address of the resource.' } },
  required: ['uri'],
  read: async (reader, { uri = '' }, context) => {
    const { contents } = await reader((client, options) => client.readResource({ uri }, options))
    const blocks = contents.map((resource): ContentBlock => ({ type: 'resource', resource }))
    return blocksOf(blocks, context)
  },
}

const LIST_PROMPTS: ReadTool = {
  name: 'list_prompts',
  description: 'Lists the prompts, with their arguments,',
  properties: {},
  required: [],
  read: async (reader) => {
    const { prompts } = await reader((client, options) => client.listPrompts(undefined, options))
    return {
      prompts: prompts
        .slice(0, MOST)
        .map(({ name, description, arguments: args }) => ({ name, description, arguments: args })),
      ...leftOut(prompts),
    }
  },
}

const GET_PROMPT: ReadTool = {
  name: 'get_prompt',
  description: 'Gets the messages of a prompt',
  properties: {
    name: { type: 'string', minLength: 1 },
    arguments: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['name'],
  read: async (reader, { name = '', arguments: args = {} }, context) => {
    const params = { name, arguments: { ...args } }
    const { description, messages } = await reader((client, options) => client.getPrompt(params, options))
    const blocks = await blocksOf(
      messages.map(({ content }) => content),
      context,
    )
    return {
      description,
      messages: blocks.map((content, at) => ({ role: messages[at]?.role, content })),
    }
  },
}
