/** Checks an answer against its request. Knows nothing of askers and answerers. */
import {
  canonical,
  GRANT_SCOPES,
  type GrantScope,
  isObject,
  type Json,
  offeredGrants,
  quote,
  type RequestData,
} from '../protocol/index.ts'
import { schemaCheck } from './json-schema.ts'
import { issueLines } from './standard-schema.ts'
import { thrownText } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'

export interface Confirmation {
  readonly approved: boolean
  readonly reason?: string
  /** How long an approval holds for the patterns that the request offers. Default: `once`. */
  readonly scope?: GrantScope
  /** A rejection that ends the turn. */
  readonly stop?: true
}

export type AnsweredRequest = Pick<RequestData, 'kind' | 'options' | 'multiple' | 'schema' | 'about'>

/**
 * The problem of an answer as a sentence; undefined if it is valid. A confirmation is true, false, or `{ approved, reason?,
 * scope?, stop? }`; a choice is one of the options, or a list of some; a text is not empty; data fits the schema.
 */
export async function checkAnswer(request: AnsweredRequest, value: Json): Promise<string | undefined> {
  switch (request.kind) {
    case 'confirmation':
      return confirmationProblem(request, value)
    case 'choice':
      return choiceProblem(request, value)
    case 'text':
      return typeof value === 'string' && value.trim() !== ''
        ? undefined
        : `The answer must be a text that is not empty; this is ${shown(value)}.`
    case 'data':
      return dataProblem(request, value)
    default:
      return undefined
  }
}

/** A checked answer in the form that the asker receives: a confirmation is true or false. */
export function answerTo(kind: string | undefined, value: Json): Json {
  return kind === 'confirmation' ? confirmationIn(value).approved : value
}

/** A checked answer to a confirmation, which may be true, false, or `{ approved, reason?, scope?, stop? }`. */
export function confirmationIn(value: Json | undefined): Confirmation {
  if (!isObject(value)) return { approved: value === true }
  const { approved, reason, scope, stop } = value as Readonly<Record<keyof Confirmation, Json | undefined>>
  return {
    approved: approved === true,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(approved === true && isScope(scope) ? { scope } : {}),
    ...(approved !== true && stop === true ? { stop } : {}),
  }
}

function isScope(scope: Json | undefined): scope is GrantScope {
  return (GRANT_SCOPES as readonly unknown[]).includes(scope)
}

function confirmationProblem({ about }: AnsweredRequest, value: Json): string | undefined {
  if (!isConfirmation(value))
    return `A confirmation is true, false, or { "approved": true or false, "reason": "…" }; this is ${shown(value)}.`
  const { approved, scope = 'once', stop } = value as Partial<Record<keyof Confirmation, Json>>
  if (!isScope(scope))
    return `The scope of an approval is ${GRANT_SCOPES.join(', ')}; this is ${shown(scope)}.`
  if (scope !== 'once' && approved !== true) return 'Only an approval has a scope: set "approved" to true.'
  if (scope !== 'once' && offeredGrants(about).length === 0)
    return 'This question offers no grant: approve it without a scope.'
  if (stop === true && approved === true) return 'Only a rejection stops the turn: set "approved" to false.'
  return undefined
}

function isConfirmation(value: Json): boolean {
  if (typeof value === 'boolean') return true
  if (!isObject(value)) return false
  const { approved, reason, scope: _, stop, ...rest } = value as Record<string, Json | undefined>
  if (typeof approved !== 'boolean' || Object.keys(rest).length > 0) return false
  if (stop !== undefined && typeof stop !== 'boolean') return false
  return reason === undefined || typeof reason === 'string'
}

function choiceProblem({ options = [], multiple }: AnsweredRequest, value: Json): string | undefined {
  const known = new Set(options.map(canonical))
  const offered = `Choose from: ${options.map(shown).join(', ')}.`
  if (!multiple)
    return known.has(canonical(value)) ? undefined : `${shown(value)} was not offered. ${offered}`
  if (!Array.isArray(value) || value.length === 0) {
    return `The answer must be a list of at least one of the options; this is ${shown(value)}. ${offered}`
  }
  const chosen = (value as readonly Json[]).map(canonical)
  const unknownOption = (value as readonly Json[]).find((_, index) => !known.has(chosen[index] ?? ''))
  if (unknownOption !== undefined) return `${shown(unknownOption)} was not offered. ${offered}`
  const twice = chosen.find((text, index) => chosen.indexOf(text) !== index)
  return twice === undefined ? undefined : `${twice} is chosen twice. ${offered}`
}

async function dataProblem({ schema }: AnsweredRequest, value: Json): Promise<string | undefined> {
  if (schema === undefined) return undefined
  try {
    const check = await schemaCheck(schema)
    const json = toJson(value)
    const issues = json instanceof JsonProblem ? [{ message: json.message }] : check(json)
    return issues.length === 0 ? undefined : `The answer does not fit: ${issueLines(issues).join('; ')}.`
  } catch (error) {
    return `The schema of the question cannot be used: ${thrownText(error)}`
  }
}

function shown(value: Json): string {
  return typeof value === 'string' ? quote(value) : shortened(canonical(value))
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text
}
