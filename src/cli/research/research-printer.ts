/** Prints a question to documents for a person: each search and step as it ends, a draft while it is written, the sources. */
import type { Json } from 'holdfast'
import type { GraphEvent } from 'holdfast/graph'
import type { ResearchAnswer, Source } from 'holdfast/research'
import { bold, cyan, dim, joinLines, type Styled, styled, yellow } from 'holdfast/terminal'
import { callLines } from '../terminal/call-line.ts'
import { counted, cut, oneLine, spanText } from '../terminal/text.ts'
import { wrapText } from '../terminal/word-wrap.ts'

export interface ResearchView {
  readonly columns: number
  /** Prints lines that stay. */
  readonly print: (text: Styled) => void
  /** Replaces the lines at the lower end. Absent: there is no terminal. */
  readonly setLive?: (lines: readonly Styled[]) => void
}

const STEPS: Readonly<Record<string, string>> = {
  orchestrator: 'reading the question',
  clarification: 'asking back',
  research: 'searching',
  synthesis: 'writing the answer',
}
/** The tools of the searches as people read them: documents are of many formats. */
export const SEARCHES: Readonly<Record<string, string>> = {
  pdf_retrieval: 'searched your documents',
  web_search: 'searched the web',
}
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const TICK_MS = 100
/** The last lines of a draft: its citations are not checked yet. */
const DRAFT_LINES = 4

type EventOf<T extends GraphEvent['type']> = Extract<GraphEvent, { readonly type: T }>
type Handlers = { readonly [T in GraphEvent['type']]?: (event: EventOf<T>) => void }

interface RunningSearch {
  readonly tool: string
  readonly args: Json
  readonly since: number
}

export class ResearchPrinter {
  readonly #view: ResearchView
  readonly #calls = new Map<string, RunningSearch>()
  #node = ''
  #since = performance.now()
  #draft = ''
  #frame = 0
  #timer: NodeJS.Timeout | undefined
  readonly #handlers: Handlers = {
    'graph.step': ({ data }) => {
      this.#node = data.tasks[0]?.node ?? ''
      this.#since = performance.now()
    },
    'model.start': () => {
      this.#draft = ''
    },
    'text.delta': ({ path, data }) => {
      if (path[0]?.startsWith('synthesis')) this.#draft += data.text
    },
    'tool.start': ({ data: { callId, tool, args } }) => {
      this.#calls.set(callId, { tool, args, since: performance.now() })
    },
    'tool.end': ({ data }) => {
      const call = this.#calls.get(data.callId)
      if (call === undefined) return
      const tookMs = performance.now() - call.since
      const tool = SEARCHES[call.tool] ?? call.tool
      const ended = { ...data, ...call, tool, tookMs, depth: 0, output: countText(data.output) }
      this.#view.print(callLines(ended, this.#view.columns))
    },
    warning: ({ data }) => this.#view.print(yellow(`! ${oneLine(data.message)}`)),
  }

  constructor(view: ResearchView) {
    this.#view = view
  }

  start(): void {
    if (this.#view.setLive === undefined) return
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    this.#tick()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#view.setLive?.([])
  }

  event(event: GraphEvent): void {
    const handle = this.#handlers[event.type] as ((event: GraphEvent) => void) | undefined
    handle?.(event)
  }

  #tick(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length
    const width = this.#view.columns - 1
    const step = STEPS[this.#node] ?? 'starting'
    const time = spanText(performance.now() - this.#since)
    const draft = this.#draft === '' ? [] : wrapText(this.#draft, width - 2).slice(-DRAFT_LINES)
    this.#view.setLive?.([
      styled`${cyan(FRAMES[this.#frame] ?? '')} ${step}${dim(`  ${time}`)}`,
      ...draft.map((line) => dim(cut(`  ${line}`, width))),
    ])
  }
}

/** The number of finds, instead of their texts. */
function countText(output: Json): Json {
  const { passages, pages } = Object(output) as { readonly passages?: unknown; readonly pages?: unknown }
  const found = passages ?? pages
  if (!Array.isArray(found)) return output
  return passages === undefined
    ? counted(found.length, 'part of a page', 'parts of pages')
    : counted(found.length, 'passage')
}

/** One line for each source, with its page and its quote. */
export function sourceLines(sources: readonly Source[], columns: number): Styled {
  return joinLines([
    bold('Sources'),
    ...sources.flatMap(({ number, title, page, source, quote }) => [
      styled`${`[${number}] ${oneLine(title)}`}${dim(page === null ? ` · ${source}` : ` · page ${page} · ${source}`)}`,
      ...wrapText(`“${oneLine(quote)}”`, Math.min(columns, 100) - 4).map((line) => dim(`    ${line}`)),
    ]),
  ])
}

export function summaryLine({ confidenceScore, isClarification }: ResearchAnswer): Styled {
  if (isClarification) return yellow('? Reply to go on')
  return dim(`confidence ${confidenceScore ?? 0}`)
}
