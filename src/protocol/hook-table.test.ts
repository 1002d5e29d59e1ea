/** The table of hook points, and the order of an iteration that follows from it. */
import { describe, expect, it } from 'vitest'
import {
  beforePrompt,
  CLOSING_STEPS,
  HOOK_NAMES,
  hookKind,
  INPUT_HOOKS,
  isAhead,
  isAheadOfModel,
  isRoundReached,
  LAST_BEFORE_TOOLS,
} from './hook-table.ts'

const STEPS = [
  ...['beforeIteration', 'beforeLlm', 'model', 'afterLlm', 'beforeTools'],
  ...['tools', 'afterTools', 'afterIteration'],
]

/** The steps for which something holds. */
const where = (holds: (step: string) => boolean): readonly string[] => STEPS.filter(holds)

describe('hook points', () => {
  it.each(HOOK_NAMES)('%s has a step if it comes once in an iteration, and only then', (name) => {
    const { scope, step } = hookKind(name) ?? {}
    expect(step !== undefined).toBe(scope === 'iteration' || scope === 'round')
  })

  it.each(HOOK_NAMES)('%s runs after a stop if it closes something or tells of an end', (name) => {
    const { scope, closes, afterStop } = hookKind(name) ?? {}
    expect(afterStop ?? false).toBe(closes === true || scope === 'failure' || scope === 'end')
  })

  it('are unknown if they are of a newer version, or no hooks', () => {
    expect(['ground', 'afterEverything', 'constructor'].map(hookKind)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('that see what is said before the model does', () => {
    expect(INPUT_HOOKS).toEqual(['afterUserInput', 'beforeLlm'])
  })
})

describe('an iteration', () => {
  it('has these steps, in this order', () => {
    const pairs = STEPS.flatMap((step, at) => STEPS.slice(0, at).map((reached) => [step, reached] as const))
    expect(pairs.every(([step, reached]) => isAhead(step, reached) && !isAhead(reached, step))).toBe(true)
    expect(where((step) => isAhead(step, undefined))).toEqual(STEPS)
    expect(where((step) => isAhead(step, step))).toEqual([])
  })

  it('begins anew before the model, whatever the last one has reached', () => {
    expect(where((reached) => isAheadOfModel('beforeLlm', reached))).toEqual(
      STEPS.filter((step) => step !== 'beforeLlm'),
    )
  })

  it('has a round between these', () => {
    expect(where(isRoundReached)).toEqual(['beforeTools', 'tools', 'afterTools', 'afterIteration'])
    expect([...CLOSING_STEPS]).toEqual(['tools', 'afterTools'])
    expect(LAST_BEFORE_TOOLS).toBe('beforeTools')
  })

  it('goes back before those that change the prompt when somebody says something', () => {
    expect(STEPS.map(beforePrompt)).toEqual(
      STEPS.map((step) => (step === 'beforeLlm' ? 'beforeIteration' : step)),
    )
  })
})
