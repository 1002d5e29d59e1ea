/** A tool of a server as a tool of an agent: its definition from the listing, and one call of it. */
import { grounded } from '../grounding/index.ts'
import { defined, type Json, type JsonObject } from '../protocol/index.ts'
import {
  type AskRequest,
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
} from '../tool/index.ts'
import { type FailedRequest, requestError } from './call-errors.ts'
import { type LiveServer, type ServerConnection } from './connection.ts'
import { contentOf } from './content.ts'
import { QuestionedCall, type ServerQuestion } from './questions.ts'
import { boundedSchema, isHeavy } from './schema-work.ts'
import type { CallToolResult, ListedTool } from './sdk.ts'
import { seenText } from './seen-text.ts'
import { LONGEST_DESCRIPTION, serverSchema } from './server-schema.ts'

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
    const last = isAgain && !isStopped ? await this.#attemptAfter(first, input) : first
    if ('result' in last) return this.#resultOf(last.result)
    const { asked } = this.#questioned
    if (asked.length === 0) return this.#fail(last)
    return ask(this.#connection.secrets.json(asked as unknown as Json) as unknown as AskRequest[])
  }

  #newQuestions(): QuestionedCall {
    const { listed, context } = this.#options
    const about = { server: this.#connection.settings.name, tool: listed.name }
    return new QuestionedCall(about, context.answers, (problem) => this.#connection.note(problem))
  }

  /** A server that cannot be reached any more may have received the first attempt. */
  async #attemptAfter(first: Attempt, input: JsonObject): Promise<Attempt> {
    try {
      return await this.#attempt(input)
    } catch (error) {
      if ('failure' in first && first.failure === 'lost') return first
      throw error
    }
  }

  #attempt(input: JsonObject): Promise<Attempt> {
    const { signal } = this.#options.context
    return this.#connection.questions.during(this.#questioned, signal, async () => {
      const live = await this.#connection.connected(signal)
      try {
        const result = await this.#send(live, input)
        this.#questioned.isAnswered = true
        this.#connection.succeeded()
        return { result: this.#redacted(result) }
      } catch (error) {
        return this.#failed(live, error)
      }
    })
  }

  #send({ client }: LiveServer, input: JsonObject): Promise<CallToolResult> {
    const { context, listed } = this.#options
    const { timeoutMs, longestMs } = this.#connection
    const { name, inputSchema } = listed
    return client.callTool(
      { name, arguments: input },
      {
        signal: AbortSignal.any([context.signal, this.#questioned.stopped]),
        timeout: timeoutMs,
        maxTotalTimeout: longestMs,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message }) =>
          context.progress(this.#connection.secrets.json(defined({ progress, total, message }))),
        toolDefinition: { name, inputSchema },
      },
    )
  }

  /** A server may repeat the keys that the config gives it, also in a part that cannot be read and is replaced. */
  #redacted(result: CallToolResult): CallToolResult {
    const { secrets } = this.#connection
    if (secrets.isEmpty) return result
    const parts = Object.entries(result).map(([name, part]) => {
      const json = toJson(part)
      if (!(json instanceof Error)) return [name, secrets.json(json)] as const
      const text = `It cannot be used: ${json.message}.`
      return [name, name === 'content' ? [{ type: 'text', text }] : { error: text }] as const
    })
    return Object.fromEntries(parts) as unknown as CallToolResult
  }

  async #failed(live: LiveServer, error: unknown): Promise<Attempt> {
    const failure = this.#questioned.isLost ? 'lost' : await this.#connection.failureOf(live, error)
    this.#questioned.isAnswered = failure === 'refused' || failure === 'unreadable'
    if (error instanceof live.sdk.UrlElicitationRequiredError) await this.#askFor(error.elicitations)
    return { failure, error }
  }

  /** Addresses to open first. A server that asks again after the answer has refused the call. */
  async #askFor(questions: readonly ServerQuestion[]): Promise<void> {
    const unknown = questions.filter((question) => !this.#questioned.knows({ ...question, mode: 'url' }))
    await Promise.all(unknown.map((question) => this.#questioned.answer({ ...question, mode: 'url' })))
  }

  #fail(failed: FailedRequest): never {
    const { settings, secrets, error } = this.#connection
    const lossText = this.#questioned.isLost ? 'Its answer broke off.' : error
    throw requestError(
      { name: settings.name, secrets },
      { ...failed, lossText },
      this.#options.context.signal.aborted,
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

type Attempt = { readonly result: CallToolResult } | FailedRequest
