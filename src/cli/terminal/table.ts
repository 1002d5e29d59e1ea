/** Formats rows in columns that fit the screen. */
import { dim, type Styled, styled } from 'holdfast/terminal'
import { cut, padEnd, widthOf } from './text.ts'

const GAP = 2

/** Lines of a table, its titles first. The first column is cut when the table is too wide. */
export function tableLines(rows: readonly (readonly string[])[], columns: number): Styled[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell))
  const rest = widths.slice(1).reduce((sum, width) => sum + width + GAP, 0)
  widths[0] = Math.max(8, Math.min(widths[0] ?? 0, columns - rest))
  return rows.map((row, index) => {
    const cells = row.map((cell, column) => padEnd(cut(cell, widths[column] ?? 0), widths[column] ?? 0))
    const line = cut(cells.join(' '.repeat(GAP)).trimEnd(), columns)
    return index === 0 ? dim(line) : styled`${line}`
  })
}
