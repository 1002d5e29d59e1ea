/** Finds the tool behind a request in the journals; the text of the request is no source for it. */
import type { ContextKey, Json, RequestData, Store } from 'holdfast'
import { loadSession } from 'holdfast/journal'

export interface RequestSource {
  /** The tools that lead to it, the outermost first: a sub-agent is a tool of its parent. */
  readonly tools: readonly string[]
  /** Of an approval: the call that waits for it. */
  readonly approves?: { readonly tool: string; readonly args: Json }
  /** The origin of that call's tool, such as `mcp:files`. */
  readonly origin?: string
}

type SourcedRequest = Pick<RequestData, 'from' | 'callId' | 'name'>

export async function requestSource(
  store: Store,
  key: ContextKey,
  { from, callId, name }: SourcedRequest,
): Promise<RequestSource> {
  const call = (await waitingIn(store, key)).calls.find((each) => each.callId === callId)
  if (call === undefined) return belowNode(store, key, { callId, name })
  if (from === 'approval') return { tools: [], approves: { tool: call.tool, args: call.args } }
  const below = { ...key, contextId: `${key.contextId}/${callId}` }
  const asked = (await waitingIn(store, below)).requests.find(({ requestId }) => requestId === name)
  if (asked === undefined) return { tools: [call.tool] }
  const inner = await requestSource(store, below, asked)
  return { ...inner, tools: [call.tool, ...inner.tools] }
}

/** Of a graph: the request comes from the conversation of a node, its own or the one that all its rounds share. */
async function belowNode(
  store: Store,
  key: ContextKey,
  { callId = '', name }: { readonly callId: string | undefined; readonly name: string | undefined },
): Promise<RequestSource> {
  const [, node] = /^(.+)\.\d+$/.exec(callId) ?? []
  if (node === undefined) return { tools: [] }
  for (const child of [callId, `${node}~1`]) {
    const below = { ...key, contextId: `${key.contextId}/${child}` }
    const asked = (await waitingIn(store, below)).requests.find(({ requestId }) => requestId === name)
    if (asked !== undefined) return requestSource(store, below, asked)
  }
  return { tools: [] }
}

type Waiting = Pick<NonNullable<Awaited<ReturnType<typeof loadSession>>['parked']>, 'calls' | 'requests'>

async function waitingIn(store: Store, key: ContextKey): Promise<Waiting> {
  if ((await store.head(key)) === undefined) return { calls: [], requests: [] }
  const { open, parked } = await loadSession(store, key)
  return open ?? parked ?? { calls: [], requests: [] }
}
