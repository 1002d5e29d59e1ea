/** A push notification config as a document of its conversation: where to send, how far, and what was given up. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../protocol/index.ts'

export type PushRecord = JsonObject & {
  /** The position of the task's message. */
  readonly task: number
  readonly id: string
  readonly url: string
  /** The version of the protocol that the receiver understands. */
  readonly version: string
  /** Token and credentials, encrypted. */
  readonly sealed?: string
  /** Changes up to this position are delivered or given up. */
  readonly at: number
  /** Changes of the next entry that are delivered or given up, too. Default: 0. */
  readonly done?: number
  /** Attempts of the next notification that have failed. */
  readonly attempts?: number
  /** A process delivers until then, or the next attempt is not before. */
  readonly notBefore?: number
  /** No more is delivered: the task has ended, or the config was deleted. */
  readonly closed?: 'ended' | 'deleted'
  /** The newest notifications that were given up. */
  readonly failures?: readonly PushGivenUp[]
}

export type PushGivenUp = {
  readonly at: number
  readonly attempts: number
  readonly reason: string
}

const PREFIX = 'push.'

/** The documents of all configs, or of one task, begin with it. */
export function pushPrefix(task?: number): string {
  return task === undefined ? PREFIX : `${PREFIX}${task}.`
}

/** Ids of configs are any text; names of documents are not. */
export function pushName(task: number, id: string): string {
  return `${pushPrefix(task)}${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}
