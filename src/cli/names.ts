/**
 * Names of conversations. In the store a name is `agent:id`, so that two agents may use the same id. People type the id
 * alone where that is unambiguous.
 */
import { randomUUID } from 'node:crypto'
import { type ContextKey, contextKey, LOCAL_OWNER, type Store } from 'holdfast'
import { GRANTS_CONTEXT, STATE_CONTEXT } from 'holdfast/operate'
import type { Head } from 'holdfast/store'
import { EXIT } from './exit-code.ts'
import { Refusal, wrongUsage } from './refusal.ts'

export interface NamedContext {
  readonly agent: string
  readonly id: string
}

/** The key in the store. Throws if the id has characters that a name may not have. */
export function keyOf({ agent, id }: NamedContext): ContextKey {
  if (id.includes('/'))
    throw wrongUsage(`The context id ${JSON.stringify(id)} has a "/", which only sub-agents have.`)
  return contextKey({ ...LOCAL_OWNER, contextId: `${agent}:${id}` })
}

/** The id of `--context`, which may be the full name. Throws if it is no valid id. */
export function idFrom(name: string | undefined, agent: string): string | undefined {
  if (name === undefined) return undefined
  const id = name.startsWith(`${agent}:`) ? name.slice(agent.length + 1) : name
  keyOf({ agent, id })
  return id
}

/** The conversation with this id, of any agent; undefined if none has one. Throws if several have. */
export async function agentWith(
  store: Store | undefined,
  id: string,
  agents: readonly string[],
): Promise<NamedContext | undefined> {
  if (store === undefined) return undefined
  const heads = await Promise.all(agents.map((agent) => store.head(keyOf({ agent, id }))))
  const [agent, ...others] = agents.filter(
    (_, at) => heads[at] !== undefined && heads[at].status !== 'erased',
  )
  if (others.length > 0) {
    const names = [agent, ...others].map((each) => `${each}:${id}`).join(' or ')
    throw wrongUsage(`${JSON.stringify(id)} matches ${names}. Give the full name.`)
  }
  return agent === undefined ? undefined : { agent, id }
}

/** The agent and the id, if the agent is known. */
export function namedContext(contextId: string, agents: readonly string[]): NamedContext | undefined {
  const colon = contextId.indexOf(':')
  const agent = contextId.slice(0, Math.max(0, colon))
  return agents.includes(agent) ? { agent, id: contextId.slice(colon + 1) } : undefined
}

/** The conversation by its full name, or by its id: with one of the agents, else with any other name. */
export async function findContext(
  store: Store | undefined,
  name: string,
  agents: readonly string[],
): Promise<Head> {
  const full = contextKey({ ...LOCAL_OWNER, contextId: name })
  const keys = [full, ...(name.includes('/') ? [] : agents.map((agent) => keyOf({ agent, id: name })))]
  const heads = store === undefined ? [] : await Promise.all(keys.map((key) => store.head(key)))
  const known = heads.filter((head) => head !== undefined && head.status !== 'erased') as Head[]
  const found = known.length === 0 && store !== undefined ? await withId(store, name) : known
  const [head, ...others] = found
  if (head === undefined)
    throw new Refusal(
      `There is no conversation ${JSON.stringify(name)}. Run holdfast sessions to list them.`,
      {
        exitCode: EXIT.failed,
        code: 'not-found',
      },
    )
  if (others.length === 0 || head.key.contextId === name) return head
  const names = found.map(({ key }) => key.contextId)
  throw wrongUsage(`${JSON.stringify(name)} matches ${names.join(' or ')}. Give the full name.`)
}

/** The conversations of any program whose names end with this id. */
async function withId(store: Store, id: string): Promise<Head[]> {
  const heads = await listContexts(store)
  return heads
    .filter(({ key, status }) => key.contextId.endsWith(`:${id}`) && status !== 'erased')
    .toSorted((a, b) => (a.key.contextId < b.key.contextId ? -1 : 1))
}

/** Unique, and sorted by time. */
export function timedId(kind: string): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  return `${kind}-${time}-${randomUUID().slice(0, 4)}`
}

/** An unused id: the day, and a number if there are several. */
export async function freshId(store: Store, agent: string, now: Date): Promise<string> {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
  for (let count = 1; ; count++) {
    const id = count === 1 ? day : `${day}-${count}`
    if ((await store.head(keyOf({ agent, id }))) === undefined) return id
  }
}

/** Journals of a person that are no conversations. */
const OWN_JOURNALS: readonly string[] = [STATE_CONTEXT, GRANTS_CONTEXT]

/** All conversations of this owner, most recently active first. */
export async function listContexts(store: Store, prefix?: string): Promise<Head[]> {
  const heads: Head[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({
      owner: LOCAL_OWNER,
      ...(prefix === undefined ? {} : { prefix }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    heads.push(...page.heads.filter(({ key }) => !OWN_JOURNALS.includes(key.contextId)))
    cursor = page.next
    if (cursor === undefined) return heads
  }
}
