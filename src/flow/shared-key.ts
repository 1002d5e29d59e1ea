/** Refuses a key or an address that the models of several roles would share across vendors. */
import { type ModelOptions, modelName } from '../model/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import type { ModelChoice } from '../turn/index.ts'
import { isReflex } from './reflex-choice.ts'

/** The model of one role, with the settings of its own. */
export interface RoleModel {
  readonly model: ModelChoice | readonly ModelChoice[]
  readonly settings?: ModelOptions
}

interface NamedModel {
  readonly name: string
  readonly vendor: string
  /** Of the role and of the model, without the shared ones. */
  readonly settings: ModelOptions
}

/**
 * A shared key may go to models of one vendor at one address, a shared address to models of one vendor. Models given as
 * objects have keys of their own.
 */
export function checkSharedKey({ apiKey, baseURL }: ModelOptions, roles: readonly RoleModel[]): void {
  const models = roles.flatMap(namedModels)
  if (apiKey !== undefined) {
    const keyless = models.filter(({ settings }) => settings.apiKey === undefined)
    checkSame('apiKey', keyless, ({ vendor, settings }) => `${vendor} ${settings.baseURL ?? baseURL}`)
  }
  if (baseURL !== undefined) {
    const unaddressed = models.filter(({ settings }) => settings.baseURL === undefined)
    checkSame('baseURL', unaddressed, ({ vendor }) => vendor)
  }
}

function namedModels({ model, settings }: RoleModel): readonly NamedModel[] {
  const choices = Array.isArray(model) ? (model as readonly ModelChoice[]) : [model as ModelChoice]
  return choices.flatMap((choice) => {
    const own = typeof choice === 'object' && choice !== null && 'settings' in choice ? choice : undefined
    const ref = own === undefined ? choice : own.model
    if (typeof ref !== 'string' || isReflex(ref)) return []
    const name = modelName(ref)
    const [vendor = ''] = name.split('/')
    return [{ name, vendor, settings: { ...settings, ...own?.settings } }]
  })
}

function checkSame(
  option: 'apiKey' | 'baseURL',
  models: readonly NamedModel[],
  receiverOf: (model: NamedModel) => string,
): void {
  const [first, ...others] = models
  const strange = others.find((each) => first !== undefined && receiverOf(each) !== receiverOf(first))
  if (first === undefined || strange === undefined) return
  throw new HoldfastError('invalid-option', {
    message: `${option} would go to ${first.name} and to ${strange.name}. Give it to its model alone: { model: '${first.name}', settings: { ${option} } }; the other takes one of its own, or the variable of its vendor.`,
    details: { option, models: [first.name, strange.name] },
  })
}
