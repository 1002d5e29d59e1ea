/** Requests of an agent as forms of MCP (elicitation), and the filled forms as answers. Knows no connection. */
import type { Json, JsonObject, RequestData } from '../protocol/index.ts'
import { answerFrom, optionText, requestText } from '../tool/index.ts'

/** A form that MCP clients can show: an object with plain fields. */
export interface Form {
  readonly message: string
  readonly requestedSchema: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, JsonObject>>
    readonly required?: readonly string[]
  }
}

/** Undefined where a form is of no use: access is given elsewhere. */
export function formOf(request: RequestData): Form | undefined {
  const { kind } = request
  if (kind === 'auth') return undefined
  const message = requestText(request)
  if (kind === 'confirmation')
    return {
      message,
      requestedSchema: {
        type: 'object',
        properties: {
          approved: { type: 'boolean', title: 'Approve' },
          reason: { type: 'string', title: 'Reason' },
        },
        required: ['approved'],
      },
    }
  const flat = kind === 'data' ? flatSchema(request.schema) : undefined
  if (flat !== undefined) return { message, requestedSchema: flat }
  return {
    message,
    requestedSchema: { type: 'object', properties: { answer: answerField(request) }, required: ['answer'] },
  }
}

function answerField({ kind, options = [], multiple }: RequestData): JsonObject {
  if (kind === 'data') return { type: 'string', title: 'Answer', description: 'As JSON.' }
  if (kind !== 'choice') return { type: 'string', title: 'Answer' }
  const texts = options.map(optionText)
  return multiple === true
    ? { type: 'array', title: 'Answer', items: { type: 'string', enum: texts } }
    : { type: 'string', title: 'Answer', enum: texts }
}

/** The answer in a filled form. A declined confirmation is a no; any other form that is not filled answers nothing. */
export function answerIn(request: RequestData, response: unknown): Json | undefined {
  const { action, content } = (response ?? {}) as { readonly action?: unknown; readonly content?: unknown }
  const isYesOrNo = request.kind === 'confirmation'
  if (action === 'decline' && isYesOrNo) return false
  if (action !== 'accept' || typeof content !== 'object' || content === null) return undefined
  const fields = content as Readonly<Record<string, Json>>
  if (isYesOrNo) {
    const { approved, reason } = fields
    return typeof reason === 'string' && reason !== ''
      ? { approved: approved === true, reason }
      : approved === true
  }
  if (request.kind === 'data' && flatSchema(request.schema) !== undefined) return fields
  return fields['answer'] === undefined ? undefined : answerOf(request, fields['answer'])
}

/** An answer as a program writes it, or as a text: models write `"true"`, and forms the texts of options. */
export function answerOf(request: RequestData, given: Json): Json {
  if (typeof given === 'string') return answerFrom(request, given)
  if (request.kind !== 'choice' || !Array.isArray(given)) return given
  const { multiple: _, ...single } = request
  return (given as readonly Json[]).map((each) => answerOf(single, each))
}

const PLAIN: readonly unknown[] = ['string', 'number', 'integer', 'boolean']

/** The schema itself, if clients can show it: MCP allows no nested fields. */
function flatSchema(schema: JsonObject | undefined): Form['requestedSchema'] | undefined {
  const { type, properties, required, ...rest } = schema ?? {}
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined
  const fields = Object.values(properties as Record<string, JsonObject>)
  const isFlat =
    fields.length > 0 && fields.every((field) => PLAIN.includes(field['type']) && !('$ref' in field))
  const isClosed = Object.keys(rest).every((word) =>
    ['additionalProperties', '$schema', 'description', 'title'].includes(word),
  )
  if (!isFlat || !isClosed) return undefined
  return {
    type: 'object',
    properties: properties as Record<string, JsonObject>,
    ...(Array.isArray(required) ? { required: required as readonly string[] } : {}),
  }
}
