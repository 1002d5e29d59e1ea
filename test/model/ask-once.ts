/** Calls a model once, without a turn around it. */
import { systemTimer } from '../../src/base/index.ts'
import {
  type LanguageModel,
  ModelFailure,
  type ModelReply,
  type ModelRequest,
  streamModel,
} from '../../src/model/index.ts'
import { CountingIds } from '../../src/testing/counting-ids.ts'

export function askOnce(model: LanguageModel, more: Partial<ModelRequest> = {}): Promise<ModelReply> {
  return streamModel({
    model,
    messages: [{ role: 'user', content: 'hello there' }],
    tools: [],
    settings: {},
    signal: new AbortController().signal,
    ids: new CountingIds(),
    timer: systemTimer,
    onDelta: () => {},
    ...more,
  })
}

/** The failure that the reply must end in. */
export async function failing(reply: Promise<ModelReply>): Promise<ModelFailure> {
  const failure: unknown = await reply.catch((error: unknown) => error)
  if (failure instanceof ModelFailure) return failure
  throw new Error('it did not fail with a ModelFailure', { cause: failure })
}
