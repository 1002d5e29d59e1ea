/**
 * Finds the files that made a model refuse a request, by repeating it without some of them. If it is refused without any
 * files too, they are not the cause. A reply that begins is aborted: it only shows that the request is accepted.
 */
import { addUsage, defined, type FilePart, fileTitle, type Message, type Usage } from '../protocol/index.ts'
import { ModelFailure, type NamedFile } from './failure.ts'
import { modelName } from './name.ts'
import { fileDigest, filesIn, withoutFiles } from './shown-files.ts'
import { type ModelRequest, streamModel } from './stream.ts'

/** The most requests; files that are not told apart by then count as refused together. */
const MOST_REQUESTS = 24

/**
 * The failure, or a `file-refused` in its place that names the files. Files since the model's last reply are suspected
 * first; those it has read before only after them, since a URL may have stopped working.
 */
export async function withRefusedFiles(request: ModelRequest, failure: ModelFailure): Promise<ModelFailure> {
  const all = distinct(filesIn(request.messages))
  if (all.length === 0 || !isRefusal(failure)) return failure
  const unread = distinct(filesIn(unreadMessages(request)))
  const trial = new Trial(request, failure)
  const suspects = unread.length === 0 || unread.length === all.length ? [all] : [unread, all]
  for (const files of suspects) {
    const refused = await trial.refused(files)
    if (refused.length > 0) return trial.blame(refused)
  }
  return trial.failed()
}

function distinct(files: readonly FilePart[]): FilePart[] {
  return [...new Map(files.map((file) => [fileDigest(file), file])).values()]
}

/** The messages since this model's last reply. */
function unreadMessages({ model, messages }: ModelRequest): readonly Message[] {
  const name = modelName(model)
  const replied = messages.findLastIndex((message) => message.role === 'assistant' && message.model === name)
  return messages.slice(replied + 1)
}

/** True if this request is refused whenever it is sent. */
function isRefusal({ kind, retryable }: ModelFailure): boolean {
  if (retryable) return false
  return kind === 'invalid' || kind === 'refused' || kind === 'context-length' || kind === 'unknown'
}

type TrialVerdict = 'taken' | 'refused' | 'unknown'

class Trial {
  readonly #request: ModelRequest
  readonly #failure: ModelFailure
  #usage: Usage
  #requests = 0
  /** A request failed for another reason, so nothing can be concluded. */
  #isInconclusive = false

  constructor(request: ModelRequest, failure: ModelFailure) {
    this.#request = request
    this.#failure = failure
    this.#usage = failure.usage
  }

  /** Of files that were refused together, the ones to blame. Empty if the files are not the cause. */
  async refused(files: readonly FilePart[]): Promise<readonly FilePart[]> {
    if (this.#isInconclusive || (await this.#ask(files, [])) !== 'taken') return []
    const found = await this.#search(files, files)
    if (this.#isInconclusive) return []
    // Each is accepted alone, and all together are not.
    return found.length === 0 ? files : found
  }

  /** The files in `among` that are refused when sent without the others. */
  async #search(all: readonly FilePart[], among: readonly FilePart[]): Promise<readonly FilePart[]> {
    if (among.length === 1 || this.#isInconclusive) return among
    const middle = Math.ceil(among.length / 2)
    const found: FilePart[] = []
    for (const half of [among.slice(0, middle), among.slice(middle)]) {
      if (this.#requests >= MOST_REQUESTS) found.push(...half)
      else if ((await this.#ask(all, half)) === 'refused') found.push(...(await this.#search(all, half)))
    }
    return found
  }

  /** The verdict on the request with only these files. */
  async #ask(all: readonly FilePart[], sent: readonly FilePart[]): Promise<TrialVerdict> {
    const names = new Set(sent.map(fileDigest))
    const unsent = new Set(all.map(fileDigest).filter((digest) => !names.has(digest)))
    const messages = withoutFiles(this.#request.messages, (file) =>
      unsent.has(fileDigest(file)) ? `[${fileTitle(file)}]` : undefined,
    )
    this.#requests += 1
    const verdict = await this.#try(messages)
    if (verdict === 'unknown') this.#isInconclusive = true
    return verdict
  }

  async #try(messages: readonly Message[]): Promise<TrialVerdict> {
    const { signal } = this.#request
    const enough = new AbortController()
    const onDelta = () => enough.abort()
    try {
      const { usage } = await streamModel({
        ...this.#request,
        messages,
        signal: AbortSignal.any([signal, enough.signal]),
        onDelta,
      })
      this.#usage = addUsage(this.#usage, usage)
      return 'taken'
    } catch (error) {
      const failure = error as ModelFailure
      this.#usage = addUsage(this.#usage, failure.usage)
      if (enough.signal.aborted) return 'taken'
      return !signal.aborted && isRefusal(failure) ? 'refused' : 'unknown'
    }
  }

  /** The original failure, with the usage of all requests. */
  failed(): ModelFailure {
    const { kind, message, status, retryable, partial, cause } = this.#failure
    return new ModelFailure(kind, {
      message,
      retryable,
      partial,
      cause,
      usage: this.#usage,
      ...defined({ status }),
    })
  }

  blame(files: readonly FilePart[]): ModelFailure {
    const { message, status, cause } = this.#failure
    const why = message.slice(0, MOST_WHY).replace(/[.\s]*$/, '.')
    const titles = files.slice(0, MOST_TITLES).map(fileTitle)
    const more = files.length > MOST_TITLES ? ` and ${files.length - MOST_TITLES} more` : ''
    const name = modelName(this.#request.model)
    return new ModelFailure('file-refused', {
      message: `${name} refused ${titles.join(', ')}${more}: ${why} The conversation goes on without that. Send it in another form, or ask another model.`,
      usage: this.#usage,
      files: files.map(namedFile),
      cause,
      ...defined({ status }),
    })
  }
}

const MOST_TITLES = 3
const MOST_WHY = 250

function namedFile(file: FilePart): NamedFile {
  const { mediaType, name } = file
  return { digest: fileDigest(file), mediaType, ...(name === undefined ? {} : { name: name.toWellFormed() }) }
}
