/** What the tests of hooks share: hooks that write down when they ran. */
import type { CallResult, Hooks, PointOf, TurnPoint } from '../../src/hook/index.ts'
import { HOOK_NAMES, type HookName } from '../../src/protocol/index.ts'

export type Told = { -readonly [Name in HookName]?: (point: PointOf<Name>) => unknown }

/** A hook at every place, each of which writes a line; `more` may do more there. */
export function everywhere(told: string[], more: Told = {}, as: string = ''): Hooks {
  const hooks = HOOK_NAMES.map((name) => [
    name,
    async (point: never) => {
      told.push(`${as}${name}${about(name, point)}`)
      await (more[name] as ((given: never) => unknown) | undefined)?.(point)
    },
  ])
  return Object.fromEntries(hooks) as Hooks
}

/** What tells one run of a hook from another; which iteration it is, if nothing else does. */
const ABOUT: { readonly [Name in HookName]?: (point: PointOf<Name>) => string } = {
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
  return words?.(point) ?? ` ${(point as TurnPoint).iteration}`
}

function settled({ callId, status }: CallResult): string {
  return `${callId}:${status}`
}
