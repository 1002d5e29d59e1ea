/** Agent cards: how clients find an agent, what it can do, and how they have to authenticate. */
import type { AgentCard, AgentSkill, SecurityScheme } from '@a2a-js/sdk'
import { type Host, isVisitor } from '../../host/index.ts'
import { HoldfastError, quote } from '../../protocol/index.ts'
import type { AuthScheme, Caller } from '../caller.ts'
import type { A2aAgent, A2aOptions, A2aSkill } from './options.ts'

/** The paths of an agent, below the address of the server. */
export const ROOT = '/a2a'
export const CARD_PATH = '/.well-known/agent-card.json'

export interface CardFacts {
  readonly host: Host
  readonly options: A2aOptions
  readonly schemes: Readonly<Record<string, AuthScheme>>
}

const NO_SKILLS: readonly A2aSkill[] = []

export class Cards {
  readonly #facts: CardFacts
  /** The newest open card of each agent: every request needs one, and clients use one origin. */
  readonly #open = new Map<string, { readonly origin: string; readonly card: Promise<AgentCard> }>()

  constructor(facts: CardFacts) {
    this.#facts = facts
  }

  /** The card that everybody may read: with the tools that a caller without credentials may use. */
  open(agent: string, origin: string): Promise<AgentCard> {
    const known = this.#open.get(agent)
    if (known?.origin === origin) return known.card
    const card = this.#openCard(agent, origin)
    this.#open.set(agent, { origin, card })
    // A failure is not kept.
    card.catch(() => this.#open.delete(agent))
    return card
  }

  async #openCard(agent: string, origin: string): Promise<AgentCard> {
    const { host, schemes } = this.#facts
    // Without authentication every caller is known.
    const isOpen = Object.keys(schemes).length === 0 && host.trustLevelOf(agent) !== 'strict'
    const tools = isOpen ? await host.toolsOf(agent) : await host.publicToolsOf(agent)
    const { skills = tools?.map(toolSkill) ?? NO_SKILLS } = this.#detailsOf(agent)
    return this.#card(agent, origin, skills)
  }

  /** The card for a caller whom the agent answers: with the tools that their agent has. */
  async extended(agent: string, origin: string, { tenant, actor }: Caller): Promise<AgentCard> {
    const { host } = this.#facts
    if (!host.namesFor({ tenant, actor }).includes(agent))
      throw new HoldfastError('forbidden', { message: `${quote(agent)} does not answer you.` })
    if (isVisitor({ tenant })) return this.open(agent, origin)
    const tools = (await host.toolsOf(agent, { tenant, actor })) ?? []
    const { skills = NO_SKILLS, extendedSkills = NO_SKILLS } = this.#detailsOf(agent)
    const all = [...skills, ...extendedSkills, ...tools.map(toolSkill)]
    const byId = new Map(all.toReversed().map((skill) => [skill.id, skill]))
    return this.#card(agent, origin, [...byId.values()].toReversed())
  }

  #detailsOf(agent: string): A2aAgent {
    return this.#facts.options.agents?.[agent] ?? {}
  }

  #card(agent: string, origin: string, skills: readonly A2aSkill[]): AgentCard {
    const { options, schemes } = this.#facts
    const details = this.#detailsOf(agent)
    const { description = `The agent ${agent}.`, version = '1', documentationUrl, iconUrl } = details
    const url = `${options.url?.replace(/\/+$/, '') ?? origin}${ROOT}/${encodeURIComponent(agent)}`
    const known = skills.length > 0 ? skills : [{ id: agent, name: agent, description }]
    return {
      name: agent,
      description,
      version,
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3', tenant: '' },
      ],
      provider: options.provider === undefined ? undefined : { ...options.provider },
      documentationUrl,
      iconUrl,
      capabilities: {
        streaming: true,
        pushNotifications: options.push !== undefined,
        extendedAgentCard: true,
        extensions: [],
      },
      securitySchemes: Object.fromEntries(
        Object.entries(schemes).map(([name, scheme]) => [name, securityScheme(scheme)]),
      ),
      securityRequirements: Object.keys(schemes).map((name) => ({ schemes: { [name]: { list: [] } } })),
      defaultInputModes: [...(details.inputModes ?? ['text/plain', 'application/json', '*/*'])],
      defaultOutputModes: [...(details.outputModes ?? ['text/plain', 'application/json', '*/*'])],
      skills: known.map(agentSkill),
      signatures: [],
    }
  }
}

function toolSkill({ name, description }: { readonly name: string; readonly description: string }): A2aSkill {
  return { id: name, name, description, tags: ['tool'] }
}

function agentSkill({ id, name, description, tags = [], examples = [] }: A2aSkill): AgentSkill {
  return {
    id,
    name,
    description,
    tags: [...tags],
    examples: [...examples],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  }
}

function securityScheme(scheme: AuthScheme): SecurityScheme {
  const description = ''
  switch (scheme.type) {
    case 'http':
      return {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { description, scheme: scheme.scheme, bearerFormat: scheme.bearerFormat ?? '' },
        },
      }
    case 'apiKey':
      return {
        scheme: {
          $case: 'apiKeySecurityScheme',
          value: { description, location: scheme.in, name: scheme.name },
        },
      }
    case 'openIdConnect':
      return {
        scheme: {
          $case: 'openIdConnectSecurityScheme',
          value: { description, openIdConnectUrl: scheme.openIdConnectUrl },
        },
      }
    case 'mutualTLS':
    default:
      return { scheme: { $case: 'mtlsSecurityScheme', value: { description } } }
  }
}
