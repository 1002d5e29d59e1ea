/**
 * What a conversation is called. In the store it is `agent:id`, so that the journal tells whose it is and two agents may
 * use the same id. People say the id alone where that is clear.
 */
import { type ContextKey, contextKey, type Head, LOCAL_OWNER, STATE_CONTEXT, type Store } from 'holdfast'
import { EXIT } from './exit-code.ts'
import { Refusal, wrongUsage } from './refusal.ts'

export interface NamedContext {
  readonly agent: string
  readonly id: string
}

/** The key under which it is kept. Throws if the id has characters that a name may not have. */
export function keyOf({ agent, id }: NamedContext): ContextKey {
  if (id.includes('/'))
    throw wrongUsage(`The context id ${JSON.stringify(id)} has a "/", which only sub-agents have.`)
  return contextKey({ ...LOCAL_OWNER, contextId: `${agent}:${id}` })
}

/** The id that `--context` means, which may be the full name. Throws if it cannot be one. */
export function idFrom(said: string | undefined, agent: string): string | undefined {
  if (said === undefined) return undefined
  const id = said.startsWith(`${agent}:`) ? said.slice(agent.length + 1) : said
  keyOf({ agent, id })
  return id
}

/** The conversation with this id, of whichever agent has one; undefined if none has. Throws if several have. */
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
    throw wrongUsage(`${JSON.stringify(id)} may be ${names}. Say which.`)
  }
  return agent === undefined ? undefined : { agent, id }
}

/** Whose it is, if it is that of an agent that we know. */
export function namedContext(contextId: string, agents: readonly string[]): NamedContext | undefined {
  const colon = contextId.indexOf(':')
  const agent = contextId.slice(0, Math.max(0, colon))
  return agents.includes(agent) ? { agent, id: contextId.slice(colon + 1) } : undefined
}

/** The conversation that somebody means: by its full name, or by its id with one of the agents. */
export async function findContext(
  store: Store | undefined,
  said: string,
  agents: readonly string[],
): Promise<Head> {
  const full = contextKey({ ...LOCAL_OWNER, contextId: said })
  const keys = [full, ...(said.includes('/') ? [] : agents.map((agent) => keyOf({ agent, id: said })))]
  const heads = store === undefined ? [] : await Promise.all(keys.map((key) => store.head(key)))
  const found = heads.filter((head) => head !== undefined && head.status !== 'erased') as Head[]
  const [head, ...others] = found
  if (head === undefined)
    throw new Refusal(`There is no conversation ${JSON.stringify(said)}. holdfast sessions lists them.`, {
      exitCode: EXIT.failed,
      code: 'not-found',
    })
  if (others.length === 0 || head.key.contextId === said) return head
  const names = found.map(({ key }) => key.contextId)
  throw wrongUsage(`${JSON.stringify(said)} may be ${names.join(' or ')}. Say which.`)
}

/** An id that is not taken: the day, and a number if there are several. */
export async function freshId(store: Store, agent: string, now: Date): Promise<string> {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
  for (let count = 1; ; count++) {
    const id = count === 1 ? day : `${day}-${count}`
    if ((await store.head(keyOf({ agent, id }))) === undefined) return id
  }
}

/** All conversations of this owner, most recently active first. What the person has chosen is kept in a journal that is none. */
export async function listContexts(store: Store, prefix?: string): Promise<Head[]> {
  const heads: Head[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({
      owner: LOCAL_OWNER,
      ...(prefix === undefined ? {} : { prefix }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    heads.push(...page.heads.filter(({ key }) => key.contextId !== STATE_CONTEXT))
    cursor = page.next
    if (cursor === undefined) return heads
  }
}
