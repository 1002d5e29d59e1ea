/**
 * Formats the preview of a call for the person who approves it: the lines of a diff in its colours. Each row begins with
 * a bar, so that no text of a tool looks like a row of the terminal.
 */
import type { Json, RequestData } from 'holdfast'
import { cyan, dim, green, type Paint, red, type Styled, styled, visibleLines } from 'holdfast/terminal'
import { hardWrap } from './text.ts'

export interface PreviewLook {
  readonly columns: number
  /** The most rows; the rest is counted. */
  readonly rows: number
}

export interface PreviewLines {
  readonly lines: readonly Styled[]
  readonly isCut: boolean
}

const INDENT = '  '
const BAR = '│'

export function previewOf({ about }: RequestData, { columns, rows: most }: PreviewLook): PreviewLines {
  const preview = textIn(about?.['preview'])
  if (preview === undefined) return { lines: [], isCut: false }
  const width = Math.max(8, columns - INDENT.length - 3)
  const rows = preview.text
    .replace(/\n$/, '')
    .split('\n')
    .flatMap((line) => {
      const paint = preview.isError ? red : paintOf(line)
      return hardWrap(visibleLines(line).replaceAll('\t', '  '), width).map((row) => paint(row))
    })
  const left = rows.length - most
  const isCut = left > 1
  const shown = isCut ? rows.slice(0, most) : rows
  const ends = [
    ...(isCut ? [dim(`… ${left} more lines`)] : []),
    ...(preview.isStart && !isCut ? [dim('… the rest is too long to be shown')] : []),
  ]
  return { lines: [...shown, ...ends].map((row) => styled`${INDENT}${dim(BAR)} ${row}`), isCut }
}

interface PreviewText {
  readonly text: string
  readonly isError?: true
  /** Only the beginning was kept. */
  readonly isStart?: boolean
}

function textIn(preview: Json | undefined): PreviewText | undefined {
  if (typeof preview !== 'object' || preview === null || Array.isArray(preview)) return undefined
  const { text, error, cut } = preview as Readonly<Record<string, Json | undefined>>
  if (typeof error === 'string') return { text: error, isError: true }
  return typeof text === 'string' ? { text, isStart: cut === true } : undefined
}

function plain(text: string | Styled): Styled {
  return styled`${text}`
}

function paintOf(line: string): Paint {
  if (/^(?:\+\+\+|---) /.test(line)) return dim
  if (line.startsWith('+')) return green
  if (line.startsWith('-')) return red
  return line.startsWith('@@') ? cyan : plain
}
