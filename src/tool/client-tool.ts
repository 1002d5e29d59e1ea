/** A tool that the caller runs: its call waits as a request, and the answer to the request is its result. */
import { checkMs, invalidOption, isObject, type Json, type JsonObject, shown } from '../protocol/index.ts'
import { defineTool } from './define-tool.ts'
import { ask, DEFAULT_NAME, toolResult } from './result.ts'
import { isStandardSchema, jsonSchemaOf, type SchemaOutput, type StandardSchema } from './standard-schema.ts'
import type { Tool, ToolDefinition } from './tool.ts'

/** A tool without `run`. */
export type ClientToolDefinition<S extends StandardSchema> = Omit<
  ToolDefinition<S, Json>,
  'run' | 'replay' | 'verify' | 'timeoutMs'
> & {
  /** The schema of the result: an answer that does not fit is refused. */
  readonly output?: StandardSchema
  /** How long a call waits for its result. Default: the agent's `requestTtlMs`. */
  readonly expiresInMs?: number
}

/**
 * The turn ends with status `input-required` and a request of kind `data`, whose `about` has `tool` and `arguments`. Answer
 * it with the result, or with `{ error: 'why' }` alone if there is none. The result is a program's, never the person's words.
 */
export function clientTool<S extends StandardSchema>(
  definition: ClientToolDefinition<S>,
): Tool<SchemaOutput<S>, Json> {
  checkClientTool(definition)
  const { expiresInMs, output, ...rest } = definition
  const schema = output === undefined ? undefined : answerSchema(output)
  const { name } = rest
  return defineTool({
    ...rest,
    // Asking has no effect.
    replay: 'safe',
    run: (input, { answers }) => {
      const answer = answers[DEFAULT_NAME]
      if (answer !== undefined)
        return isFailure(answer) ? toolResult(answer, answer.error, { failed: true }) : answer
      return ask({
        kind: 'data',
        prompt: `Run ${name} and answer with its result.`,
        about: { runBy: 'client', tool: name, arguments: input as Json },
        ...(schema === undefined ? {} : { schema }),
        ...(expiresInMs === undefined ? {} : { expiresInMs }),
      })
    },
  })
}

/** The caller runs it, under its own rules. */
const CALLERS = ['run', 'replay', 'verify', 'timeoutMs']

function checkClientTool(definition: unknown): void {
  if (!isObject(definition))
    throw invalidOption('clientTool()', `takes { name, description, input }, not ${shown(definition)}`)
  const { output, expiresInMs, ...rest } = definition as Readonly<Record<string, unknown>>
  const callers = CALLERS.find((option) => rest[option] !== undefined)
  if (callers !== undefined)
    throw invalidOption('clientTool()', `takes no \`${callers}\`: the caller runs it`)
  if (output !== undefined && !isStandardSchema(output))
    throw invalidOption(
      '`output` of clientTool()',
      `must be a schema such as z.object({ … }), not ${shown(output)}`,
    )
  if (expiresInMs !== undefined) checkMs('expiresInMs', expiresInMs, 1)
}

const FAILURE: JsonObject = {
  type: 'object',
  properties: { error: { type: 'string' } },
  required: ['error'],
  additionalProperties: false,
}

function answerSchema(output: StandardSchema): JsonObject {
  return { anyOf: [jsonSchemaOf(output, 'Leave `output` out'), FAILURE] }
}

function isFailure(answer: Json): answer is { readonly error: string } {
  return isObject(answer) && Object.keys(answer).length === 1 && typeof answer['error'] === 'string'
}
