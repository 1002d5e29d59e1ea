/** Ids of replies name their turn, so that any process finds it. They are no secret: a conversation is the caller's own. */
export interface ReplyId {
  readonly contextId: string
  readonly turn: number
}

export function encodeId(prefix: 'chatcmpl-' | 'resp_', { contextId, turn }: ReplyId): string {
  return prefix + Buffer.from(`${turn}.${contextId}`).toString('base64url')
}

/** Undefined for an id that none of us has made. */
export function decodeId(id: string): ReplyId | undefined {
  const [, token = ''] = /^(?:resp_|chatcmpl-)([\w-]+)$/.exec(id) ?? []
  const [, turn, contextId] = /^([1-9]\d{0,8})\.(.+)$/s.exec(Buffer.from(token, 'base64url').toString()) ?? []
  return contextId === undefined ? undefined : { turn: Number(turn), contextId }
}
