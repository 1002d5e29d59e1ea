/** Shared by the tests of hooks: hooks that log their runs. */
import type { CallResult, HookContext, HookContextOf, Hooks } from '../../src/hook/index.ts'
import { HOOK_NAMES, type HookName } from '../../src/protocol/index.ts'

export type HookFunctions = { -readonly [Name in HookName]?: (point: HookContextOf<Name>) => unknown }

/** A hook at every point, each of which logs a line; `more` adds actions. */
export function everywhere(lines: string[], more: HookFunctions = {}, as: string = ''): Hooks {
  const hooks = HOOK_NAMES.map((name) => [
    name,
    async (point: never) => {
      lines.push(`${as}${name}${about(name, point)}`)
      await (more[name] as ((given: never) => unknown) | undefined)?.(point)
    },
  ])
  return Object.fromEntries(hooks) as Hooks
}

/** The detail that tells one run of a hook from another; by default its iteration. */
const ABOUT: { readonly [Name in HookName]?: (point: HookContextOf<Name>) => string } = {
  onAgentReady: () => '',
  afterLlm: ({ iteration, reply }) => ` ${iteration} ${JSON.stringify(reply.text)}`,
  beforeTools: ({ pending }) => ` ${pending.map(({ callId }) => callId).join(' ')}`,
  beforeEachTool: ({ pending }) => ` ${pending.callId}`,
  afterEachTool: ({ result }) => ` ${settled(result)}`,
  afterTools: ({ results }) => ` ${results.map(settled).join(' ')}`,
  onError: ({ error }) => ` ${error.source}`,
  onLimit: ({ limit }) => ` ${limit}`,
  onComplete: ({ outcome }) => ` ${outcome}`,
}

function about(name: HookName, point: never): string {
  const words = ABOUT[name] as ((given: never) => string) | undefined
  return words?.(point) ?? ` ${(point as HookContext).iteration}`
}

function settled({ callId, status }: CallResult): string {
  return `${callId}:${status}`
}
