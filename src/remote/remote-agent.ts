/** A remote agent, called by A2A, as a tool and as a node of a graph. */
import { systemTimer, type Timer } from '../base/index.ts'
import type { NodeContext } from '../graph/index.ts'
import { checkOptions, HoldfastError, type Json, type JsonObject, type OptionSet } from '../protocol/index.ts'
import {
  type Artifacts,
  type Ask,
  type AskRequest,
  ask,
  type Credentials,
  defineTool,
  jsonSchema,
  type Tool,
  type ToolDefinition,
  toolResult,
  type Verdict,
} from '../tool/index.ts'
import { type Connected, checkUrl, connect } from './connect.ts'
import { type Follow, followTask, type RemoteReply, type RemoteTask, sendMessage } from './remote-task.ts'

export interface RemoteAgentOptions
  extends Pick<
    ToolDefinition<ReturnType<typeof jsonSchema>, Json>,
    'name' | 'description' | 'approve' | 'public' | 'timeoutMs'
  > {
  /** The address of the agent, or of its card. */
  readonly url: string
  /** Headers of every request, such as `Authorization`, from the credentials of the turn. */
  readonly headers?: (
    credentials: Credentials,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** For tests. */
  readonly fetch?: typeof fetch
  readonly timer?: Timer
}

const REMOTE: OptionSet<RemoteAgentOptions> = {
  place: 'remoteAgent()',
  options: {
    name: 'a text',
    description: 'a text',
    url: 'a text',
    headers: 'a function',
    approve: null,
    public: 'true or false',
    timeoutMs: { leastMs: 1 },
    fetch: 'a function',
    timer: 'a timer with wait() and after()',
  },
  foreign: { cardUrl: 'url', baseUrl: 'url', token: 'headers: () => ({ authorization })', auth: 'headers' },
}

const INPUT: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'The message to the agent.' } },
  required: ['message'],
  additionalProperties: false,
}

/**
 * A tool that sends a message to a remote agent and returns its reply. A question of the remote agent becomes a question here. A
 * task that is lost ends the call as unknown, unless the agent can still be asked about it.
 *
 * @example
 * remoteAgent({ name: 'travel', description: 'Books trips.', url: 'https://agents.example/travel' })
 */
export function remoteAgent(options: RemoteAgentOptions): Tool<{ readonly message: string }> {
  checkOptions(options, REMOTE)
  const url = checkUrl(options.url)
  const { name, description, approve, public: isPublic, timeoutMs } = options
  return defineTool({
    name,
    description,
    input: jsonSchema<{ readonly message: string }>(INPUT),
    origin: { kind: 'a2a', url },
    ...(approve === undefined ? {} : { approve }),
    ...(isPublic === undefined ? {} : { public: isPublic }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    replay: 'never',
    verify: (_, { idempotencyKey: callKey, artifacts }) => canGoOn({ callKey, artifacts }),
    run: async ({ message }, context) => {
      const { idempotencyKey, answers } = context
      const asked = Object.keys(answers).length
      const messageId = `${idempotencyKey}-${asked + 1}`
      const reply = await exchange(options, { ...context, message, callKey: idempotencyKey, messageId })
      return resultOf(name, reply, asked)
    },
  })
}

export interface RemoteNodeOptions<State, Update>
  extends Omit<RemoteAgentOptions, 'description' | 'approve' | 'public' | 'timeoutMs'> {
  /** The message, from the state. */
  readonly input: (state: State) => string
  /** The update of the state, from the reply. */
  readonly output: (text: string, data: readonly Json[]) => Update
}

/**
 * The same as a node of a graph. A task that fails fails the node.
 *
 * @example
 * graph.addNode('travel', remoteNode({
 *   name: 'travel',
 *   url: 'https://agents.example/travel',
 *   input: ({ wish }) => wish,
 *   output: (text) => ({ trip: text }),
 * }))
 */
export function remoteNode<State, Update>(
  options: RemoteNodeOptions<State, Update>,
): (state: State, context: NodeContext) => Promise<Update> {
  const { input, output, ...remote } = options
  checkOptions({ ...remote, description: 'as a node' }, { ...REMOTE, place: 'remoteNode()' })
  checkUrl(options.url)
  return async (state, context) => {
    const { task: callKey, artifacts } = context
    const answers: Record<string, Json> = {}
    for (;;) {
      const asked = Object.keys(answers).length
      const reply = await context.step(
        `message ${asked + 1}`,
        ({ signal, idempotencyKey: messageId }) =>
          exchange(remote, { ...context, signal, callKey, messageId, answers, message: input(state) }),
        { verify: () => canGoOn({ callKey, artifacts }) },
      )
      const question = questionOf(options.name, reply, asked)
      if (question === undefined) return output(completedText(reply), reply.data)
      answers[question.name ?? ''] = await context.interrupt(question)
    }
  }
}

function completedText({ state, text }: RemoteReply): string {
  if (state === 'completed') return text
  throw new Error(text === '' ? `The remote agent ended the task as ${state}.` : text)
}

/** The fields of a tool's context that an exchange needs. */
interface Exchange {
  readonly message: string
  readonly answers: Readonly<Record<string, Json>>
  /** The same for every run of the call. */
  readonly callKey: string
  /** The same for every try to send this message. */
  readonly messageId: string
  readonly artifacts: Artifacts
  readonly credentials: Credentials
  readonly signal: AbortSignal
  readonly progress: (value: Json) => void
}

/** The options that an exchange needs. */
type Remote = Pick<RemoteAgentOptions, 'url' | 'headers' | 'fetch' | 'timer'>

/** The task as it is kept for later runs of the same call, in an artifact. */
type Kept = RemoteTask & { readonly sent: number }

/** The next message of the call, or the state of its task if all messages were sent. */
async function exchange(options: Remote, context: Exchange): Promise<RemoteReply> {
  const { message, answers, messageId, signal, progress } = context
  const kept = await keptTask(context)
  const replies = Object.entries(answers)
  const texts = [message, ...replies.map(([, value]) => textOf(value))]
  const sent = kept?.sent ?? 0
  const follow: Follow = {
    connect: connector(options, context.credentials),
    timer: options.timer ?? systemTimer,
    signal,
    onTask: (task) => keep(context, { ...task, sent: Math.max(sent, 1) }),
    onProgress: (text) => progress({ text }),
  }
  const cancel = (): void => void cancelKept(follow, context)
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const last = replies.at(-1)?.[1]
    if (kept !== undefined && last === false) {
      await cancelKept(follow, context)
      return { state: 'cancelled', text: 'The person did not sign in.', data: [], ...kept }
    }
    const next = { messageId, text: texts.at(-1) ?? '', ...taskOf(kept) }
    const isConfirmed = last === true
    if (kept !== undefined && (sent >= texts.length || isConfirmed)) {
      await keep(context, { ...kept, sent: texts.length })
      const isAnswer = texts.length > 1 && !isConfirmed
      return await followTask(follow, kept, isAnswer ? { message: next } : confirmed(isConfirmed))
    }
    // Recorded first: a message that may have been sent is looked for in the task before it is sent again.
    if (kept !== undefined) await keep(context, { ...kept, sent: texts.length })
    return await sendMessage(follow, next)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** A task whose person has signed in is about to go on by itself. */
function confirmed(isConfirmed: boolean): { readonly stale?: readonly RemoteReply['state'][] } {
  return isConfirmed ? { stale: ['auth-required'] } : {}
}

function taskOf(kept: Kept | undefined): Partial<RemoteTask> {
  return kept === undefined ? {} : { taskId: kept.taskId, contextId: kept.contextId }
}

/** One connection for all requests of an exchange; one that fails is tried again by the next. */
function connector({ url, headers, fetch: given }: Remote, credentials: Credentials): Follow['connect'] {
  let connected: Connected | undefined
  return async () => {
    connected ??= await connect({
      url,
      headers: (await headers?.(credentials)) ?? {},
      ...(given === undefined ? {} : { fetch: given }),
    })
    return connected
  }
}

async function cancelKept(follow: Follow, context: Exchange): Promise<void> {
  try {
    const kept = await keptTask(context)
    if (kept === undefined) return
    const { client } = await follow.connect()
    await client.cancelTask({ tenant: '', id: kept.taskId, metadata: undefined })
  } catch {
    // The task may have ended, or its agent may be away: the turn is cancelled all the same.
  }
}

function artifactId({ callKey }: Pick<Exchange, 'callKey'>): string {
  return `remote-task-${callKey}`
}

async function keep(context: Exchange, kept: Kept): Promise<void> {
  await context.artifacts.writeData(artifactId(context), { ...kept })
}

async function keptTask(context: Pick<Exchange, 'callKey' | 'artifacts'>): Promise<Kept | undefined> {
  try {
    const { content } = await context.artifacts.read(artifactId(context))
    return content as unknown as Kept
  } catch (error) {
    if (HoldfastError.is(error) && error.code === 'not-found') return undefined
    throw error
  }
}

/** After a crash: a run goes on with a task that is known. Without one, the message may have been sent. */
async function canGoOn(context: Pick<Exchange, 'callKey' | 'artifacts'>): Promise<Verdict<never>> {
  return { happened: (await keptTask(context)) === undefined ? 'unknown' : false }
}

function resultOf(
  name: string,
  { state, text, data }: RemoteReply,
  asked: number,
): Ask | Json | ReturnType<typeof toolResult> {
  const question = questionOf(name, { state, text }, asked)
  if (question !== undefined) return ask(question)
  if (state === 'completed') return data.length === 0 ? text : { text, data: [...data] }
  const error = text === '' ? `The remote agent ended the task as ${state}.` : text
  return toolResult({ error, state }, error, { failed: true })
}

/** A question of the remote agent, for the person here; undefined for a reply that ends the task. */
function questionOf(
  name: string,
  { state, text }: Pick<RemoteReply, 'state' | 'text'>,
  asked: number,
): AskRequest | undefined {
  const key = `reply-${asked + 1}`
  const about = { remoteAgent: name }
  if (state === 'input-required')
    return { kind: 'text', name: key, prompt: text === '' ? `${name} needs an answer.` : text, about }
  if (state === 'auth-required') {
    const prompt = `${name} needs you to sign in${text === '' ? '' : `: ${text}`} Confirm when you have.`
    return { kind: 'confirmation', name: key, prompt, about }
  }
  return undefined
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
