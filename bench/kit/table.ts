/**
 * Results as text. Colours come from `styleText`, which leaves them out when the output is not a terminal or NO_COLOR
 * is set; cells are padded before they are coloured, so columns hold either way.
 */
import { styleText } from 'node:util'
import type { Spread } from './measure.ts'
import { budgetText, type Case, isWithin, type Row } from './result.ts'

type Style = Parameters<typeof styleText>[0]

/** A cell is text, or text with its style. */
type Cell = string | readonly [text: string, style: Style]

/** Rows of cells as lines; the first column is flush left, the others flush right. */
function table(rows: readonly (readonly Cell[])[], indent: string = '  '): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, textOf(cell).length)),
    [],
  )
  const line = (row: readonly Cell[]) =>
    row.map((cell, column) => padded(cell, { width: widths[column] ?? 0, left: column === 0 })).join('   ')
  return rows.map((row) => `${indent}${line(row)}`.trimEnd()).join('\n')
}

export function caseText(
  { name, title, measured, notMeasured }: Omit<Case, 'run'>,
  rows: readonly Row[],
): string {
  const head = ['', 'baseline', '', 'measured', '', 'ratio', '(quartiles)', 'budget'].map(
    (text): Cell => [text, 'dim'],
  )
  return [
    `${styleText('bold', name)}  ${title}`,
    wrapped('measured: ', measured),
    wrapped('not measured: ', notMeasured),
    table([head, ...rows.map(rowCells)]),
  ].join('\n')
}

/** Three digits that matter, however large the number. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

function rangeText({ low, high }: Spread): string {
  return `(${digits(low)}–${digits(high)})`
}

function rowCells(row: Row): Cell[] {
  const { what, unit, baseline, subject, ratio, budget } = row
  const within = isWithin(row)
  const style: Style = budget === undefined ? 'reset' : within ? 'green' : 'red'
  return [
    `${what}, ${unit}`,
    baseline === undefined ? '' : `${baseline.name} ${digits(baseline.spread.median)}`,
    baseline === undefined ? '' : [rangeText(baseline.spread), 'dim'],
    `${subject.name} ${digits(subject.spread.median)}`,
    [rangeText(subject.spread), 'dim'],
    ratio === undefined ? '' : [`${digits(ratio.median)}x`, style],
    ratio === undefined ? '' : [rangeText(ratio), 'dim'],
    budget === undefined ? '' : [`${budgetText(budget)} ${within ? 'ok' : 'OVER'}`, style],
  ]
}

function padded(cell: Cell, { width, left }: { width: number; left: boolean }): string {
  const text = textOf(cell)
  const full = left ? text.padEnd(width) : text.padStart(width)
  return typeof cell === 'string' ? full : styleText(cell[1], full)
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell[0]
}

function wrapped(label: string, text: string): string {
  const lines: string[] = []
  let line = label
  for (const word of text.split(' ')) {
    if (line.length + word.length > 106 && line !== label) {
      lines.push(line.trimEnd())
      line = ' '.repeat(label.length)
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()].map((part) => `  ${styleText('dim', part)}`).join('\n')
}
