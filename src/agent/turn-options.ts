/** The options of one turn, checked; limits and messages are copied, because the fold shares them. */
import type { Auth } from '../drive/index.ts'
import { type Continuation, type Limits } from '../loop/index.ts'
import {
  checkOptions,
  defined,
  type HoldfastError,
  invalidOption,
  type JsonObject,
  KEY_FORM,
  type OptionRules,
  type UserContent,
} from '../protocol/index.ts'
import type { Credentials, StandardSchema } from '../tool/index.ts'
import {
  checkLimits,
  FOREIGN_LIMITS,
  FOREIGN_OUTPUT,
  type MessageInput,
  parseMessage,
} from '../turn/index.ts'
import { WHILE_BUSY, type WhileBusy } from './config.ts'

export interface TurnOptions<Output = unknown> {
  /** The caller's identity. Default: the agent's `owner`. */
  readonly auth?: Auth
  /** With `credentials`, the short form of `auth: { actor, credentials }`; not together with `auth`. */
  readonly actorId?: string
  readonly credentials?: Credentials
  /** Aborting it cancels the turn. */
  readonly signal?: AbortSignal
  readonly limits?: Limits
  /** The schema of this turn's last reply, instead of the agent's: the outcome has `output`. */
  readonly output?: StandardSchema<unknown, Output>
  /** Stored with the turn, visible to tools. */
  readonly metadata?: JsonObject
  readonly whileBusy?: WhileBusy
  /** The sender's idempotency key: a message sent twice under one key is posted once. */
  readonly key?: string
  /** Advances the turn by hand with `turn.step()`: it stops before every effect. */
  readonly manual?: boolean
}

export type AnswerOptions<Output = unknown> = Omit<TurnOptions<Output>, 'whileBusy'>

/** Marks the options of a turn that begins without a message of its own, after messages of its `NodeTurn`. */
export const UNPROMPTED: unique symbol = Symbol('holdfast.unprompted')

/** A message to post, with its sender and delivery options. */
export interface NewInput {
  readonly message: UserContent
  readonly sender: Continuation
  readonly key: string
  readonly whileBusy: WhileBusy
}

/** The limits of one turn in their stored form. */
export function limitsToStore(limits: unknown): JsonObject {
  return { ...checkLimits(limits) }
}

export function parseInput(message: MessageInput): UserContent {
  return parseMessage(message, 'Nothing was stored.')
}

const OPTIONS: OptionRules<TurnOptions> = {
  auth: null,
  actorId: null,
  credentials: null,
  signal: 'an AbortSignal',
  limits: null,
  output: null,
  metadata: null,
  whileBusy: WHILE_BUSY,
  key: KEY_FORM,
  manual: 'true or false',
}

const { whileBusy: _, ...ANSWER_OPTIONS } = OPTIONS

const WHO = 'auth: { actor, credentials }'
const IN_CONFIG = 'it into the config of the agent'

const FOREIGN = {
  ...FOREIGN_LIMITS,
  abortSignal: 'signal',
  authContext: WHO,
  actor: WHO,
  userId: WHO,
  user: WHO,
  principal: WHO,
  tenant: 'auth: { tenant, actor }',
  scopes: 'auth: { scopes }',
  idempotencyKey: 'key',
  context: 'metadata',
  prompt: 'the message as the first argument',
  messages: 'the message as the first argument',
  ...Object.fromEntries(
    ['threadId', 'thread_id', 'configurable', 'session', 'sessionId', 'conversationId'].map((name) => [
      name,
      'contextId into the config of the agent',
    ]),
  ),
  ...FOREIGN_OUTPUT,
  outputRetries: IN_CONFIG,
  ...Object.fromEntries(
    ['contextId', 'model', 'settings', 'tools', 'systemPrompt', 'instructions', 'on', 'store'].map((name) => [
      name,
      IN_CONFIG,
    ]),
  ),
}

/** Checks the options and expands the short form of `auth`. */
export function turnOptions(place: 'executeTurn()' | 'answer()', raw: TurnOptions): TurnOptions {
  const options = place === 'answer()' ? ANSWER_OPTIONS : OPTIONS
  checkOptions(raw, { place, options: options as OptionRules<TurnOptions>, foreign: FOREIGN })
  const { actorId, credentials, ...rest } = raw
  const isShort = 'actorId' in raw || credentials !== undefined
  if (!isShort) return rest
  if (rest.auth !== undefined)
    throw invalidOption('auth', 'is set already: put actor and credentials into it')
  const auth = {
    ...('actorId' in raw ? { actor: actorId } : {}),
    ...defined({ credentials }),
  }
  return { ...rest, auth: auth }
}

/** The running turn has an output of its own, or none. */
export function steersOutput(): HoldfastError {
  return invalidOption(
    'output',
    "cannot be set for a message that steers the running turn; use whileBusy: 'queue'",
  )
}
