/**
 * An agent as a tool of another (R17). The sub-agent has a journal of its own, below the name of the call that it serves;
 * calling it is attach-or-start, so running the call again finds what was done before. Its events come out under the
 * caller's, its questions are asked by the caller, and what it uses counts for the caller.
 */
import { childKey, HoldfastError, type Json, type JsonObject, type TurnEvent } from '../protocol/index.ts'
import {
  type AskRequest,
  ask,
  defineTool,
  jsonSchema,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  toolResult,
} from '../tool/index.ts'
import type { Limits } from '../turn/index.ts'
import { Agent, type TurnOptions } from './agent.ts'
import { type AgentConfig, setUp } from './config.ts'
import { NURSERY, type Nursery } from './nursery.ts'
import type { TurnOutcome, TurnView } from './turn.ts'

/** What a sub-agent is made of: an agent without a conversation of its own. */
export type SubAgentConfig = Omit<
  AgentConfig,
  'contextId' | 'owner' | 'store' | 'autoSave' | 'allow' | 'credentials' | 'clock' | 'timer' | 'ids'
>

export interface AgentToolDefinition<S extends StandardSchema>
  extends Pick<ToolDefinition<S, string>, 'name' | 'description' | 'parameters' | 'approve' | 'exclusive'> {
  readonly agent: SubAgentConfig
  /** What the caller's model must give; a `message` unless said otherwise. */
  readonly input?: S
  /** The message for the sub-agent, from what was given. */
  readonly prompt?: (input: unknown) => string
}

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
export function agentTool<S extends StandardSchema>(
  definition: AgentToolDefinition<S>,
): Tool<unknown, string> {
  checkGiven(definition)
  const { agent, input, prompt = messageIn, name, description, ...rest } = definition
  const schema: StandardSchema = input ?? jsonSchema(MESSAGE)
  return defineTool({
    ...(rest as Omit<typeof rest, 'approve'> & Pick<ToolDefinition<StandardSchema, string>, 'approve'>),
    name,
    description,
    input: schema,
    // Running it again continues what its own journal says.
    replay: 'safe',
    run: (given: unknown, context: ToolContext): Promise<string> =>
      callAgent({ name, ...agent }, prompt(given), context),
  })
}

/** What would make every call fail is said where it was written. */
function checkGiven(definition: unknown): void {
  const { agent, prompt } = (definition ?? {}) as { readonly agent?: unknown; readonly prompt?: unknown }
  if (typeof agent !== 'object' || agent === null) {
    throw new HoldfastError('invalid-option', {
      message: 'agentTool() takes { name, description, agent }, and `agent` is a config as for an Agent.',
    })
  }
  if (prompt !== undefined && typeof prompt !== 'function')
    throw new HoldfastError('invalid-option', { message: '`prompt` of an agentTool() must be a function.' })
  setUp({ ...agent, contextId: 'sub-agent' })
}

async function callAgent(config: SubAgentConfig, message: string, context: ToolContext): Promise<string> {
  const nursery = (context as ToolContext & { readonly [NURSERY]?: Nursery })[NURSERY]
  if (nursery === undefined) {
    throw new HoldfastError('invalid-option', { message: 'A sub-agent can only be called by an Agent.' })
  }
  const child = subAgent(config, nursery, context)
  const turn = await attachOrStart(child, message, {
    context,
    limits: least(config.limits, nursery.limits()),
  })
  for await (const event of turn) nursery.forward(under(context.callId, event))
  const outcome = await turn.outcome
  const requests = await child.requests()
  await child.shutdown()
  return resultOf({ ...outcome, requests }) as string
}

function subAgent(config: SubAgentConfig, nursery: Nursery, { callId, credentials }: ToolContext): Agent {
  const { contextId, owner, ...ports } = nursery.config
  const key = childKey({ tenant: '', actor: '', ...owner, contextId }, callId)
  return new Agent({
    ...config,
    ...ports,
    ...(owner === undefined ? {} : { owner }),
    contextId: key.contextId,
    parent: contextId,
    credentials: () => credentials,
    allow: () => true,
  })
}

async function attachOrStart(
  child: Agent,
  message: string,
  { context, limits }: { context: ToolContext; limits: Limits },
): Promise<TurnView> {
  const { principal, credentials, signal, callId, metadata } = context
  const options: TurnOptions = { auth: { ...principal, credentials }, signal, limits, metadata }
  await child.start()
  const told = await answersFor(child, context.answers)
  if (Object.keys(told).length > 0) return child.answer(told, options)
  const running = child.turn
  if (running !== undefined) {
    signal.addEventListener('abort', () => void running.cancel('cancelled by its caller').catch(() => {}))
    return running
  }
  return (await child.lastTurn()) ?? child.executeTurn(message, { ...options, key: `call:${callId}` })
}

async function answersFor(
  child: Agent,
  answers: Readonly<Record<string, Json>>,
): Promise<Record<string, Json>> {
  const told: Record<string, Json> = {}
  for (const { requestId } of await child.requests()) {
    const value = answers[requestId]
    if (value !== undefined) told[requestId] = value
  }
  return told
}

function resultOf({ status, reason, text, usage, error, limit, requests }: TurnOutcome): unknown {
  if (status === 'input-required' || status === 'auth-required') return ask(requests.map(questionOf))
  if (status === 'completed')
    return toolResult(reason === 'stop' ? text : { text, stopped: limit ?? reason }, text, { usage })
  const message = error?.message ?? `The turn of the sub-agent was ${reason}.`
  return toolResult({ error: message, ...(text === '' ? {} : { text }) }, message, { usage, failed: true })
}

function questionOf(request: TurnOutcome['requests'][number]): AskRequest {
  const { requestId, kind, prompt, options, multiple, schema, about } = request
  return {
    kind: kind as AskRequest['kind'],
    prompt,
    name: requestId,
    ...(options === undefined ? {} : { options }),
    ...(multiple === undefined ? {} : { multiple }),
    ...(schema === undefined ? {} : { schema }),
    ...(about === undefined ? {} : { about }),
  }
}

function under(callId: string, event: TurnEvent): TurnEvent {
  return { ...event, path: [callId, ...(event.path ?? [])] }
}

/** The sub-agent's own limits, where the caller has more left than that. */
function least(own: Limits = {}, left: Limits): Limits {
  const limits: Record<string, number> = { ...own }
  for (const [name, value] of Object.entries(left) as [string, number][])
    limits[name] = Math.min(value, limits[name] ?? Number.POSITIVE_INFINITY)
  return limits
}

function messageIn(input: unknown): string {
  const { message } = input as { readonly message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(input)
}
