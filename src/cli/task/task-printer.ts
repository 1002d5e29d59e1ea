/**
 * Prints the run of a task for a person: plans, calls, texts and verdicts as they come, and below them, on a terminal,
 * the todo list and the current step. It prints events and starts nothing.
 */
import type { Json } from 'holdfast'
import type { GraphEvent } from 'holdfast/graph'
import { bold, cyan, dim, green, joinLines, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { argumentsText, callLines, progressText, toolText } from '../terminal/call-line.ts'
import { counted, cut, oneLine, retryText, spanText } from '../terminal/text.ts'
import { wrapText } from '../terminal/word-wrap.ts'

export interface TaskView {
  readonly columns: number
  /** Prints lines that stay. */
  readonly print: (text: Styled) => void
  /** Replaces the lines at the lower end. Absent: there is no terminal. */
  readonly setLive?: (lines: readonly Styled[]) => void
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const TICK_MS = 100
const MOST_TODO = 8
const MOST_ROWS = 40
const WIDEST = 100

const STEPS: Readonly<Record<string, string>> = {
  planner: 'planning',
  agent: 'thinking',
  tools: 'working',
  verifier: 'verifying',
  replan: 'planning again',
}
/** Tools whose results are shown in another way. */
const SHOWN_APART = new Set(['write_todo_list', 'attempt_completion'])

interface RunningCall {
  readonly tool: string
  readonly args: Json
  readonly startedAt: number
  progress?: string
}

type EventOf<T extends GraphEvent['type']> = Extract<GraphEvent, { readonly type: T }>
type Handlers = { readonly [T in GraphEvent['type']]?: (event: EventOf<T>) => void }

export class TaskPrinter {
  readonly #view: TaskView
  readonly #calls = new Map<string, RunningCall>()
  #node = ''
  #since = performance.now()
  #todo = ''
  #notice = ''
  #frame = 0
  #timer: NodeJS.Timeout | undefined
  readonly #handlers: Handlers = {
    'graph.step': ({ data }) => {
      this.#node = data.tasks[0]?.node ?? ''
      this.#since = performance.now()
    },
    'model.end': ({ path, data }) => {
      const texts = data.content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []))
      if (nodeOf(path) === 'agent' && texts.join('') !== '') this.#text(texts.join('\n'))
      const { message, next } = data.error ?? {}
      if (typeof message === 'string' && next !== 'fail') this.#view.print(yellow(retryText(message)))
    },
    'tool.start': ({ data: { callId, tool, args } }) => {
      this.#calls.set(callId, { tool, args, startedAt: performance.now() })
    },
    'tool.progress': ({ data: { callId, progress } }) => {
      const call = this.#calls.get(callId)
      if (call !== undefined) call.progress = progressText(progress)
    },
    'tool.end': (event) => this.#endCall(event),
    'node.end': ({ data }) => this.#endNode(data),
    warning: ({ data }) => this.#view.print(yellow(`! ${oneLine(data.message)}`)),
  }

  constructor(view: TaskView) {
    this.#view = view
  }

  /** Shows the live lines, until `stop`. */
  start(): void {
    if (this.#view.setLive === undefined || this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#tick()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#view.setLive?.([])
  }

  /** Shows a line below the current step. */
  announce(notice: string): void {
    this.#notice = notice
    this.#tick()
  }

  event(event: GraphEvent): void {
    const handle = this.#handlers[event.type] as ((event: GraphEvent) => void) | undefined
    handle?.(event)
    this.#tick()
  }

  /** A plan or a todo list from before this process. */
  recall({ plan, planIteration, todoList }: RecalledTask): void {
    if (plan !== '') this.#plan(plan, planIteration)
    if (todoList !== null) this.#setTodo(todoList)
  }

  #endCall({ data, path }: EventOf<'tool.end'>): void {
    const call = this.#calls.get(data.callId)
    this.#calls.delete(data.callId)
    if (call === undefined || (data.status === 'ok' && SHOWN_APART.has(call.tool))) return
    const tookMs = performance.now() - call.startedAt
    const depth = nodeOf(path) === 'verifier' ? 1 : 0
    this.#view.print(callLines({ ...data, tool: call.tool, args: call.args, tookMs, depth }, this.#width))
  }

  #endNode({ node, update, error }: EventOf<'node.end'>['data']): void {
    const { plan, planIteration, todoList, isVerified, attempts } = (update ?? {}) as Readonly<
      Record<string, Json | undefined>
    >
    if (typeof plan === 'string') this.#plan(plan, Number(planIteration))
    if (typeof todoList === 'string') this.#setTodo(todoList)
    if (node === 'verifier' && error === undefined) this.#verdict(isVerified ?? null, attempts)
  }

  #plan(text: string, number: number): void {
    const rows = wrapText(text.trim(), this.#width - 2)
    const shown = rows.slice(0, MOST_ROWS).map((row) => styled`  ${row}`)
    const left = rows.length - shown.length
    this.#view.print(
      joinLines([
        bold(`Plan ${number}`),
        ...shown,
        ...(left > 0 ? [dim(`  … ${counted(left, 'more line')}`)] : []),
      ]),
    )
  }

  #setTodo(list: string): void {
    this.#todo = list
    if (this.#view.setLive !== undefined) return
    const { done, items } = todoOf(list)
    const next = items.find((item) => !isDone(item))
    const rest = next === undefined ? '' : `; next: ${oneLine(next)}`
    this.#view.print(dim(cut(`Todo: ${done} of ${items.length} done${rest}`, this.#width)))
  }

  #verdict(isVerified: Json, attempts: Json | undefined): void {
    const list = Array.isArray(attempts) ? (attempts as readonly Json[]) : []
    const {
      unmet = [],
      evidence = [],
      checkedBy = [],
    } = (list.at(-1) ?? {}) as Readonly<Record<string, readonly string[]>>
    const rows = (isVerified === true ? evidence : unmet)
      .map((each) => dim(cut(`  - ${oneLine(each)}`, this.#width)))
      .slice(0, MOST_TODO)
    const head =
      isVerified === null
        ? yellow('! no verdict')
        : isVerified === true
          ? green(`✓ verified${checkedBy.includes('criteria') ? '' : ' by a model; no criterion was run'}`)
          : red('✗ not verified')
    this.#view.print(joinLines([head, ...rows]))
  }

  #text(text: string): void {
    this.#view.print(joinLines(wrapText(text, this.#width).map((row) => styled`${row}`)))
  }

  get #width(): number {
    return this.#view.setLive === undefined ? Math.min(this.#view.columns, WIDEST) : this.#view.columns - 1
  }

  #tick(): void {
    if (this.#timer === undefined) return
    this.#frame = (this.#frame + 1) % FRAMES.length
    this.#view.setLive?.(this.#lines())
  }

  #lines(): Styled[] {
    const now = performance.now()
    const spinner = cyan(FRAMES[this.#frame] ?? '')
    const line = (text: string, rest: string): Styled =>
      styled`${spinner} ${cut(text, this.#width - 2)}${dim(cut(rest, this.#width - 2 - text.length))}`
    const calls = [...this.#calls.values()].slice(0, MOST_TODO).map(({ tool, args, startedAt, progress }) => {
      const what = progress ?? argumentsText(args)
      return line(toolText(tool), `  ${spanText(now - startedAt)}${what === '' ? '' : `  ${what}`}`)
    })
    const alone = line(STEPS[this.#node] ?? 'starting', `  ${spanText(now - this.#since)}`)
    return [
      ...todoLines(this.#todo, this.#width),
      ...(calls.length > 0 ? calls : [alone]),
      ...(this.#notice === '' ? [] : [dim(cut(`  ${this.#notice}`, this.#width))]),
    ]
  }
}

/** A part of the task's results. */
export interface RecalledTask {
  readonly plan: string
  readonly planIteration: number
  readonly todoList: string | null
}

function nodeOf([task = '']: readonly string[]): string {
  return task.split('.')[0] ?? ''
}

interface Todo {
  readonly items: readonly string[]
  readonly done: number
}

function todoOf(list: string): Todo {
  const items = list.split('\n').filter((row) => row.trim() !== '')
  return { items, done: items.filter(isDone).length }
}

function isDone(item: string): boolean {
  return /^\s*\d+\.\s*\[[xX]\]/.test(item)
}

/** The items around the first open one: a long list must not fill the screen. */
function todoLines(list: string, width: number): Styled[] {
  if (list === '') return []
  const { items, done } = todoOf(list)
  const open = items.findIndex((item) => !isDone(item))
  const from = Math.max(0, Math.min((open < 0 ? items.length : open) - 2, items.length - MOST_TODO))
  const shown = items.slice(from, from + MOST_TODO)
  const left = items.length - shown.length
  const rest = left > 0 ? `, ${left} not shown` : ''
  return [
    dim(cut(`Todo: ${done} of ${items.length} done${rest}`, width)),
    ...shown.map((item) => {
      const row = cut(`  ${oneLine(item)}`, width)
      return isDone(item) ? dim(row) : styled`${row}`
    }),
  ]
}
