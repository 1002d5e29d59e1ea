/** The example agent of the building firm on the embedded model, with a database and a clock of its own. */
import { afterEach } from 'vitest'
import { openSite, type SiteDatabase } from '../../examples/site-manager/database.ts'
import { entities as siteEntities, siteTools } from '../../examples/site-manager/site.ts'
import type { Entity } from '../../src/entry/grounding.ts'
import type { AgentConfig, TurnOptions } from '../../src/index.ts'
import { Agent, memoryStore } from '../../src/index.ts'
import { type EntryData, LOCAL_OWNER, type Owner, type RequestData } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

export const HOUR = 3_600_000

export const CHAMPIGNY = 'prj-7k2d'
export const BUREAU = 'prj-b3m9'
export const LEVALLOIS = 'prj-x8c4'

const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** One turn: what was called with what, what was said at the end, and what is asked for. */
export interface Told {
  /** Calls that were run, as `tool id …`. */
  readonly ran: readonly string[]
  /** Calls that were refused, by the reason. */
  readonly refused: readonly string[]
  readonly text: string
  readonly requests: readonly RequestData[]
}

export class Site {
  readonly clock: ManualClock = new ManualClock(Date.UTC(2026, 0, 14, 8))
  readonly store: Store = memoryStore({ clock: this.clock })
  readonly db: SiteDatabase = openSite(':memory:')

  /** `actor`, as the example has it: the person's choices hold in all conversations. */
  readonly scope: Entity['scope']

  constructor(scope: Entity['scope'] = 'actor') {
    this.scope = scope
    closing.push(() => this.db.close())
  }

  talk(config: Partial<AgentConfig> = {}): Talk {
    const { contextId = 'talk', owner = LOCAL_OWNER } = config
    const agent = new Agent({
      contextId,
      store: this.store,
      clock: this.clock,
      model: 'reflex',
      tools: siteTools(this.db),
      entities: scoped(siteEntities, this.scope),
      ...config,
    })
    return new Talk(agent, { store: this.store, owner, contextId })
  }
}

/** The same entities, with selections of another scope. */
function scoped(entities: readonly Entity[], scope: Entity['scope']): readonly Entity[] {
  const made = new Map<string, Entity>()
  for (const { parent, ...one } of entities) {
    const above = parent === undefined ? undefined : made.get(parent.name)
    made.set(one.name, { ...one, ...(above === undefined ? {} : { parent: above }), scope })
  }
  return [...made.values()]
}

interface Place {
  readonly store: Store
  readonly owner: Owner
  readonly contextId: string
}

export class Talk {
  readonly agent: Agent
  readonly #place: Place

  constructor(agent: Agent, place: Place) {
    this.agent = agent
    this.#place = place
  }

  async say(text: string, options: TurnOptions = {}): Promise<Told> {
    return this.#told(() => this.agent.executeTurn(text, options).outcome)
  }

  /** Answers the first question of a turn. */
  async answer({ requests: [request] }: Told, value: string): Promise<Told> {
    return this.#told(() => this.agent.answer({ [request?.requestId ?? '']: value }).outcome)
  }

  /** What is chosen, as `project Champigny`. */
  get active(): readonly string[] {
    return this.agent.active.map(({ entity, label, id }) => `${entity} ${label ?? id}`)
  }

  async #told(
    play: () => Promise<{ readonly text?: string; readonly requests: readonly RequestData[] }>,
  ): Promise<Told> {
    const { store, owner, contextId } = this.#place
    const key = { ...owner, contextId }
    const before = (await store.read(key)).length
    const { text = '', requests } = await play()
    const entries = (await store.read(key)).slice(before)
    const ran = entries.flatMap(({ type, data }) => {
      if (type !== 'tool.start') return []
      const { tool, args } = data as EntryData['tool.start']
      return [[tool, ...Object.values(args ?? {}).map(String)].join(' ')]
    })
    const refused = entries.flatMap(({ type, data }) => {
      const { output } = type === 'tool.end' ? (data as EntryData['tool.end']) : {}
      const { error, reason } = (output ?? {}) as { readonly error?: string; readonly reason?: string }
      return error === 'ungrounded' ? [String(reason)] : []
    })
    return { ran, refused, text, requests }
  }
}
