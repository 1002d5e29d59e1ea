/**
 * Records the replies of a real model in a file and replays them: exactly, in order, and only to the same requests. The
 * file holds neither headers nor keys. It does not know the runtime; ids of calls are compared by order of appearance,
 * since they differ from run to run.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { LanguageModel, ModelCall, ModelStream, ModelStreamPart } from '../model/index.ts'
import { HoldfastError, type JsonObject } from '../protocol/index.ts'
import { whenAborted } from './when-aborted.ts'

export interface RecordedModel extends LanguageModel {
  /**
   * Call it at the end: waits until the recording is in the file; when replaying, rejects if a request differed, or if
   * recorded calls are left over.
   */
  done(): Promise<void>
}

export interface RecordedModelOptions {
  /** By default: replay if the file exists, else record. */
  readonly mode?: 'record' | 'replay'
}

/**
 * Replays the file at `path`; if there is none, or with mode `record`, calls `inner` and rewrites the file after every
 * call.
 */
export function recordedModel(
  path: string,
  inner?: LanguageModel,
  { mode }: RecordedModelOptions = {},
): RecordedModel {
  if ((mode ?? (existsSync(path) ? 'replay' : 'record')) === 'replay')
    return new Replay(path, readRecording(path))
  if (inner) return new Recorder(path, inner)
  throw new HoldfastError('not-found', {
    message: `There is no recording at ${path}. Pass a model as the second argument to make one.`,
    details: { path },
  })
}

const FORMAT = 1

interface Recording {
  readonly format: number
  readonly model: Pick<LanguageModel, 'specificationVersion' | 'provider' | 'modelId'>
  readonly calls: readonly RecordedCall[]
}

interface RecordedCall {
  readonly request: JsonObject
  readonly parts: readonly ModelStreamPart[]
  /** The end of the call, if not its last part: refused, broken, or cancelled by the reader. */
  readonly error?: RecordedError
  readonly left?: true
}

/** The texts that tell the kind of a failure, of an error and of those that it wraps. */
interface RecordedCause {
  readonly message?: string
  readonly name?: string
  readonly type?: string
  readonly code?: string | number
  readonly cause?: RecordedCause
}

interface RecordedError extends RecordedCause {
  readonly message: string
  readonly statusCode?: number
  readonly isRetryable?: boolean
  readonly responseHeaders?: { readonly 'retry-after': string }
  /** The call was refused; there was no stream. */
  readonly refused?: true
}

class Recorder implements RecordedModel {
  readonly specificationVersion: 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  readonly #path: string
  readonly #inner: LanguageModel
  readonly #calls: (RecordedCall | undefined)[] = []
  readonly #open = new Set<Promise<void>>()

  constructor(path: string, inner: LanguageModel) {
    this.specificationVersion = inner.specificationVersion
    this.provider = inner.provider
    this.modelId = inner.modelId
    this.#path = path
    this.#inner = inner
  }

  async doStream(call: ModelCall): Promise<ModelStream> {
    const slot = this.#calls.push(undefined) - 1
    const request = normalise(call)
    const ended = Promise.withResolvers<void>()
    this.#open.add(ended.promise)
    const save: Save = (rest) => {
      // A read that was under way ends after a cancel of the stream.
      if (this.#calls[slot] !== undefined) return
      this.#calls[slot] = { request, ...rest }
      this.#write()
      this.#open.delete(ended.promise)
      ended.resolve()
    }
    try {
      const { stream } = await this.#inner.doStream(call)
      return { stream: tapped(stream, save, call.abortSignal) }
    } catch (error) {
      save({ parts: [], ...(call.abortSignal?.aborted ? { left: true } : { error: errorOf(error, true) }) })
      throw error
    }
  }

  async done(): Promise<void> {
    await Promise.all(this.#open)
  }

  #write(): void {
    const { specificationVersion, provider, modelId } = this
    const calls = this.#calls.filter((call) => call !== undefined)
    const recording: Recording = { format: FORMAT, model: { specificationVersion, provider, modelId }, calls }
    mkdirSync(dirname(this.#path), { recursive: true })
    const temporary = `${this.#path}.${process.pid}.tmp`
    writeFileSync(temporary, `${JSON.stringify(recording, undefined, 2)}\n`)
    renameSync(temporary, this.#path)
  }
}

type Save = (rest: Omit<RecordedCall, 'request'>) => void

/** Passes a stream on and saves its parts, however it ends. */
function tapped(
  stream: ReadableStream<ModelStreamPart>,
  save: Save,
  signal: AbortSignal | undefined,
): ReadableStream<ModelStreamPart> {
  const reader = stream.getReader()
  const parts: ModelStreamPart[] = []
  return new ReadableStream<ModelStreamPart>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (done) {
          save({ parts })
          controller.close()
          return
        }
        parts.push(value.type === 'error' ? { type: 'error', error: errorOf(value.error, false) } : value)
        controller.enqueue(value)
      } catch (error) {
        save({ parts, ...(signal?.aborted ? { left: true } : { error: errorOf(error, false) }) })
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      save({ parts, left: true })
      await reader.cancel(reason)
    },
  })
}

class Replay implements RecordedModel {
  readonly specificationVersion: 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  readonly #path: string
  readonly #calls: readonly RecordedCall[]
  #next = 0
  #surprise: Error | undefined

  constructor(path: string, { model, calls }: Recording) {
    this.specificationVersion = model.specificationVersion
    this.provider = model.provider
    this.modelId = model.modelId
    this.#path = path
    this.#calls = calls
  }

  async doStream(call: ModelCall): Promise<ModelStream> {
    const recorded = this.#match(normalise(call))
    const { parts, error, left } = recorded
    if (error?.refused) throw asError(error)
    if (left && parts.length === 0) await whenAborted(call.abortSignal)
    const stream = new ReadableStream<ModelStreamPart>({
      start: (controller) => {
        for (const part of parts) controller.enqueue(part)
        if (error) controller.error(asError(error))
        else if (left) whenAborted(call.abortSignal).catch((reason: unknown) => controller.error(reason))
        else controller.close()
      },
    })
    return { stream }
  }

  done(): Promise<void> {
    const left = this.#calls.length - this.#next
    const error =
      left === 0 ? undefined : this.#problem(`${left} of its ${this.#calls.length} calls are left over`)
    const problem = this.#surprise ?? error
    return problem ? Promise.reject(problem) : Promise.resolve()
  }

  #match(request: JsonObject): RecordedCall {
    const number = ++this.#next
    const recorded = this.#calls[number - 1]
    if (recorded === undefined) {
      throw this.#problem(`it holds ${this.#calls.length} calls, and this is call ${number}`)
    }
    const difference = firstDifference(recorded.request, request, '')
    if (difference !== undefined) throw this.#problem(`call ${number} differs at ${difference}`)
    return recorded
  }

  /** An error in the shape of a refused request, so that no caller retries it. */
  #problem(what: string): Error {
    const message = `The recording ${this.#path} does not fit: ${what}. Delete the file to record it again.`
    const problem = Object.assign(new Error(message), { statusCode: 400, isRetryable: false })
    this.#surprise ??= problem
    return problem
  }
}

function readRecording(path: string): Recording {
  if (!existsSync(path)) {
    throw new HoldfastError('not-found', {
      message: `There is no recording at ${path}. Record one first, with a model as the second argument.`,
      details: { path },
    })
  }
  let recording: Partial<Recording> | undefined
  let cause: unknown
  try {
    recording = JSON.parse(readFileSync(path, 'utf8')) as Partial<Recording>
  } catch (error) {
    cause = error
  }
  if (recording?.format === FORMAT && recording.model && Array.isArray(recording.calls))
    return recording as Recording
  throw new HoldfastError('invalid-option', {
    message: `The file ${path} is not a recording of format ${FORMAT}. Delete it to record it again.`,
    details: { path },
    cause,
  })
}

/** A request in its stored form: without headers, and with the ids of calls by order of appearance. */
function normalise(request: ModelCall): JsonObject {
  const { headers: _headers, abortSignal: _signal, ...call } = request
  const ids = new Map<string, string>()
  const text = JSON.stringify(call, (key, value: unknown) => {
    if (key !== 'toolCallId' || typeof value !== 'string') return value
    const known = ids.get(value) ?? `call-${ids.size + 1}`
    ids.set(value, known)
    return known
  })
  return JSON.parse(text) as JsonObject
}

function firstDifference(recorded: unknown, request: unknown, at: string): string | undefined {
  if (isObject(recorded) && isObject(request)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(request)])) {
      const path = Array.isArray(recorded) ? `${at}[${key}]` : at === '' ? key : `${at}.${key}`
      const found = firstDifference(recorded[key], request[key], path)
      if (found !== undefined) return found
    }
    return undefined
  }
  return recorded === request
    ? undefined
    : `${at}: recorded was ${shown(recorded)}, received ${shown(request)}`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 120)
}

/** An error without its headers, its request and its stack. */
function errorOf(error: unknown, refused: boolean): RecordedError {
  const fields = isObject(error) ? error : { message: String(error) }
  const { message, statusCode, isRetryable, responseHeaders } = fields as Partial<RecordedError>
  const wait = responseHeaders?.['retry-after']
  return {
    ...causeOf(fields, 0),
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(typeof statusCode === 'number' ? { statusCode } : {}),
    ...(typeof isRetryable === 'boolean' ? { isRetryable } : {}),
    ...(typeof wait === 'string' ? { responseHeaders: { 'retry-after': wait } } : {}),
    ...(refused ? { refused } : {}),
  }
}

const DEEPEST = 5

function causeOf(fields: Readonly<Record<string, unknown>>, depth: number): RecordedCause {
  const { message, name, type, code } = fields
  const inner = [fields['data'], fields['error'], fields['cause']].find(isObject)
  return {
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof name === 'string' && name !== 'Error' ? { name } : {}),
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(inner === undefined || depth === DEEPEST ? {} : { cause: causeOf(inner, depth + 1) }),
  }
}

function asError(recorded: RecordedError): Error {
  return Object.assign(new Error(recorded.message), recorded)
}
