/** Rows in columns that fit the screen. */
import { cut, padEnd, widthOf } from './text.ts'

const GAP = 2

/** Lines of a table. The first column gives way when there is not enough room. */
export function tableLines(rows: readonly (readonly string[])[], columns: number): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => widthOf(row[column] ?? ''))),
  )
  const rest = widths.slice(1).reduce((sum, width) => sum + width + GAP, 0)
  widths[0] = Math.max(8, Math.min(widths[0] ?? 0, columns - rest))
  return rows.map((row) =>
    cut(
      row
        .map((cell, column) => padEnd(cut(cell, widths[column] ?? 0), widths[column] ?? 0))
        .join(' '.repeat(GAP))
        .trimEnd(),
      columns,
    ),
  )
}
