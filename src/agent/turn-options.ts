/** The options of one turn, checked; limits and messages are copied, because the fold shares them. */
import type { Auth } from '../drive/index.ts'
import { type Continuation, type Limits } from '../loop/index.ts'
import {
  checkOptions,
  defined,
  invalidOption,
  type JsonObject,
  type OptionRules,
  type UserContent,
} from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import { checkLimits, FOREIGN_LIMITS, type MessageInput, OUTPUT, parseMessage } from '../turn/index.ts'
import { WHILE_BUSY, type WhileBusy } from './config.ts'

export interface TurnOptions {
  /** Who asks; the owner of the agent, `owner` of its config, unless said otherwise. */
  readonly auth?: Auth
  /** With `credentials`, the short form of `auth: { actor, credentials }`; not together with `auth`. */
  readonly actorId?: string
  readonly credentials?: Credentials
  /** Aborting it cancels the turn. */
  readonly signal?: AbortSignal
  readonly limits?: Limits
  /** Stored with the turn, and seen by tools. */
  readonly metadata?: JsonObject
  readonly whileBusy?: WhileBusy
  /** The sender's own key for the message: sending the same twice is sending it once. */
  readonly key?: string
  /** Steps it by hand, with `turn.step()`: it stands still before every effect. */
  readonly manual?: boolean
}

/** Something to say, and how. */
export interface Said {
  readonly message: UserContent
  readonly asked: Continuation
  readonly key: string
  readonly whileBusy: WhileBusy
}

/** Limits of one turn, as they are stored with it. */
export function storedLimits(limits: unknown): JsonObject {
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
  metadata: null,
  whileBusy: WHILE_BUSY,
  key: 'a text',
  manual: 'true or false',
}

const { whileBusy: _, key: __, ...ANSWER_OPTIONS } = OPTIONS

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
    ['threadId', 'thread_id', 'configurable', 'sessionId', 'conversationId'].map((name) => [
      name,
      'contextId into the config of the agent',
    ]),
  ),
  outputType: OUTPUT,
  responseFormat: OUTPUT,
  ...Object.fromEntries(
    ['contextId', 'model', 'settings', 'tools', 'systemPrompt', 'instructions', 'on', 'store'].map((name) => [
      name,
      IN_CONFIG,
    ]),
  ),
}

/** The options of one turn, with the short form of `auth` written out. */
export function turnOptions(place: 'executeTurn()' | 'answer()', given: TurnOptions): TurnOptions {
  const options = place === 'answer()' ? ANSWER_OPTIONS : OPTIONS
  checkOptions(given, { place, options: options as OptionRules<TurnOptions>, foreign: FOREIGN })
  const { actorId, credentials, ...rest } = given
  const isShort = 'actorId' in given || credentials !== undefined
  if (!isShort) return rest
  if (rest.auth !== undefined)
    throw invalidOption('auth', 'already says who asks; put actor and credentials into it')
  const auth = {
    ...('actorId' in given ? { actor: actorId } : {}),
    ...defined({ credentials }),
  }
  return { ...rest, auth: auth }
}
