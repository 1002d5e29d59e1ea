/** Checks plugins and hooks, and orders their hooks. */
import {
  checkName,
  checkOptions,
  defined,
  HOOK_NAMES,
  HoldfastError,
  type HookName,
  hookKind,
  isObject,
  type OptionRules,
  quote,
} from '../protocol/index.ts'
import type { ApprovalPolicy, ToolsOption } from '../tool/index.ts'
import type { Hook, HookContextOf, Hooks } from './hook-context.ts'

/** Hooks, tools and parts of the prompt that belong together. */
export interface PluginParts {
  /** Named in errors of its hooks, and where it adds something. */
  readonly name: string
  readonly on?: Hooks
  readonly tools?: ToolsOption
  /** Appended to the system prompt. */
  readonly prompt?: string
  /**
   * Decides about calls before the tools' own `approve`, also for the agents below this one. Of several plugins the
   * strictest decision counts.
   */
  readonly approve?: ApprovalPolicy
}

/** The parts, or a function that makes them, called once for each agent. */
export type Plugin = PluginParts | (() => PluginParts)

/** One hook, and the name of its plugin. */
export interface Registered<Name extends HookName> {
  readonly plugin?: string
  readonly run: Hook<HookContextOf<Name>>
}

/** The hooks of all plugins in their order, then the agent's own; those of a list in the order of the list. */
export class HookRegistry {
  readonly isEmpty: boolean
  readonly #hooks = new Map<HookName, readonly Registered<HookName>[]>()

  constructor(sources: readonly { readonly plugin?: string; readonly on: Hooks }[]) {
    for (const name of HOOK_NAMES) {
      const ordered = hookKind(name)?.closes ? sources.toReversed() : sources
      const found = ordered.flatMap(({ plugin, on }) => {
        const runs = [on[name] ?? []].flat() as Hook<HookContextOf<HookName>>[]
        return runs.map((run) => ({ run, ...defined({ plugin }) }))
      })
      if (found.length > 0) this.#hooks.set(name, found)
    }
    this.isEmpty = this.#hooks.size === 0
  }

  has(...names: readonly HookName[]): boolean {
    return names.some((name) => this.#hooks.has(name))
  }

  of<Name extends HookName>(name: Name): readonly Registered<Name>[] {
    return this.#hooks.get(name) ?? []
  }
}

/** Checks the plugins and makes their parts. */
export function pluginParts(plugins: readonly Plugin[]): readonly PluginParts[] {
  if (!Array.isArray(plugins)) throw invalid('plugins must be a list of plugins')
  const parts = plugins.map((plugin: unknown) =>
    checkParts(typeof plugin === 'function' ? (plugin as () => unknown)() : plugin),
  )
  const names = parts.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined)
    throw invalid(`two plugins are called ${quote(twice)}; give one of them another name`)
  return parts
}

const PARTS: OptionRules<PluginParts> = {
  name: null,
  on: null,
  tools: null,
  prompt: null,
  approve: 'a function',
}

function checkParts(parts: unknown): PluginParts {
  if (!isObject(parts))
    throw invalid(
      'a plugin must be an object { name, on, tools, prompt, approve } or a function that gives one',
    )
  const { name, on, tools, prompt } = parts as Record<string, unknown>
  if (typeof name !== 'string' || name === '') throw invalid('a plugin must have a name')
  checkOptions(parts, { place: `The plugin ${name}`, options: PARTS, foreign: { hooks: 'on' } })
  if (on !== undefined) checkHooks(on, `The plugin ${name}`)
  if (tools !== undefined && (typeof tools !== 'object' || tools === null))
    throw invalid(`the tools of the plugin ${name} must be a list, or tools by name`)
  if (prompt !== undefined && typeof prompt !== 'string')
    throw invalid(`the prompt of the plugin ${name} must be a text`)
  return parts as PluginParts
}

/** Throws for a hook with an unknown name. */
export function checkHooks(on: unknown, owner: string): void {
  if (!isObject(on))
    throw invalid(`${owner} must give its hooks as an object such as { beforeTools: ({ pending }) => … }`)
  for (const [name, hook] of Object.entries(on) as [string, unknown][]) {
    checkName(`${owner}: on`, name, HOOK_NAMES)
    const functions: readonly unknown[] = Array.isArray(hook) ? hook : [hook ?? (() => {})]
    if (!functions.every((each) => typeof each === 'function'))
      throw invalid(`${owner}: ${name} must be a function or a list of functions`)
  }
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `${why[0]?.toUpperCase()}${why.slice(1)}.` })
}
