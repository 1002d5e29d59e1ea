/** The options of `a2a()`. */
import { checkOptions, invalidOption, type OptionSet } from '../../protocol/index.ts'
import type { AuthScheme } from '../caller.ts'
import { checkPushOptions, type PushOptions } from './push-options.ts'

export interface A2aOptions {
  /** Details for the cards of agents and graphs, by their names on the host. */
  readonly agents?: Readonly<Record<string, A2aAgent>>
  /** The address of the server as clients reach it, such as `https://agents.example.com`. Default: that of the request. */
  readonly url?: string
  readonly provider?: { readonly organization: string; readonly url: string }
  /** The ways of authentication, if `authenticate` of the server is a function of your own. */
  readonly securitySchemes?: Readonly<Record<string, AuthScheme>>
  /** Turns push notifications on. */
  readonly push?: PushOptions
}

/** The details of an agent on its card. */
export interface A2aAgent {
  readonly description?: string
  readonly version?: string
  /** Default: the agent's tools. */
  readonly skills?: readonly A2aSkill[]
  /** Skills that only callers who are authenticated see, in the extended card, beside the agent's tools. */
  readonly extendedSkills?: readonly A2aSkill[]
  /** Media types. Default: text, JSON and any file. */
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly documentationUrl?: string
  readonly iconUrl?: string
}

export interface A2aSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags?: readonly string[]
  readonly examples?: readonly string[]
}

const A2A: OptionSet<A2aOptions> = {
  place: 'a2a()',
  options: {
    agents: 'an object',
    url: 'a text',
    provider: 'an object',
    securitySchemes: 'an object',
    push: 'an object',
  },
  foreign: {
    agentCard: 'agents: { name: { … } }',
    cards: 'agents',
    baseUrl: 'url',
    pushNotifications: 'push',
  },
}

export function checkA2aOptions(options: A2aOptions): void {
  checkOptions(options, A2A)
  const { url, push } = options
  if (push !== undefined) checkPushOptions(push)
  if (url !== undefined && !/^https?:\/\//i.test(URL.canParse(url) ? url : ''))
    throw invalidOption('url', 'must be an address, such as https://agents.example.com')
}
