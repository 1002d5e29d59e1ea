/**
 * The names of spans, attributes and metrics: those of the semantic conventions for generative AI, and our own, which
 * begin with `holdfast.`. Their status is "development", so a change of the conventions is a change here.
 */

/** The followed version of the semantic conventions. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'

export const SCOPE = 'holdfast'

export const ATTRIBUTE = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  agent: 'gen_ai.agent.name',
  workflow: 'gen_ai.workflow.name',
  requestModel: 'gen_ai.request.model',
  stream: 'gen_ai.request.stream',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  tokenType: 'gen_ai.token.type',
  tool: 'gen_ai.tool.name',
  callId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  toolDescription: 'gen_ai.tool.description',
  errorType: 'error.type',
  // content: only with captureContent
  system: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolDefinitions: 'gen_ai.tool.definitions',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  // ours
  turn: 'holdfast.turn',
  outcome: 'holdfast.outcome',
  limit: 'holdfast.limit',
  taskName: 'holdfast.task',
  node: 'holdfast.node',
  effect: 'holdfast.effect',
  iteration: 'holdfast.iteration',
  status: 'holdfast.tool.status',
  costUsd: 'holdfast.usage.cost_usd',
  interrupted: 'holdfast.interrupted',
  requestKind: 'holdfast.request.kind',
  requestId: 'holdfast.request.id',
} as const

/** Settings of a model request, by their name in holdfast. */
export const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  maxOutputTokens: 'gen_ai.request.max_tokens',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
  seed: 'gen_ai.request.seed',
  stopSequences: 'gen_ai.request.stop_sequences',
}

export const EVENT = {
  /** A call was settled without being run here: rejected, not run, of unknown outcome, or found out later. */
  settled: 'holdfast.tool.settled',
  request: 'holdfast.request',
} as const

/** Names of providers in the conventions, by the beginning of their names in the AI SDK; the first that fits counts. */
const PROVIDERS: readonly (readonly [prefix: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['azure', 'azure.ai.openai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['mistral', 'mistral_ai'],
  ['moonshot', 'moonshot_ai'],
  ['xai', 'x_ai'],
]

/** The name without the kind of endpoint: `openai` for `openai.responses`. */
export function providerName(provider: string): string {
  const known = PROVIDERS.find(([prefix]) => provider.startsWith(prefix))
  return known?.[1] ?? provider.split('.', 1)[0] ?? provider
}
