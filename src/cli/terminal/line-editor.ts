/**
 * The input line: Node's own editor with history and completion, plus pastes of several lines as one piece, hidden typing
 * while a turn runs, and hidden secrets. It does not know the meaning of a line.
 */
import { createInterface, type Interface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import {
  cursorUp,
  ERASE_BELOW,
  LINE_START,
  type Output,
  PASTE_MARKS_OFF,
  PASTE_MARKS_ON,
  SHOW_CURSOR,
  type Styled,
  styled,
  typeable,
  visible,
} from 'holdfast/terminal'
import { pasteFilter } from './paste-filter.ts'

export interface LineEditorOptions {
  readonly input: NodeJS.ReadStream
  readonly output: Output
  /** Newest first. */
  readonly history: readonly string[]
  /** Completions of the last word, and that word. */
  readonly complete: (line: string) => [string[], string]
}

/** A line; Ctrl-C; or Ctrl-D and the end of the input. */
export type Typed = { readonly type: 'line'; readonly text: string } | { readonly type: 'interrupt' | 'end' }

export interface ReadOptions {
  readonly prompt: Styled
  /** Not added to the history. */
  readonly answer?: boolean
  /** Not shown, and not added to the history. */
  readonly secret?: boolean
}

type Mode = 'shown' | 'hidden' | 'secret'

const RESUME_MS = 50
const PASTE_NAME = /\[paste \d+: \d+ lines\]/g

export class LineEditor {
  readonly #options: LineEditorOptions
  readonly #rl: Interface
  readonly #keys: Keys
  readonly #pastes = new Map<string, string>()
  readonly #early: string[] = []
  #mode: Mode = 'hidden'
  #remembers = true
  #listener: ((typed: Typed) => void) | undefined
  #isClosed = false

  constructor(options: LineEditorOptions) {
    this.#options = options
    const { input, output, history, complete } = options
    this.#keys = new Keys(input, (text) => this.#paste(text))
    this.#rl = createInterface({
      input: this.#keys,
      output: new MaskedOutput(output, () => this.#mode),
      terminal: true,
      history: history.map((line) => typeable(line)),
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: (line: string) => seenOnly(complete(line)),
      escapeCodeTimeout: 50,
    })
    this.#rl.on('history', (lines) => {
      if (!this.#remembers) lines.shift()
    })
    this.#rl.on('line', (line) => this.#deliver({ type: 'line', text: line }))
    this.#rl.on('SIGINT', () => this.#deliver({ type: 'interrupt' }))
    this.#rl.on('SIGTSTP', () => this.#suspend())
    this.#rl.on('close', () => {
      this.#isClosed = true
      this.#deliver({ type: 'end' })
    })
    if (output.isTTY) output.write(PASTE_MARKS_ON)
  }

  /** The current text of the line. */
  get line(): string {
    return this.#rl.line
  }

  /** Reads one visible line. Ctrl-C on a line that is not empty clears it instead. */
  read({ prompt, answer = false, secret = false }: ReadOptions): Promise<Typed> {
    const isAnswer = answer || secret
    const { output } = this.#options
    const early = isAnswer ? undefined : this.#early.shift()
    if (early !== undefined) {
      output.write(styled`${prompt}${early}\n`)
      return Promise.resolve({ type: 'line', text: early })
    }
    if (this.#isClosed) return Promise.resolve({ type: 'end' })
    // Text typed before a question is no answer to it.
    const begun = isAnswer ? this.#rl.line : ''
    if (begun !== '') this.clear()
    this.#remembers = !isAnswer
    this.#rl.setPrompt(output.prompt(prompt))
    this.#mode = 'shown'
    this.#rl.prompt(true)
    if (secret) this.#mode = 'secret'
    return new Promise((resolve) => {
      this.#listener = (typed) => {
        if (typed.type === 'interrupt' && this.#rl.line !== '') {
          this.clear()
          return
        }
        if (secret || typed.type === 'interrupt') output.write(styled`\n`)
        this.listenHidden(undefined)
        if (begun !== '') this.prefill(begun)
        resolve(typed)
      }
    })
  }

  get isReading(): boolean {
    return this.#mode !== 'hidden'
  }

  /** Prints lines above the one being typed, which does not change. */
  printAbove(text: Styled): void {
    const { rows } = this.#rl.getCursorPos()
    this.#options.output.write(styled`${LINE_START}${cursorUp(rows)}${ERASE_BELOW}${text}\n`)
    this.#redraw()
  }

  /** Draws prompt and line from the start of an empty row. */
  #redraw(): void {
    // The editor moves up by the rows that it drew last, and now it is on the first.
    Object.assign(this.#rl, { prevRows: 0 })
    if (this.#mode === 'secret') this.#options.output.echo(this.#rl.getPrompt())
    else this.#rl.prompt(true)
  }

  /** Hides typing from now on; whole lines go to the listener. */
  listenHidden(listener: ((typed: Typed) => void) | undefined): void {
    this.#mode = 'hidden'
    this.#remembers = listener !== undefined
    this.#listener = listener
    if (listener !== undefined) for (const text of this.#early.splice(0)) listener({ type: 'line', text })
  }

  /** Puts text at the start of the line. */
  prefill(text: string): void {
    if (this.#isClosed) return
    const rest = this.#rl.line
    this.clear()
    const oneLine = typeable(text.replaceAll('\n', ' '))
    this.#rl.write(oneLine + (rest === '' ? '' : ` ${rest}`))
  }

  clear(): void {
    if (this.#isClosed) return
    this.#rl.write(null, { ctrl: true, name: 'e' })
    this.#rl.write(null, { ctrl: true, name: 'u' })
  }

  /** The line with its pastes in full. */
  expand(line: string): string {
    return line.replaceAll(PASTE_NAME, (name) => this.#pastes.get(name) ?? name)
  }

  close(): void {
    this.#listener = undefined
    if (!this.#isClosed) this.#rl.close()
    this.#keys.close()
    if (this.#options.output.isTTY) this.#options.output.write(PASTE_MARKS_OFF)
  }

  /** Lines without a listener are kept for the next read of a message. */
  #deliver(typed: Typed): void {
    if (this.#listener !== undefined) this.#listener(typed)
    else if (typed.type === 'line') this.#early.push(typed.text)
  }

  /** Ctrl-Z: returns the terminal to the shell. Node's own handling reads no key after `fg`. */
  #suspend(): void {
    const { output } = this.#options
    output.write(styled`${PASTE_MARKS_OFF}${SHOW_CURSOR}`)
    this.#keys.setRawMode(false)
    // The whole job, as a terminal does: a launcher such as npx stops, too.
    process.kill(0, 'SIGTSTP')
    // Fires after `fg`; at once where no shell can stop the process, such as in a container.
    setTimeout(() => this.#resume(), RESUME_MS)
  }

  #resume(): void {
    if (this.#isClosed) return
    this.#keys.setRawMode(true)
    this.#options.output.write(PASTE_MARKS_ON)
    if (this.isReading) this.#redraw()
  }

  /** One line is inserted as if typed. Several become a short label, which `expand` replaces when the line is sent. */
  #paste(pasted: string): void {
    const breaks = pasted.replaceAll('\r\n', '\n').replaceAll('\r', '\n').replaceAll('\t', '  ')
    const text = typeable(breaks, '\n').replace(/\n+$/, '')
    if (!text.includes('\n')) {
      this.#rl.write(text)
      return
    }
    const name = `[paste ${this.#pastes.size + 1}: ${text.split('\n').length} lines]`
    this.#pastes.set(name, text)
    this.#rl.write(name)
  }
}

/** Only completions whose characters are all visible. */
function seenOnly([words, word]: [string[], string]): [string[], string] {
  return [words.filter((each) => visible(each) === each), word]
}

/** Control characters that are keys; others must not reach the line. */
const KEYS = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join('') + '\x7f'

/** The keyboard without its pastes. */
class Keys extends Readable {
  readonly #input: NodeJS.ReadStream
  readonly #listener: (chunk: Buffer) => void
  readonly isTTY = true

  constructor(input: NodeJS.ReadStream, onPaste: (text: string) => void) {
    super({ read: () => {} })
    this.#input = input
    const decoder = new StringDecoder('utf8')
    const filter = pasteFilter({ onKeys: (text) => this.push(typeable(text, KEYS)), onPaste })
    this.#listener = (chunk) => filter(decoder.write(chunk))
    input.on('data', this.#listener)
    input.once('end', () => this.push(null))
    input.resume()
  }

  setRawMode(on: boolean): this {
    this.#input.setRawMode?.(on)
    return this
  }

  close(): void {
    this.#input.off('data', this.#listener)
    this.#input.pause()
  }
}

/** A terminal that shows everything, nothing, or only the prompt. */
class MaskedOutput extends Writable {
  readonly #output: Output
  readonly #mode: () => Mode

  constructor(output: Output, mode: () => Mode) {
    super({ decodeStrings: false })
    this.#output = output
    this.#mode = mode
    output.onResize(() => this.emit('resize'))
  }

  /** Hidden text never wraps, so that the editor is on the first row when it becomes visible again. */
  get columns(): number {
    return this.#mode() === 'shown' ? (this.#output.columns ?? 80) : Number.POSITIVE_INFINITY
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#mode() === 'shown') this.#output.echo(String(chunk))
    done()
  }
}
