/** The tools of an agent that is served: `send_message`, and `answer_request` for clients that show no forms. */
import { systemIds } from '../base/index.ts'
import type { Json, JsonObject, RequestData } from '../protocol/index.ts'
import { jsonSchema, requestText, runAround } from '../tool/index.ts'
import { answerIn, answerOf, formOf } from './agent-questions.ts'
import type { AgentServerSdk, McpServer, ServerContext } from './sdk.ts'
import type { Conversations, ServedAgent, ServedCall, ServedOutcome, ServedTurn } from './served-agent.ts'

interface MessageInput {
  readonly message: string
  readonly conversation?: string
}

interface AnswerInput {
  readonly conversation: string
  readonly request: string
  readonly answer: Json
}

const CONVERSATION: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 100,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  description: 'The conversation to go on with, from an earlier result. Leave it out to begin a new one.',
}

const MESSAGE: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', minLength: 1 }, conversation: CONVERSATION },
  required: ['message'],
  additionalProperties: false,
}

const ANSWER: JsonObject = {
  type: 'object',
  properties: {
    conversation: {
      ...CONVERSATION,
      description: 'The conversation of the request, from the result that has it.',
    },
    request: { type: 'string', description: 'The id of the request.' },
    answer: { description: 'true or false, one of the options, a text, or an object that fits the schema.' },
  },
  required: ['conversation', 'request', 'answer'],
  additionalProperties: false,
}

/** Each question of a turn is a round, and the agent has limits of its own: the package would fail the call at the ninth. */
const MOST_ROUNDS = 1000

export interface AgentToolsOptions {
  readonly name: string
  readonly version: string
  readonly description?: string
}

export function agentTools(
  sdk: AgentServerSdk,
  { name, version, description }: AgentToolsOptions,
  conversations: Conversations,
): McpServer {
  const server = new sdk.McpServer({ name, version }, { inputRequired: { maxRounds: MOST_ROUNDS } })
  const about = description === undefined ? '' : ` ${description}`
  const send = async ({ message, conversation }: MessageInput, context: ServerContext) => {
    const { inputResponses, requestState } = context.mcpReq
    const id = conversation ?? requestState<string>() ?? systemIds.next('mcp')
    const isAnswered = inputResponses !== undefined && Object.keys(inputResponses).length > 0
    let isLeftOpen = false
    const begin = async (agent: ServedAgent) => {
      if (!isAnswered) return asProgram(() => agent.executeTurn(message))
      const requests = await agent.requests()
      const answers = answersIn(requests, inputResponses)
      isLeftOpen = Object.keys(answers).length === 0
      return isLeftOpen ? { status: 'input-required', text: '', requests } : agent.answer(answers)
    }
    const outcome = await conversations.run(id, callOf(context, begin))
    const questions = canAsk(server, context) && !isLeftOpen ? formsOf(sdk, outcome) : undefined
    return questions === undefined
      ? resultOf(id, outcome)
      : sdk.inputRequired({ inputRequests: questions, requestState: id })
  }
  const answer = async (
    { conversation: id, request, answer: given }: AnswerInput,
    context: ServerContext,
  ) => {
    const begin = async (agent: ServedAgent) => {
      const open = (await agent.requests()).find(({ requestId }) => requestId === request)
      return asProgram(() => agent.answer({ [request]: open === undefined ? given : answerOf(open, given) }))
    }
    return resultOf(id, await conversations.run(id, callOf(context, begin)))
  }
  server.registerTool(
    'send_message',
    {
      description: `Sends a message to the agent ${name}, and returns its reply.${about} The agent remembers the conversation.`,
      inputSchema: jsonSchema<MessageInput>(MESSAGE) as never,
    },
    send as never,
  )
  server.registerTool(
    'answer_request',
    {
      description: `Answers a request that the agent ${name} waits for.`,
      inputSchema: jsonSchema<AnswerInput>(ANSWER) as never,
    },
    answer as never,
  )
  return server
}

/** Arguments of a tool are written by the client's model, so they are no words of a person; a filled form is. */
function asProgram(begin: () => ServedTurn): Promise<ServedTurn> {
  return runAround({ contextId: 'mcp-client' }, async () => begin())
}

/** Forms are declared per request in the newest protocol, and once in older ones. */
function canAsk(server: McpServer, { mcpReq }: ServerContext): boolean {
  const { elicitation } =
    (
      mcpReq.envelope as { readonly [key: string]: { readonly elicitation?: object } | undefined } | undefined
    )?.['io.modelcontextprotocol/clientCapabilities'] ??
    server.server.getClientCapabilities() ??
    {}
  return elicitation !== undefined && (Object.keys(elicitation).length === 0 || 'form' in elicitation)
}

function callOf({ mcpReq }: ServerContext, begin: ServedCall['begin']): ServedCall {
  const { signal, _meta, notify } = mcpReq
  const progressToken = _meta?.progressToken
  let progress = 0
  return {
    begin,
    signal,
    onEvent: ({ type, data }) => {
      const { tool } = (data ?? {}) as { readonly tool?: unknown }
      if (progressToken === undefined || type !== 'tool.start' || typeof tool !== 'string') return
      progress += 1
      const params = { progressToken, progress, message: `Runs ${tool}` }
      void notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}

/** Undefined if nothing is asked, or something that no form can answer. */
function formsOf(
  sdk: AgentServerSdk,
  { requests }: ServedOutcome,
): Record<string, ReturnType<AgentServerSdk['inputRequired']['elicit']>> | undefined {
  const forms = requests.map((request) => [request.requestId, formOf(request)] as const)
  if (forms.length === 0 || forms.some(([, form]) => form === undefined)) return undefined
  return Object.fromEntries(forms.map(([id, form]) => [id, sdk.inputRequired.elicit(form as never)]))
}

function answersIn(
  requests: readonly RequestData[],
  responses: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Json>> {
  const pairs = requests.flatMap((request): [string, Json][] => {
    const given = answerIn(request, responses[request.requestId])
    return given === undefined ? [] : [[request.requestId, given]]
  })
  return Object.fromEntries(pairs)
}

function resultOf(conversation: string, { status, text, error, requests }: ServedOutcome): object {
  const waiting = requests.map(requestView)
  const said = [
    text,
    ...(error === undefined ? [] : [error.message]),
    ...waiting.map((each) => `It waits for an answer (answer_request): ${JSON.stringify(each)}`),
    `Conversation: ${conversation}`,
  ]
  return {
    content: [{ type: 'text', text: said.filter((line) => line !== '').join('\n\n') }],
    structuredContent: { conversation, status, text, requests: waiting },
    ...(status === 'failed' ? { isError: true } : {}),
  }
}

function requestView(request: RequestData): JsonObject {
  const { requestId, kind, options, schema } = request
  return {
    request: requestId,
    kind,
    prompt: requestText(request),
    ...(options === undefined ? {} : { options }),
    ...(schema === undefined ? {} : { schema }),
  }
}
