/** Models for tasks whose replies follow from the prompt alone: another process goes on where one died. */
import type { PromptMessage } from '../../src/model/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { eagerTimer } from '../recovery/mortal.ts'

export interface TaskScript {
  readonly plans?: readonly string[]
  /** The replies of the agent, by plan. */
  readonly rounds: readonly (readonly ScriptedStep[])[]
  /** The verdict, by plan. */
  readonly verdicts?: readonly string[]
}

export const calls = (...list: { readonly tool: string; readonly args: JsonObject }[]): ScriptedStep => ({
  calls: list,
})
export const call = (tool: string, args: JsonObject = {}): { tool: string; args: JsonObject } => ({
  tool,
  args,
})
export const done = (result: string): ScriptedStep => calls(call('attempt_completion', { result }))
export const verdict = (verified: boolean, unmet: readonly string[] = []): string =>
  JSON.stringify({ verified, unmet, evidence: ['step 1'] })

/** The reply to a prompt of any node. */
function replyTo(
  { plans = [], rounds, verdicts = [] }: TaskScript,
  prompt: readonly PromptMessage[],
): ScriptedStep {
  const texts = prompt.map(({ content }) => JSON.stringify(content))
  const [system = ''] = texts
  if (system.includes('You plan a task')) return plans[0] ?? 'The plan'
  if (system.includes('You write a better plan')) {
    const before = plans.findIndex((plan) => system.includes(JSON.stringify(plan).slice(1, -1)))
    return plans[before + 1] ?? 'The plan'
  }
  if (system.includes('You verify')) {
    const plan = Math.max(1, ...[...system.matchAll(/Plan (\d+):/g)].map(([, number]) => Number(number)))
    return verdicts[plan - 1] ?? verdict(true)
  }
  const last = texts.findLastIndex((text, at) => at > 0 && /Plan \d+:/.test(text))
  const plan = Number(/Plan (\d+):/.exec(texts[last] ?? '')?.[1] ?? 1)
  const replied = prompt.slice(last + 1).filter(({ role }) => role === 'assistant').length
  return rounds[plan - 1]?.[replied] ?? 'I have nothing to say.'
}

export function taskModel(script: TaskScript): ScriptedModel {
  return new ScriptedModel(({ prompt }) => replyTo(script, prompt), {
    name: 'scripted/model',
    timer: eagerTimer,
  })
}
