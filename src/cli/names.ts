/**
 * Names of conversations. In the store a name is `agent:id`, so that two agents may use the same id. People type the id
 * alone where that is unambiguous.
 */
import { randomUUID } from 'node:crypto'
import { type ContextKey, contextKey, LOCAL_OWNER, type Owner, type Store } from 'holdfast'
import { GRANTS_CONTEXT, STATE_CONTEXT } from 'holdfast/operate'
import type { Head } from 'holdfast/store'
import { type ParsedArguments, shellWord } from './arguments.ts'
import { EXIT } from './exit-code.ts'
import { Refusal, wrongUsage } from './refusal.ts'

/** The names of commands that have conversations of their own. No agent has one of them. */
export const COMMAND_NAMES: readonly string[] = ['task', 'research']

export interface NamedContext {
  readonly agent: string
  readonly id: string
}

/** The conversations that a command reads. */
export interface ContextScope {
  /** The names before their ids. */
  readonly agents: readonly string[]
  /** Default: the local owner, whose conversations the terminal makes. */
  readonly owner?: Owner
}

/** The owner of `--tenant` and `--actor`: undefined without them. */
export function ownerFrom(args: Pick<ParsedArguments, 'value'>): Owner | undefined {
  const [tenant, actor] = [args.value('tenant'), args.value('actor')]
  if (tenant === undefined && actor === undefined) return undefined
  if (tenant !== undefined && actor !== undefined) return { tenant, actor }
  throw wrongUsage('Give both, --tenant and --actor: they name the owner of conversations.')
}

/** The options that name an owner. */
export function ownerOptions({ tenant, actor }: Owner): string {
  return `--tenant ${shellWord(tenant)} --actor ${shellWord(actor)}`
}

/** A conversation for people: with its owner, unless that is the local one. */
export function contextText({ tenant, actor, contextId }: ContextKey): string {
  const isLocal = tenant === LOCAL_OWNER.tenant && actor === LOCAL_OWNER.actor
  return isLocal ? contextId : `${contextId} of ${tenant}/${actor}`
}

/** The key in the store. Throws if the id has characters that a name may not have. */
export function keyOf({ agent, id }: NamedContext, owner: Owner = LOCAL_OWNER): ContextKey {
  if (id.includes('/'))
    throw wrongUsage(`The context id ${JSON.stringify(id)} has a "/", which only sub-agents have.`)
  return contextKey({ ...owner, contextId: `${agent}:${id}` })
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
  const keys = keysWith(id, { agents })
  const heads = await Promise.all([...keys.values()].map((key) => store.head(key)))
  const [agent, ...others] = [...keys.keys()].filter(
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
  typed: string,
  { agents, owner = LOCAL_OWNER }: ContextScope,
): Promise<Head> {
  const name = typed.normalize('NFC')
  const full = contextKey({ ...owner, contextId: name })
  const keys = [full, ...(name.includes('/') ? [] : keysWith(name, { agents, owner }).values())]
  const heads = store === undefined ? [] : await Promise.all(keys.map((key) => store.head(key)))
  const known = heads.filter((head) => head !== undefined && head.status !== 'erased') as Head[]
  const found = known.length === 0 && store !== undefined ? await withId(store, name, owner) : known
  const [head, ...others] = found
  if (head === undefined) throw notFound(name, owner)
  if (others.length === 0 || head.key.contextId === name) return head
  const names = found.map(({ key }) => key.contextId)
  throw wrongUsage(`${JSON.stringify(name)} matches ${names.join(' or ')}. Give the full name.`)
}

/** The keys of the conversations with this id, by agent; without those that would be too long for a store. */
function keysWith(id: string, { agents, owner }: ContextScope): ReadonlyMap<string, ContextKey> {
  const keys = new Map<string, ContextKey>()
  for (const agent of agents)
    try {
      keys.set(agent, keyOf({ agent, id }, owner))
    } catch {
      // No conversation has this name.
    }
  return keys
}

function notFound(name: string, owner: Owner): Refusal {
  const who = owner === LOCAL_OWNER ? 'You have' : `${owner.tenant}/${owner.actor} has`
  if (name === STATE_CONTEXT)
    return new Refusal(`${who} selected nothing for all conversations yet.`, {
      exitCode: EXIT.failed,
      code: 'not-found',
    })
  const what = `conversation ${JSON.stringify(name)}.`
  const message =
    owner === LOCAL_OWNER
      ? `There is no ${what} Run holdfast sessions to list them.`
      : `${owner.tenant}/${owner.actor} has no ${what} Run holdfast sessions ${ownerOptions(owner)} to list them.`
  return new Refusal(message, { exitCode: EXIT.failed, code: 'not-found' })
}

/** The conversations of any program whose names end with this id. */
async function withId(store: Store, id: string, owner: Owner): Promise<Head[]> {
  const heads = await listContexts(store, { owner })
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

/** All conversations of an owner, most recently active first. */
export async function listContexts(
  store: Store,
  { prefix, owner = LOCAL_OWNER }: { readonly prefix?: string; readonly owner?: Owner } = {},
): Promise<Head[]> {
  const heads: Head[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({
      owner,
      ...(prefix === undefined ? {} : { prefix }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    heads.push(...page.heads.filter(({ key }) => !OWN_JOURNALS.includes(key.contextId)))
    cursor = page.next
    if (cursor === undefined) return heads
  }
}

const SCANNED_PAGE = 1000
const MOST_SCANNED = 5000

/** Other owners with conversations, by name: among the first few thousand of the store, so that a large one costs no more. */
export async function otherOwners(store: Store): Promise<readonly Owner[]> {
  const found = new Map<string, Owner>()
  let after: ContextKey | undefined
  for (let scanned = 0; scanned < MOST_SCANNED; scanned += SCANNED_PAGE) {
    const page = await store.scan({ limit: SCANNED_PAGE, ...(after === undefined ? {} : { after }) })
    for (const { key, status } of page) {
      const { tenant, actor, contextId } = key
      if (status !== 'erased' && !OWN_JOURNALS.includes(contextId))
        found.set(`${tenant}/${actor}`, { tenant, actor })
    }
    after = page.at(-1)?.key
    if (page.length < SCANNED_PAGE) break
  }
  found.delete(`${LOCAL_OWNER.tenant}/${LOCAL_OWNER.actor}`)
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, owner]) => owner)
}
