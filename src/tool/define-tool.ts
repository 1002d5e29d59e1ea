/** Builds a tool from its definition, and refuses one that could not work. Runs nothing. */
import {
  checkOptions,
  ENTITY_MARK,
  HoldfastError,
  type JsonObject,
  type OptionSet,
  quote,
} from '../protocol/index.ts'
import { markAfterConversion, markNames, markProblem } from './check-marks.ts'
import {
  isJsonSchema,
  isStandardSchema,
  jsonSchemaOf,
  outputJsonSchemaOf,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from './standard-schema.ts'
import type { Tool, ToolDefinition, ToolGrounding } from './tool.ts'

/**
 * Checks a definition once. `run` gets its input type from the schema, and the tool its output type from `run`, which must
 * fit the schema in `output` if there is one.
 */
export function defineTool<
  S extends StandardSchema,
  Out extends SchemaInput<R>,
  R extends StandardSchema = StandardSchema,
>(definition: ToolDefinition<S, Out> & { readonly output?: R }): Tool<SchemaOutput<S>, Out> {
  checkDefinition(definition)
  const { name, description, input, output, timeoutMs, preview, origin, verify, display, run } = definition
  checkOutput(name, output)
  return Object.freeze({
    name,
    description,
    parameters: parametersOf(name, input, definition.parameters),
    input,
    ...(output === undefined ? {} : { output }),
    replay: definition.replay ?? 'never',
    exclusive: definition.exclusive ?? false,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    maxResultBytes: definition.maxResultBytes ?? DEFAULT_RESULT_BYTES,
    approve: definition.approve ?? 'never',
    ...(definition.public ? { public: true as const } : {}),
    ...(preview === undefined ? {} : { preview }),
    ...(origin === undefined ? {} : { origin }),
    ...(verify === undefined ? {} : { verify }),
    ...(display === undefined ? {} : { display: display as NonNullable<Tool['display']> }),
    ...groundingOf(definition as Unchecked),
    run,
  })
}

function groundingOf({ returns, selects, unmarkedIds }: Unchecked): { readonly grounding?: ToolGrounding } {
  if (returns === undefined && selects === undefined && unmarkedIds === undefined) return {}
  return {
    grounding: {
      ...(unmarkedIds === 'allow' ? { unmarkedIds } : {}),
      ...(returns === undefined ? {} : { seen: returns as NonNullable<ToolGrounding['seen']> }),
      ...(selects === undefined ? {} : { selects: selects as NonNullable<ToolGrounding['selects']> }),
    },
  }
}

const DEFAULT_RESULT_BYTES = 256 * 1024
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/

const DEFINITION: Omit<OptionSet<ToolDefinition<StandardSchema, unknown>>, 'place'> = {
  options: {
    name: null,
    description: null,
    input: null,
    parameters: null,
    output: null,
    replay: null,
    exclusive: 'true or false',
    timeoutMs: null,
    maxResultBytes: null,
    approve: null,
    public: 'true or false',
    preview: null,
    origin: 'an object',
    verify: null,
    display: null,
    returns: null,
    selects: null,
    unmarkedIds: null,
    run: null,
  },
  foreign: {
    ...Object.fromEntries(['execute', 'func', 'handler', 'invoke', 'call'].map((name) => [name, 'run'])),
    inputSchema: 'input',
    schema: 'input',
    args: 'input',
    outputSchema: 'output',
    needsApproval: 'approve',
    requiresApproval: 'approve',
    requireApproval: 'approve',
    confirm: 'approve',
    idempotent: "replay: 'safe'",
    timeout: 'timeoutMs',
    toModelOutput: 'toolResult() in run',
  },
}

/** A definition from a program without types. */
type Unchecked = { readonly [Field in keyof ToolDefinition<StandardSchema, unknown>]?: unknown }

function checkDefinition(definition: Unchecked | null | undefined): asserts definition is Unchecked {
  if (typeof definition !== 'object' || definition === null) {
    throw new HoldfastError('invalid-option', {
      message: `A tool is defined by an object with name, description, input and run, not by ${quote(definition)}.`,
    })
  }
  const { name, description, input, output, replay, approve, run, parameters } = definition
  checkOptions(definition, { place: `Tool ${quote(name)}`, ...DEFINITION })
  const refuse = (why: string): HoldfastError => invalid(name, why)
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw refuse('its name must be a letter, then letters, digits, _ and -, at most 64 in all')
  }
  if (name in Object.prototype)
    throw refuse('every object has something of that name, and providers lose it; use another')
  if (typeof description !== 'string' || description.trim() === '') {
    throw refuse('it has no description; say what it does and when to use it')
  }
  if (!isStandardSchema(input))
    throw refuse(
      '`input` is no schema; write `input: z.object({ … })` of Zod, Valibot or ArkType, or `input: jsonSchema({ … })`',
    )
  if (output !== undefined && !isStandardSchema(output)) throw refuse('`output` is no Standard Schema')
  if (typeof run !== 'function') throw refuse('`run` is no function')
  if (replay !== undefined && replay !== 'never' && replay !== 'safe') {
    throw refuse(`\`replay\` is ${quote(replay)}; it must be 'never' or 'safe'`)
  }
  if (approve !== undefined && approve !== 'always' && approve !== 'never' && typeof approve !== 'function') {
    throw refuse("`approve` must be 'always', 'never' or a function")
  }
  for (const field of ['preview', 'verify', 'display', 'returns', 'selects'] as const) {
    if (definition[field] !== undefined && typeof definition[field] !== 'function')
      throw refuse(`\`${field}\` is no function`)
  }
  const { unmarkedIds } = definition
  if (unmarkedIds !== undefined && unmarkedIds !== 'judge' && unmarkedIds !== 'allow')
    throw refuse("`unmarkedIds` must be 'judge' or 'allow'")
  if (parameters !== undefined && !isJsonSchema(parameters))
    throw refuse('`parameters` is no JSON Schema; a schema of Zod, Valibot or ArkType belongs into `input`')
  for (const field of ['timeoutMs', 'maxResultBytes'] as const) {
    const value = definition[field]
    if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && value > 0)) {
      throw refuse(`\`${field}\` must be a number above 0`)
    }
  }
}

function parametersOf(name: string, input: StandardSchema, parameters?: JsonObject): JsonObject {
  const known =
    parameters ??
    jsonSchemaOf(input, `Pass \`parameters\`, the JSON Schema of the input, to tool ${quote(name)}.`)
  if (known['type'] !== 'object') {
    const type = known['type'] === undefined ? Object.keys(known).join(', ') : JSON.stringify(known['type'])
    throw invalid(
      name,
      `its arguments are described as ${type || 'anything'}, and models give arguments as an object with named fields; wrap the input in one`,
    )
  }
  const problem = markProblem(known)
  if (problem !== undefined) throw invalid(name, problem)
  if (parameters === undefined) checkConversion(name, known, input)
  else checkBesides(name, known, input)
  return known
}

function checkConversion(name: string, known: JsonObject, input: StandardSchema): void {
  const converted = outputJsonSchemaOf(input)
  const late = converted && markAfterConversion(known, converted)
  if (late !== undefined)
    throw invalid(
      name,
      `${ENTITY_MARK} at ${late || 'the top'} is on the output of a conversion, and arguments are looked at by its input; put it there: z.string().meta(…).pipe(…)`,
    )
}

/** `parameters` count, so a mark of `input` is in both. */
function checkBesides(name: string, parameters: JsonObject, input: StandardSchema): void {
  const marked = markNames(parameters)
  const besides = [schemaOf(input), outputJsonSchemaOf(input)].flatMap((schema) => markNames(schema ?? {}))
  const lost = besides.find((mark) => !marked.includes(mark))
  if (lost !== undefined)
    throw invalid(
      name,
      `\`input\` has a mark of the entity ${quote(lost)} and \`parameters\`, which count, have none; put it there too`,
    )
}

function checkOutput(name: string, output: StandardSchema | undefined): void {
  const marks = markNames((output && schemaOf(output)) ?? {})
  if (marks.length === 0) return
  throw invalid(
    name,
    `\`output\` has a mark of the entity ${quote(marks[0])}, and only arguments are looked at; say with \`returns\` what a result shows`,
  )
}

/** Undefined if the schema's library cannot convert it. */
function schemaOf(schema: StandardSchema): JsonObject | undefined {
  try {
    return jsonSchemaOf(schema, '')
  } catch {
    return undefined
  }
}

function invalid(name: unknown, why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `Tool ${quote(name)} cannot be used: ${why}.` })
}
