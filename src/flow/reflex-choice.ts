/** Recognises reflex, which follows rules and writes no text, in every form that the option `model` takes. */
import { modelName } from '../model/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import type { ModelChoice } from '../turn/index.ts'

const REFLEX = modelName('reflex')

export function isReflex(choice: ModelChoice): boolean {
  const ref = typeof choice === 'object' && 'settings' in choice ? choice.model : choice
  // Another value is no model; the turn that would use it says so.
  return (typeof ref === 'string' || typeof ref?.provider === 'string') && modelName(ref) === REFLEX
}

/** Throws if `model`, or a fallback in it, is reflex. `what`: the work that needs a language model. */
export function checkLanguageModel(
  model: ModelChoice | readonly ModelChoice[],
  what: string,
  advice = "Set OPENAI_API_KEY and model: 'openai/gpt-4.1-mini', or pass another language model.",
): void {
  const choices = Array.isArray(model) ? (model as readonly ModelChoice[]) : [model as ModelChoice]
  if (choices.some(isReflex))
    throw new HoldfastError('invalid-option', {
      message: `The model reflex follows rules and cannot ${what}. ${advice}`,
    })
}
