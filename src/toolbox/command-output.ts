/**
 * The output of a command: its beginning and end for the result, all of it up to a limit as an artifact, and parts of it
 * as progress. Memory stays bounded whatever is written.
 */
import { isUtf8 } from 'node:buffer'
import { systemTimer } from '../base/index.ts'
import type { Json } from '../protocol/index.ts'
import { type Artifacts, thrownText } from '../tool/index.ts'
import type { OutputStream } from './process-pipes.ts'
import { wholeCharacters } from './text-range.ts'

export interface CommandOutputOptions {
  readonly artifacts: Pick<Artifacts, 'createFile' | 'appendFile' | 'complete'>
  /** The id of the artifact. It is created only if the result cannot hold everything. */
  readonly artifactId: string
  readonly progress: (value: Json) => void
}

export interface OutputEnd {
  readonly stdout: string
  readonly stderr: string
  /** The id of the artifact, if there is one. */
  readonly artifact?: string
  /** Sentences about what is not as it was written. */
  readonly notes: readonly string[]
}

export class CommandOutput {
  readonly #streams: Readonly<Record<OutputStream, StreamText>> = {
    stdout: new StreamText(),
    stderr: new StreamText(),
  }
  readonly #artifact: OutputArtifact
  readonly #progress: OutputProgress

  constructor(options: CommandOutputOptions) {
    this.#artifact = new OutputArtifact(options)
    this.#progress = new OutputProgress(options.progress)
  }

  /** The promise of a write that the next output should wait for. */
  add(stream: OutputStream, bytes: Buffer): Promise<void> | undefined {
    return this.#addText(stream, this.#streams[stream].add(bytes))
  }

  async end(): Promise<OutputEnd> {
    for (const stream of ['stdout', 'stderr'] as const)
      void this.#addText(stream, this.#streams[stream].end())
    this.#progress.end()
    const { stdout, stderr } = this.#streams
    const kept = await this.#artifact.end()
    const rest = kept.artifact === undefined ? '' : `; all of it: artifact ${kept.artifact}`
    const isInvalid = stdout.isInvalid || stderr.isInvalid
    const notes = isInvalid
      ? ['Some output is no UTF-8; the bytes that are not were replaced by \uFFFD.']
      : []
    return { stdout: stdout.text(rest), stderr: stderr.text(rest), ...kept, notes: [...notes, ...kept.notes] }
  }

  #addText(stream: OutputStream, text: string): Promise<void> | undefined {
    if (text === '') return undefined
    this.#progress.add(stream, text)
    return this.#artifact.add(text, this.#streams[stream].isCut)
  }
}

const HEAD = 8000
const TAIL = 8000

/** One stream, decoded, with its beginning and its end. Lengths are in UTF-16 code units. */
class StreamText {
  isInvalid = false
  #undecoded: Buffer = Buffer.alloc(0)
  #head = ''
  #tail = ''
  #length = 0

  get isCut(): boolean {
    return this.#length > HEAD + TAIL
  }

  add(bytes: Buffer): string {
    const all = this.#undecoded.length === 0 ? bytes : Buffer.concat([this.#undecoded, bytes])
    const complete = wholeCharacters(all)
    this.#undecoded = Buffer.from(all.subarray(complete))
    return this.#keep(all.subarray(0, complete))
  }

  end(): string {
    const last = this.#undecoded
    this.#undecoded = Buffer.alloc(0)
    return this.#keep(last)
  }

  text(rest: string): string {
    if (!this.isCut) return this.#head + this.#tail
    const head = throughLastLine(this.#head)
    const tail = fromFirstLine(this.#tail)
    // A credential is recognised if it is cut off before an ellipsis.
    const mark = head.length < this.#head.length ? '' : '…'
    return `${head}${mark}\n[… ${this.#length - head.length - tail.length} characters were left out here${rest} …]\n${tail}`
  }

  #keep(bytes: Buffer): string {
    if (!isUtf8(bytes)) this.isInvalid = true
    const text = bytes.toString('utf8')
    const room = HEAD - this.#head.length
    this.#length += text.length
    this.#head += text.slice(0, room)
    this.#tail = (this.#tail + text.slice(room)).slice(-TAIL)
    return text
  }
}

/** Whole lines, unless the last one is long. */
function throughLastLine(head: string): string {
  const end = head.lastIndexOf('\n')
  return (end > head.length / 2 ? head.slice(0, end) : head).toWellFormed()
}

function fromFirstLine(tail: string): string {
  const start = tail.indexOf('\n')
  return (start >= 0 && start < tail.length / 2 ? tail.slice(start + 1) : tail).toWellFormed()
}

const CHUNK = 512 * 1024
const MOST_KEPT = 8 * 1024 * 1024

/** Both streams as a terminal would show them, in a file artifact that begins when the result is too small. */
class OutputArtifact {
  readonly #artifacts: CommandOutputOptions['artifacts']
  readonly #id: string
  #pending: string[] = []
  #pendingLength = 0
  #length = 0
  #dropped = 0
  #isOpen = false
  #failure: string | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor({ artifacts, artifactId }: CommandOutputOptions) {
    this.#artifacts = artifacts
    this.#id = artifactId
  }

  add(text: string, isNeeded: boolean): Promise<void> | undefined {
    const kept = text.slice(0, MOST_KEPT - this.#length)
    this.#length += kept.length
    this.#dropped += text.length - kept.length
    if (kept !== '' && this.#failure === undefined) this.#pending.push(kept)
    this.#pendingLength += kept.length
    if (isNeeded && !this.#isOpen) {
      this.#isOpen = true
      void this.#write(() => this.#artifacts.createFile(this.#id, { mediaType: 'text/plain' }))
    }
    return this.#isOpen && this.#pendingLength >= CHUNK ? this.#flush() : undefined
  }

  async end(): Promise<{ readonly artifact?: string; readonly notes: readonly string[] }> {
    if (!this.#isOpen) return { notes: [] }
    const dropped = `The artifact has the first ${this.#length} characters of the output; ${this.#dropped} more were dropped.`
    if (this.#dropped > 0) this.#pending.push(`\n[${dropped}]\n`)
    await this.#flush()
    await this.#write(() => this.#artifacts.complete(this.#id))
    if (this.#failure !== undefined) return { notes: [this.#failure] }
    return { artifact: this.#id, notes: this.#dropped > 0 ? [dropped] : [] }
  }

  #flush(): Promise<void> {
    const text = this.#pending.join('').toWellFormed()
    this.#pending = []
    this.#pendingLength = 0
    return this.#write(() => this.#artifacts.appendFile(this.#id, text))
  }

  #write(write: () => Promise<unknown>): Promise<void> {
    this.#writing = this.#writeAfter(this.#writing, write)
    return this.#writing
  }

  /** A failure must not fail the command, which has happened. */
  async #writeAfter(before: Promise<void>, write: () => Promise<unknown>): Promise<void> {
    await before
    if (this.#failure !== undefined) return
    try {
      await write()
    } catch (error) {
      this.#failure = `The whole output could not be kept: ${thrownText(error)}`
    }
  }
}

const PROGRESS_MS = 100
const MOST_PROGRESS = 8000

interface Segment {
  readonly stream: OutputStream
  text: string
}

/** At most one message in each interval, with whole lines where they are not long: half a secret is not recognised. */
class OutputProgress {
  readonly #publish: (value: Json) => void
  readonly #partial: Record<OutputStream, string> = { stdout: '', stderr: '' }
  #segments: Segment[] = []
  #length = 0
  #skipped = 0
  #cancel: (() => void) | undefined

  constructor(publish: (value: Json) => void) {
    this.#publish = publish
  }

  add(stream: OutputStream, added: string): void {
    const text = this.#partial[stream] + added
    const lastLine = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
    const end = text.length - lastLine > MOST_PROGRESS ? text.length : lastLine + 1
    this.#partial[stream] = text.slice(end)
    this.#queue(stream, text.slice(0, end))
  }

  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) this.#queue(stream, this.#partial[stream])
    this.#cancel?.()
    this.#flush()
  }

  #queue(stream: OutputStream, text: string): void {
    if (text === '') return
    const shown = text.slice(0, Math.max(0, MOST_PROGRESS - this.#length)).toWellFormed()
    this.#length += shown.length
    this.#skipped += text.length - shown.length
    const last = this.#segments.at(-1)
    if (shown !== '' && last?.stream === stream) last.text += shown
    else if (shown !== '') this.#segments.push({ stream, text: shown })
    this.#cancel ??= systemTimer.after(PROGRESS_MS, () => this.#flush())
  }

  #flush(): void {
    this.#cancel = undefined
    if (this.#segments.length === 0) return
    const output = this.#segments.map(({ stream, text }) => ({ stream, text }))
    this.#publish({ output, ...(this.#skipped > 0 ? { skipped: this.#skipped } : {}) })
    this.#segments = []
    this.#length = 0
    this.#skipped = 0
  }
}
