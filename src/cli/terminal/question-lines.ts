/**
 * Formats a request for a person. An approval shows the call from the journal; the tool's own text is apart from it,
 * after a bar. Both are bounded, so that neither can push the other off the screen.
 */

import type { Json, RequestData } from 'holdfast'
import {
  cyan,
  dim,
  type Styled,
  styled,
  visible,
  visibleLines,
  visibleValue,
  yellow,
} from 'holdfast/terminal'
import { optionText } from 'holdfast/tool'
import type { RequestSource } from '../request-source.ts'
import { toolText } from './call-line.ts'
import { previewOf } from './preview-lines.ts'
import { cut, hardWrap, trimBlank } from './text.ts'
import { wrapText } from './word-wrap.ts'

export interface QuestionLook {
  readonly columns: number
  readonly rows: number
}

export interface Question {
  readonly lines: readonly Styled[]
  /** The arguments and the preview in full, if the lines show only a part of them. */
  readonly whole?: () => readonly Styled[]
}

const MOST_ARGUMENT_ROWS = 8
const MOST_TEXT_ROWS = 6
const MOST_OPTIONS = 50
const LABEL = 11
/** The length of the arguments in the runtime's default question. */
const USUAL_LENGTH = 500
const INDENT = '  '

export function questionOf(request: RequestData, source: RequestSource, look: QuestionLook): Question {
  const { approves, tools } = source
  const fitting = {
    columns: Math.min(look.columns, 1000),
    rows: Math.max(2, Math.floor((look.rows - 6) / 2)),
  }
  if (approves === undefined) return { lines: plainQuestion(request, tools, fitting) }
  const args = visibleValue(approves.args)
  const rows = argumentRows(args, fitting)
  const preview = previewOf(request, { ...fitting, rows: previewRows(look.rows) })
  const lines = [
    styled`${yellow('?')} Approval`,
    ...nameRows(approves.tool, fitting.columns).map((row, at) => field(at === 0 ? 'tool' : '', row)),
    ...(source.origin === undefined
      ? []
      : [field('origin', cut(visible(source.origin), fitting.columns - LABEL - 2))]),
    ...rows.lines.map((row, at) => field(at === 0 ? 'arguments' : '', row)),
    ...(tools.length === 0
      ? []
      : [field('asked by', cut(tools.map(toolText).join(' › '), fitting.columns - LABEL - 2))]),
    ...promptRows(request, approves, fitting),
    ...preview.lines,
    ...grantRows(request, fitting.columns),
  ]
  if (!rows.isCut && !preview.isCut) return { lines }
  const whole = (): readonly Styled[] => [
    ...hardWrap(args, fitting.columns - 2).map((row) => styled`  ${row}`),
    ...previewOf(request, { ...fitting, rows: Number.POSITIVE_INFINITY }).lines,
  ]
  return { lines, whole }
}

/** The patterns that an approval may be extended to. */
export function grantsOf({ about }: RequestData): readonly string[] {
  const grants = about?.['grants']
  return Array.isArray(grants) ? grants.filter((each): each is string => typeof each === 'string') : []
}

const MOST_GRANTS = 6

function grantRows(request: RequestData, columns: number): Styled[] {
  const grants = grantsOf(request)
  const shown = grants.slice(0, MOST_GRANTS).flatMap((pattern) => {
    return hardWrap(visible(pattern), Math.max(8, columns - LABEL - INDENT.length))
  })
  const left = grants.length - MOST_GRANTS
  const rows = left > 0 ? [...shown, `… ${left} more`] : shown
  return rows.map((row, at) => field(at === 0 ? 'to grant' : '', row))
}

const MOST_PREVIEW_ROWS = 40

/** The rest of the screen, below the call and above the prompt. */
function previewRows(rows: number): number {
  return Math.max(6, Math.min(MOST_PREVIEW_ROWS, rows - 12))
}

const MOST_NAME_ROWS = 3

/** A name that may be approved has at most 64 letters: it is whole on any screen that a person can read. */
function nameRows(tool: string, columns: number): string[] {
  return hardWrap(toolText(tool), Math.max(8, columns - LABEL - INDENT.length)).slice(0, MOST_NAME_ROWS)
}

function field(name: string, value: string): Styled {
  return styled`${INDENT}${dim(name.padEnd(LABEL))}${value}`
}

function plainQuestion(
  { prompt, from }: RequestData,
  tools: readonly string[],
  look: QuestionLook,
): Styled[] {
  const who = from === 'credentials' ? 'Access' : tools.map((tool) => cut(tool, 30)).join(' › ')
  return barred(`? ${cut(who || (from ?? 'Question'), 60)}`, prompt, look)
}

/** Text of a tool or a model: each row begins with a bar, so that none looks like a row of the terminal. */
function barred(label: string, text: string, { columns, rows: most }: QuestionLook): Styled[] {
  const width = label.length + 3
  const room = Math.max(8, columns - width)
  const rows = wrapText(trimBlank(text), room).flatMap((row) => hardWrap(visibleLines(row), room))
  const left = rows.length - Math.min(MOST_TEXT_ROWS, most)
  const kept = left > 1 ? rows.slice(0, rows.length - left) : rows
  const cutOff = left > 1 ? [dim(`… ${left} more lines`)] : []
  const lead = (at: number) => (at === 0 ? label : ' '.repeat(label.length))
  return [...kept, ...cutOff].map((row, at) => styled`${leadOf(lead(at))} ${dim('│')} ${row}`)
}

function leadOf(label: string): Styled {
  return label.startsWith('?') ? styled`${yellow('?')}${label.slice(1)}` : dim(label)
}

/** The first rows and the last ones: either end may be what matters. */
function argumentRows(
  args: string,
  { columns, rows: most }: QuestionLook,
): { lines: string[]; isCut: boolean } {
  const width = Math.max(8, columns - LABEL - INDENT.length)
  const room = Math.max(3, Math.min(MOST_ARGUMENT_ROWS, most))
  // Enough of both ends to fill the rows, whatever the width of the characters.
  const enough = width * room
  if (args.length <= 2 * enough) {
    const lines = hardWrap(args, width)
    if (lines.length <= room) return { lines, isCut: false }
  }
  const half = Math.floor((room - 1) / 2)
  const first = hardWrap(args.slice(0, enough).toWellFormed(), width).slice(0, half)
  const last = hardWrap(args.slice(-enough).toWellFormed(), width).slice(-half)
  const shown = [...first, ...last].reduce((sum, row) => sum + row.length, 0)
  const left = (args.length - shown).toLocaleString('en-US')
  return { lines: [...first, cut(`… ${left} characters left out …`, width), ...last], isCut: true }
}

/** The text that asks, unless it only repeats the call above it. */
function promptRows(
  { prompt }: RequestData,
  approves: NonNullable<RequestSource['approves']>,
  look: QuestionLook,
): Styled[] {
  if (isUsual(prompt, approves)) return []
  return barred(`${INDENT}${isRepeat(prompt, approves.tool) ? 'repeated' : 'its text'}`, prompt, look)
}

/** True for the runtime's question about a call that may have happened before. */
function isRepeat(prompt: string, tool: string): boolean {
  const asks = `${tool} was started before with the same arguments, and `
  return (
    prompt.startsWith(asks) &&
    /^(nobody knows whether it happened|its result came meanwhile: [a-z-]+)\. Run it again\?$/.test(
      prompt.slice(asks.length),
    )
  )
}

/** True for the runtime's default question: it only repeats the call above it. */
function isUsual(prompt: string, { tool, args }: { readonly tool: string; readonly args: Json }): boolean {
  const asks = `May ${JSON.stringify(tool)} be run`
  const text = JSON.stringify(args)
  const short = text.length > USUAL_LENGTH ? `${text.slice(0, USUAL_LENGTH)}…` : text
  return prompt === `${asks}?` || prompt === `${asks} with ${short}?`
}

/** The options, numbered. */
export function optionLines({ options = [] }: RequestData, columns: number): Styled[] {
  const shown = options.slice(0, MOST_OPTIONS).map((option, index) => {
    const number = String(index + 1)
    return styled`  ${cyan(number)} ${cut(visible(optionText(option)), columns - number.length - 3)}`
  })
  const left = options.length - shown.length
  return left > 0 ? [...shown, dim(`  … ${left} more`)] : shown
}
