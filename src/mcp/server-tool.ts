/** A tool of a server as a tool of an agent: its definition from the listing, and one call of it. */
import { grounded } from '../grounding/index.ts'
import { defined, type Json, type JsonObject, quote } from '../protocol/index.ts'
import {
  ask,
  defineTool,
  issueLines,
  type SchemaCheck,
  schemaCheck,
  type Tool,
  type ToolContext,
  thrownText,
  toJson,
  toolResult,
  UnknownOutcome,
} from '../tool/index.ts'
import { type CallFailure, failureOf, failureText, unreadableText } from './call-errors.ts'
import { type LiveServer, type ServerConnection } from './connection.ts'
import { contentOf } from './content.ts'
import { QuestionedCall, type ServerQuestion } from './questions.ts'
import { boundedSchema, isHeavy } from './schema-work.ts'
import type { CallToolResult, ListedTool } from './sdk.ts'
import { seenText } from './seen-text.ts'
import { LONGEST_DESCRIPTION, serverSchema } from './server-schema.ts'

const TIMEOUT_MS = 60_000
/** Progress keeps a call alive, but not for ever. */
const LONGEST_CALL_MS = 60 * 60 * 1000

/** The tool, or why there is none. Never throws: a bad definition costs its own tool only. */
export function serverTool(connection: ServerConnection, listed: ListedTool, name: string): Tool | string {
  try {
    const schema = serverSchema(listed.inputSchema)
    if (typeof schema === 'string') return `its input schema cannot be used: ${schema}`
    const { server, hints } = trusted(connection, listed)
    const output = outputCheck(listed.outputSchema)
    const tool = defineTool({
      name,
      description: descriptionOf(connection, listed),
      input: boundedSchema(schema.checked),
      parameters: schema.shown,
      replay: hints.readOnlyHint === true || hints.idempotentHint === true ? 'safe' : 'never',
      approve: hints.readOnlyHint === true ? 'never' : 'always',
      origin: { kind: 'mcp', server },
      run: (input, context) => new ServerCall(connection, { listed, output, context }).run(input),
    })
    const mapping = connection.settings.options.grounding?.[listed.name]
    return mapping === undefined ? tool : grounded(tool, mapping)
  } catch (error) {
    return thrownText(error)
  }
}

interface Hints {
  readonly readOnlyHint?: boolean | undefined
  readonly idempotentHint?: boolean | undefined
}

/** The hints of a tool; none if the config does not trust it. */
function trusted(
  { settings: { name: server, options } }: ServerConnection,
  { name, annotations = {} }: ListedTool,
): { readonly server: string; readonly hints: Hints } {
  const { trust = false } = options
  const isTrusted = typeof trust === 'boolean' ? trust : trust.includes(name)
  return { server, hints: isTrusted ? annotations : {} }
}

function descriptionOf(
  { settings }: ServerConnection,
  { name, title, description = '' }: ListedTool,
): string {
  const text = seenText(description, LONGEST_DESCRIPTION)
  return text === ''
    ? seenText(`${title ?? name} of the MCP server ${settings.name}`, LONGEST_DESCRIPTION)
    : text
}

/** The check of structured content. An unusable schema checks nothing, and so does one that takes too many steps. */
function outputCheck(given: unknown): (() => Promise<SchemaCheck>) | undefined {
  const schema = given === undefined ? 'none' : serverSchema(given)
  if (typeof schema === 'string') return undefined
  let loaded: Promise<SchemaCheck> | undefined
  const { checked } = schema
  return async () => {
    const check = await (loaded ??= schemaCheck(checked))
    return (value) => (isHeavy(checked, value) ? [] : check(value))
  }
}

interface CallOptions {
  readonly listed: ListedTool
  readonly output: (() => Promise<SchemaCheck>) | undefined
  readonly context: ToolContext
}

/** One call, up to its result or its questions. */
class ServerCall {
  readonly #connection: ServerConnection
  readonly #options: CallOptions
  /** Of the last attempt. */
  #questioned: QuestionedCall
  readonly #isSafe: boolean

  constructor(connection: ServerConnection, options: CallOptions) {
    this.#connection = connection
    this.#options = options
    const { listed } = options
    const { hints } = trusted(connection, listed)
    this.#questioned = this.#newQuestions()
    this.#isSafe = hints.readOnlyHint === true || hints.idempotentHint === true
  }

  async run(input: JsonObject): Promise<unknown> {
    const first = await this.#attempt(input)
    const failed = 'failure' in first && first.failure
    const isAgain = failed === 'expired' || failed === 'unsent' || (failed === 'lost' && this.#isSafe)
    const isStopped = this.#options.context.signal.aborted || this.#questioned.asked.length > 0
    if (isAgain && !isStopped) this.#questioned = this.#newQuestions()
    const last = isAgain && !isStopped ? await this.#attempt(input) : first
    if (this.#questioned.asked.length > 0) return ask(this.#questioned.asked)
    return 'failure' in last ? this.#fail(last) : this.#resultOf(last.result)
  }

  #newQuestions(): QuestionedCall {
    const { listed, context } = this.#options
    const about = { server: this.#connection.settings.name, tool: listed.name }
    return new QuestionedCall(about, context.answers, (problem) => this.#connection.note(problem))
  }

  async #attempt(input: JsonObject): Promise<Attempt> {
    const { context, listed } = this.#options
    const { signal } = context
    const live = await this.#connection.connected(signal)
    const { timeoutMs = TIMEOUT_MS } = this.#connection.settings.options
    const { name, inputSchema } = listed
    try {
      const result = await this.#connection.questions.during(this.#questioned, () =>
        live.client.callTool(
          { name, arguments: input },
          {
            signal: AbortSignal.any([signal, this.#questioned.stopped]),
            timeout: timeoutMs,
            maxTotalTimeout: Math.max(timeoutMs, LONGEST_CALL_MS),
            resetTimeoutOnProgress: true,
            onprogress: ({ progress, total, message }) =>
              context.progress(defined({ progress, total, message })),
            toolDefinition: { name, inputSchema },
          },
        ),
      )
      this.#connection.succeeded()
      return { result: this.#redacted(result) }
    } catch (error) {
      return this.#failed(live, error)
    }
  }

  /** A server may repeat the keys that the config gives it. */
  #redacted(result: CallToolResult): CallToolResult {
    const { secrets } = this.#connection
    const json = secrets.isEmpty ? undefined : toJson(result)
    return json === undefined || json instanceof Error ? result : (secrets.json(json) as CallToolResult)
  }

  async #failed(live: LiveServer, error: unknown): Promise<Attempt> {
    const failure = this.#questioned.isLost ? 'lost' : failureOf(live.sdk, error)
    if (failure === 'expired') await this.#connection.drop(live, 'It has forgotten the session.')
    if (failure === 'unsent') await this.#connection.drop(live, failureText(error))
    if (error instanceof live.sdk.UrlElicitationRequiredError) await this.#askFor(error.elicitations)
    return { failure, error }
  }

  /** Addresses to open first. A server that asks again after the answer has refused the call. */
  async #askFor(questions: readonly ServerQuestion[]): Promise<void> {
    const unknown = questions.filter((question) => !this.#questioned.knows({ ...question, mode: 'url' }))
    await Promise.all(unknown.map((question) => this.#questioned.answer({ ...question, mode: 'url' })))
  }

  #fail({ failure, error }: FailedAttempt): never {
    const { signal } = this.#options.context
    const server = `The MCP server ${quote(this.#connection.settings.name)}`
    const text = this.#connection.secrets.text(failureText(error))
    if (failure === 'refused') throw new Error(`${server} refused the call: ${text}`)
    if (failure === 'unsent' || failure === 'expired')
      throw new Error(`${server} did not take the call, and did nothing: ${text}`)
    if (signal.aborted)
      throw new UnknownOutcome(
        `The call was cancelled, and ${server.replace('T', 't')} was told so.`,
        'cancelled',
      )
    if (failure === 'unreadable') {
      const why = this.#connection.secrets.text(unreadableText(error))
      throw new UnknownOutcome(
        `${server} answered, but its answer breaks the protocol: ${why.replace(/\.?$/, '.')}`,
        'connection-lost',
      )
    }
    if (failure === 'timeout') throw new UnknownOutcome(`${server} did not answer in time.`, 'timeout')
    const why = this.#questioned.isLost ? 'Its answer broke off.' : (this.#connection.error ?? text)
    throw new UnknownOutcome(
      `The connection to ${server.replace('T', 't')} was lost in this call. ${why.replace(/\.?$/, '.')}`,
      'connection-lost',
    )
  }

  async #resultOf(result: CallToolResult): Promise<unknown> {
    const { data, display } = await contentOf(result, this.#options.context)
    if (result.isError === true) return toolResult(data, display, { failed: true })
    const problem = await this.#outputProblem(result)
    if (problem !== undefined)
      return toolResult({ error: `The tool ran to its end, but ${problem}.`, data }, problem, {
        failed: true,
      })
    return display === '' ? data : toolResult(data, display)
  }

  async #outputProblem({ structuredContent }: CallToolResult): Promise<string | undefined> {
    const { output } = this.#options
    if (output === undefined) return undefined
    if (structuredContent === undefined) return 'it returned no structured content, which its schema promises'
    try {
      const issues = (await output())(structuredContent as Json)
      return issues.length === 0
        ? undefined
        : `its result does not fit its own schema: ${issueLines(issues).join('; ')}`
    } catch {
      return undefined
    }
  }
}

interface FailedAttempt {
  readonly failure: CallFailure
  readonly error: unknown
}

type Attempt = { readonly result: CallToolResult } | FailedAttempt
