/**
 * An agent as a tool of another (R17). The sub-agent has its own journal below the call's name, and a call attaches or
 * starts, so a repeated call finds the earlier work. The caller publishes its events, asks its questions and counts its
 * usage.
 */
import { CHILD_SCOPE, type ChildScope, questionFrom, type TurnOutcome } from '../drive/index.ts'
import {
  checkOptions,
  defined,
  HoldfastError,
  invalidOption,
  type JsonObject,
  type OptionSet,
  type Sighting,
  shown,
} from '../protocol/index.ts'
import {
  askBelow,
  defineTool,
  jsonSchema,
  type SchemaOutput,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  toolResult,
} from '../tool/index.ts'
import { runAgent } from './agent-node.ts'
import { checkSubAgent, type SubAgentConfig, type WithOutput } from './run-below.ts'

export interface AgentToolDefinition<S extends StandardSchema = MessageSchema, Output = unknown>
  extends Pick<ToolDefinition<S, unknown>, 'name' | 'description' | 'parameters' | 'approve' | 'exclusive'> {
  /** With `output`, the result of the tool is that output, else the last text. */
  readonly agent: SubAgentConfig<Output>
  /** The input schema for the caller's model. Default: `{ message }`. */
  readonly input?: S
  /** Builds the sub-agent's message from the input. */
  readonly prompt?: (input: SchemaOutput<S>) => string
}

/** The schema of `{ message }`. */
type MessageSchema = StandardSchema<unknown, { readonly message: string }>

const MESSAGE: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'What to do, in full: it knows nothing else.' } },
  required: ['message'],
}

/**
 * @example
 * const researcher = agentTool({
 *   name: 'research',
 *   description: 'Looks things up and reports',
 *   agent: { model: 'openai/gpt-4.1-mini', tools: [search] },
 * })
 */
export function agentTool<S extends StandardSchema = MessageSchema, Output = unknown>(
  definition: AgentToolDefinition<S, Output> & { readonly agent: WithOutput<Output> },
): Tool<SchemaOutput<S>, Output>
export function agentTool<S extends StandardSchema = MessageSchema>(
  definition: AgentToolDefinition<S>,
): Tool<SchemaOutput<S>, string>
export function agentTool(definition: AgentToolDefinition<StandardSchema<unknown, never>>): Tool {
  checkDefinition(definition)
  const { agent, input, prompt = messageIn, name, description, ...rest } = definition
  const schema: StandardSchema = input ?? jsonSchema(MESSAGE)
  return defineTool({
    ...(rest as Omit<typeof rest, 'approve'> & Pick<ToolDefinition<StandardSchema, unknown>, 'approve'>),
    name,
    description,
    input: schema,
    // A repeated run continues from the sub-agent's own journal.
    replay: 'safe',
    run: (args: unknown, context: ToolContext): Promise<unknown> =>
      callAgent({ name, ...agent }, (prompt as (input: unknown) => unknown)(args), context),
  })
}

const AGENT_TOOL: OptionSet<AgentToolDefinition<StandardSchema>> = {
  place: 'agentTool()',
  options: {
    name: null,
    description: null,
    parameters: null,
    approve: null,
    exclusive: null,
    agent: null,
    input: null,
    prompt: 'a function',
  },
  foreign: {
    inputSchema: 'input',
    needsApproval: 'approve',
    config: 'agent',
    instructions: 'agent: { systemPrompt }',
  },
}

/** Reports a config that would fail every call where it is defined. */
function checkDefinition(definition: unknown): void {
  const { agent } = (definition ?? {}) as { readonly agent?: unknown }
  checkSubAgent(
    'agentTool() takes { name, description, agent }, and `agent` is a config as for an Agent.',
    agent,
  )
  checkOptions(definition, AGENT_TOOL)
}

async function callAgent(config: SubAgentConfig, message: unknown, context: ToolContext): Promise<unknown> {
  if (typeof message !== 'string')
    throw invalidOption('prompt', `of an agentTool() must return a text, at once, not ${shown(message)}`)
  const childScope = (context as ToolContext & { readonly [CHILD_SCOPE]?: ChildScope })[CHILD_SCOPE]
  if (childScope === undefined) {
    throw new HoldfastError('invalid-option', { message: 'A sub-agent can only be called by an Agent.' })
  }
  const { callId, principal, credentials, metadata, signal } = context
  const below = {
    childScope,
    name: callId,
    principal,
    credentials,
    metadata,
    signal,
    answers: childScope.answers ?? {},
    limits: childScope.limits(),
  }
  const { outcome, seen } = await runAgent(config, message, { below })
  return resultOf({ ...outcome, ...defined({ seen }) }, childScope.config.clock.now())
}

function resultOf(
  {
    status,
    reason,
    text,
    output,
    usage,
    seen,
    error,
    limit,
    requests,
  }: TurnOutcome & { readonly seen?: readonly Sighting[] },
  now: number,
): unknown {
  if (status === 'input-required' || status === 'auth-required')
    return askBelow(
      requests.map((request) => questionFrom(request, now)),
      usage,
    )
  const completed = output === undefined ? text : output
  if (status === 'completed')
    return toolResult(reason === 'stop' ? completed : { text, stopped: limit ?? reason }, text, {
      usage,
      ...defined({ seen }),
    })
  const message = error?.message ?? `The turn of the sub-agent was ${reason}.`
  return toolResult({ error: message, ...(text === '' ? {} : { text }) }, message, { usage, failed: true })
}

function messageIn(input: unknown): string {
  const { message } = input as { readonly message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(input)
}
