/** The breakpoints of a chat: which tools it stops at, and the prompt at a stop. */

import type { Json } from 'holdfast'
import { type BreakpointStop, breakpoint } from 'holdfast/plugins'
import {
  bold,
  cyan,
  dim,
  joinLines,
  red,
  type Styled,
  styled,
  visibleLines,
  visibleValue,
  yellow,
} from 'holdfast/terminal'
import { wrongUsage } from '../refusal.ts'
import { toolText } from '../terminal/call-line.ts'
import type { LineEditor } from '../terminal/line-editor.ts'
import type { Screen } from '../terminal/screen.ts'
import { cut, hardWrap } from '../terminal/text.ts'
import { waterfallLines } from '../terminal/waterfall.ts'

/** Runs while a turn waits at a tool. */
export type StopHandler = (stop: BreakpointStop) => Promise<void>

export class Breakpoints {
  readonly #before = new Set<string>()
  readonly #after = new Set<string>()
  /** Set by the chat while it shows a turn; without it, nothing stops. */
  onStop: StopHandler | undefined

  constructor(places: readonly string[] = []) {
    for (const place of places) this.add(place)
  }

  get isEmpty(): boolean {
    return this.#before.size + this.#after.size === 0
  }

  /** `pay`, `before pay` or `after pay`; also with a colon. */
  add(place: string): void {
    const [, when = 'before', tool = ''] = /^(?:(before|after)[:\s]+)?(\S+)$/.exec(place.trim()) ?? []
    if (tool === '' || tool === 'before' || tool === 'after')
      throw wrongUsage(`A breakpoint is TOOL, before:TOOL or after:TOOL, not ${JSON.stringify(place)}.`)
    const tools = when === 'after' ? this.#after : this.#before
    tools.add(tool)
  }

  clear(): void {
    this.#before.clear()
    this.#after.clear()
  }

  /** None without breakpoints: the hooks of a plugin are phases of every turn. */
  plugins(): readonly ReturnType<typeof breakpoint>[] {
    if (this.isEmpty) return []
    return [
      breakpoint({
        before: (tool) => this.#before.has(tool),
        after: (tool) => this.#after.has(tool),
        on: async (stop) => this.onStop?.(stop),
      }),
    ]
  }

  lines(): Styled[] {
    if (this.isEmpty) return [dim('None. Type /break TOOL, or /break after TOOL.')]
    const places = [
      ...[...this.#before].map((tool) => `before ${tool}`),
      ...[...this.#after].map((tool) => `after ${tool}`),
    ]
    return places.map((place) => styled`  ${place}`)
  }
}

export interface StopPrompt {
  readonly screen: Screen
  readonly editor: Pick<LineEditor, 'read' | 'expand'>
}

const MOST_ROWS = 12

/** Prompts until the turn may go on. Ctrl-C and Ctrl-D abort it. */
export async function promptAt(stop: BreakpointStop, { screen, editor }: StopPrompt): Promise<void> {
  screen.print(joinLines(stopLines(stop, screen.columns)))
  for (;;) {
    const typed = await editor.read({ prompt: styled`  ${dim(CHOICES)} ${cyan('›')} `, answer: true })
    const choice = typed.type === 'line' ? typed.text.trim().toLowerCase() : 'a'
    if (choice === '' || choice === 'c') return
    if (choice === 's') return stop.step()
    if (choice === 'a') return stop.abort(typed.type === 'line' ? 'by hand' : 'Ctrl-C')
    if (choice === 't') {
      const tree = { contextId: stop.contextId, trace: stop.trace, below: [] }
      screen.print(joinLines(waterfallLines(tree, { columns: screen.columns, now: Date.now() })))
    } else if (choice === 'e') await edit(stop, { screen, editor })
    else screen.print(red(`  ${cut(`${JSON.stringify(choice)} is none of these.`, screen.columns - 3)}`))
  }
}

const CHOICES = '[Enter continues, s steps, e edits, t traces, a aborts]'

function stopLines({ when, tool, args, result }: BreakpointStop, columns: number): Styled[] {
  const shown = result === undefined ? args : result.output
  const text = typeof shown === 'string' ? visibleLines(shown) : visibleValue(shown)
  const rows = hardWrap(text, columns - 4)
  const more = rows.length - MOST_ROWS
  return [
    styled`${yellow('●')} stopped ${when} ${bold(toolText(tool))}${result === undefined ? '' : ` (${result.status})`}`,
    ...rows.slice(0, MOST_ROWS).map((row) => styled`  ${row}`),
    ...(more > 0 ? [dim(`  … ${more} more lines`)] : []),
  ]
}

/** Reads JSON; for a result, any other text is taken as it is. An empty line changes nothing. */
async function edit(stop: BreakpointStop, { screen, editor }: StopPrompt): Promise<void> {
  const what = stop.when === 'before' ? 'arguments as JSON' : 'result as JSON or text'
  for (;;) {
    const typed = await editor.read({ prompt: styled`  ${dim(what)} ${cyan('›')} `, answer: true })
    const text = typed.type === 'line' ? editor.expand(typed.text).trim() : ''
    if (text === '') return
    const value = jsonOf(text) ?? (stop.when === 'after' ? text : undefined)
    if (value !== undefined) {
      stop.edit(value)
      screen.print(
        dim(
          `  ${cut(`${stop.when === 'before' ? 'arguments' : 'result'}: ${visibleValue(value)}`, screen.columns - 3)}`,
        ),
      )
      return
    }
    screen.print(
      red(cut('  That is no JSON. Write an object such as {"amount": 5}, or nothing.', screen.columns - 1)),
    )
  }
}

function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
