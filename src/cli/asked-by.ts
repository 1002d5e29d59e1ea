/** Whose question a request is, as the journals have it: nothing of it is taken from what the asker says about itself. */
import { type ContextKey, type Json, loadSession, type RequestData, type Store } from 'holdfast'

export interface AskedBy {
  /** The tools that lead to it, the outermost first: a sub-agent is a tool of the one above. */
  readonly tools: readonly string[]
  /** The call that waits for approval, if that is what is asked. */
  readonly approves?: { readonly tool: string; readonly args: Json }
}

type Asked = Pick<RequestData, 'from' | 'callId' | 'name'>

export async function askedBy(
  store: Store,
  key: ContextKey,
  { from, callId, name }: Asked,
): Promise<AskedBy> {
  const call = (await waitingIn(store, key)).calls.find((each) => each.callId === callId)
  if (call === undefined) return { tools: [] }
  if (from === 'approval') return { tools: [], approves: { tool: call.tool, args: call.args } }
  const below = { ...key, contextId: `${key.contextId}/${callId}` }
  const asked = (await waitingIn(store, below)).requests.find(({ requestId }) => requestId === name)
  if (asked === undefined) return { tools: [call.tool] }
  const inner = await askedBy(store, below, asked)
  return { ...inner, tools: [call.tool, ...inner.tools] }
}

type Waiting = Pick<NonNullable<Awaited<ReturnType<typeof loadSession>>['parked']>, 'calls' | 'requests'>

async function waitingIn(store: Store, key: ContextKey): Promise<Waiting> {
  if ((await store.head(key)) === undefined) return { calls: [], requests: [] }
  const { open, parked } = await loadSession(store, key)
  return open ?? parked ?? { calls: [], requests: [] }
}
