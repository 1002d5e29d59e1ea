/** A remote agent, called by A2A, as a tool and as a node of a graph. */
import { systemTimer, type Timer } from '../base/index.ts'
import type { NodeContext } from '../graph/index.ts'
import {
  checkOptions,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  type OptionSet,
  REMOTE_TASK,
} from '../protocol/index.ts'
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
  type VerifyResult,
} from '../tool/index.ts'
import { checkAllowed } from './allowed-call.ts'
import { type Connected, checkUrl, connect } from './connect.ts'
import type { RemoteFile, RemoteMessage } from './remote-message.ts'
import { type AskedRound, answerContent, askedRound, questionsOf, roundsOf } from './remote-request.ts'
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
  properties: {
    message: { type: 'string', description: 'The message to the agent.' },
    data: { type: 'object', description: 'Values for the agent, beside the message.' },
  },
  required: ['message'],
  additionalProperties: false,
}

export interface RemoteAgentInput {
  readonly message: string
  readonly data?: JsonObject
}

/**
 * A tool that sends a message to a remote agent and returns its reply. A question of the remote agent becomes a question here. A
 * task that is lost ends the call as unknown, unless the agent can still be asked about it.
 *
 * @example
 * remoteAgent({ name: 'travel', description: 'Books trips.', url: 'https://agents.example/travel' })
 */
export function remoteAgent(options: RemoteAgentOptions): Tool<RemoteAgentInput> {
  checkOptions(options, REMOTE)
  const url = checkUrl(options.url)
  const { name, description, approve, public: isPublic, timeoutMs } = options
  return defineTool({
    name,
    description,
    input: jsonSchema<RemoteAgentInput>(INPUT),
    origin: { kind: 'a2a', url },
    ...(approve === undefined ? {} : { approve }),
    ...(isPublic === undefined ? {} : { public: isPublic }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    replay: 'never',
    verify: (_, { idempotencyKey: callKey, artifacts }) => canGoOn({ callKey, artifacts }),
    run: async ({ message: text, data }, context) => {
      const { idempotencyKey, answers } = context
      const round = roundsOf(answers).length + 1
      const messageId = `${idempotencyKey}-${round}`
      const message = { text, ...defined({ data }) }
      const reply = await exchange(options, { ...context, message, callKey: idempotencyKey, messageId })
      return resultOf(reply, questionsOf(name, reply, round))
    },
  })
}

export interface RemoteNodeOptions<State, Update>
  extends Omit<RemoteAgentOptions, 'description' | 'approve' | 'timeoutMs'> {
  /** The message, from the state: a text, or text, data and files. */
  readonly input: (state: State) => string | RemoteMessage
  /** The update of the state, from the reply: its text, data and files. */
  readonly output: (text: string, data: readonly Json[], files: readonly ReceivedFile[]) => Update
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
    const given = input(state)
    const message = typeof given === 'string' ? { text: given } : given
    await checkAllowed(options, context, message)
    const answers: Record<string, Json> = {}
    for (let round = 1; ; round++) {
      const reply = await context.step(
        `message ${round}`,
        ({ signal, idempotencyKey: messageId }) =>
          exchange(remote, { ...context, signal, callKey, messageId, answers, message }),
        { verify: () => canGoOn({ callKey, artifacts }) },
      )
      const questions = questionsOf(options.name, reply, round)
      if (questions.length === 0) return output(completedText(reply), reply.data, reply.files)
      // All are asked before the first answer is awaited.
      const values = await Promise.all(questions.map((question) => context.interrupt(question)))
      for (const [at, { name = '' }] of questions.entries()) answers[name] = values[at] as Json
    }
  }
}

function completedText({ state, text }: KeptReply): string {
  if (state === 'completed') return text
  throw new Error(text === '' ? `The remote agent ended the task as ${state}.` : text)
}

/** The fields of a tool's context that an exchange needs. */
interface Exchange {
  readonly message: RemoteMessage
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
type Kept = RemoteTask & {
  /** Messages that were sent, or perhaps sent. */
  readonly sent: number
  readonly asked?: AskedRound
}

/** The next message of the call, or the state of its task if all messages were sent. */
async function exchange(options: Remote, context: Exchange): Promise<KeptReply> {
  const { signal, progress } = context
  const kept = await keptTask(context)
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
    const reply = await nextReply(follow, context, kept)
    const { taskId, contextId } = reply
    if (isWaiting(reply) && taskId !== undefined && contextId !== undefined) {
      const messages = roundsOf(context.answers).length + 1
      await keep(context, { taskId, contextId, sent: messages, asked: askedRound(reply) })
    }
    return { ...reply, files: await keepFiles(reply.files, context) }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** A file of a reply: at an address, or kept as an artifact of the conversation. */
export type ReceivedFile = {
  readonly name?: string
  readonly mediaType?: string
  readonly url?: string
  readonly artifact?: string
}

type KeptReply = Omit<RemoteReply, 'files'> & { readonly files: readonly ReceivedFile[] }

/** A run that is repeated writes the same artifacts again. */
async function keepFiles(
  files: readonly RemoteFile[],
  { artifacts, callKey }: Exchange,
): Promise<readonly ReceivedFile[]> {
  const kept: ReceivedFile[] = []
  for (const { content, ...file } of files) {
    const artifact = `remote-file-${callKey}-${kept.length + 1}`
    const { name, mediaType } = file
    if (content !== undefined) await artifacts.writeFile(artifact, content, defined({ name, mediaType }))
    kept.push({ ...file, ...(content === undefined ? {} : { artifact }) })
  }
  return kept
}

async function nextReply(follow: Follow, context: Exchange, kept: Kept | undefined): Promise<RemoteReply> {
  const rounds = roundsOf(context.answers)
  const [messages, last] = [rounds.length + 1, rounds.at(-1)]
  const { messageId, message } = context
  if (kept === undefined) return sendMessage(follow, { messageId, content: message })
  const content = last === undefined ? undefined : answerContent(last, kept.asked ?? askedBefore(last))
  if (content === 'declined') {
    await cancelKept(follow, context)
    return { ...taskOf(kept), state: 'cancelled', text: 'The person did not sign in.', data: [], files: [] }
  }
  // Recorded first: a message that may have been sent is looked for in the task before it is sent again.
  if (kept.sent < messages) await keep(context, { ...kept, sent: messages })
  if (content === undefined) return followTask(follow, kept)
  // A task whose person has signed in is about to go on by itself.
  if (content === 'signed-in') return followTask(follow, kept, { stale: ['auth-required'] })
  const next = { messageId, content, ...taskOf(kept) }
  return kept.sent >= messages ? followTask(follow, kept, { message: next }) : sendMessage(follow, next)
}

/** The round of a call that began before rounds were kept: true and false answered a request to sign in. */
function askedBefore([value]: readonly Json[]): AskedRound {
  return { state: typeof value === 'boolean' ? 'auth-required' : 'input-required', requestIds: [] }
}

function isWaiting({ state }: RemoteReply): boolean {
  return state === 'input-required' || state === 'auth-required'
}

function taskOf({ taskId, contextId }: Kept): RemoteTask {
  return { taskId, contextId }
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
  return `${REMOTE_TASK}${callKey}`
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
async function canGoOn(context: Pick<Exchange, 'callKey' | 'artifacts'>): Promise<VerifyResult<never>> {
  return { happened: (await keptTask(context)) === undefined ? 'unknown' : false }
}

function resultOf(
  { state, text, data, files }: KeptReply,
  questions: readonly AskRequest[],
): Ask | Json | ReturnType<typeof toolResult> {
  if (questions.length > 0) return ask(questions)
  if (state === 'completed') {
    if (data.length === 0 && files.length === 0) return text
    const more = {
      data: data.length === 0 ? undefined : [...data],
      files: files.length === 0 ? undefined : [...files],
    }
    return { text, ...defined(more) }
  }
  const error = text === '' ? `The remote agent ended the task as ${state}.` : text
  return toolResult({ error, state }, error, { failed: true })
}
