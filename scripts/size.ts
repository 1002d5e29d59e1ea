/**
 * `npm run size`: lines of src without tests, files, and the median, 90th percentile and maximum of their lengths by room,
 * and how many names each entry exports.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureSize } from './measure-size.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run size -- [options]

Lines of src without tests by room, and the names that each entry exports.

  --root FOLDER   another checkout
  --json          for machines
  --help`)

const { values } = parseArgs({
  options: { root: { type: 'string', default: '.' }, json: { type: 'boolean', default: false } },
})
const size = measureSize(resolve(values.root))

if (values.json) console.log(JSON.stringify(size, null, 2))
else {
  const head = ['room', 'lines', 'files', 'median', 'p90', 'max', 'longest file']
  const row = (name: string, { lines, files, median, p90, max, longest }: typeof size.total) => [
    name,
    ...[lines, files, median, p90, max].map(String),
    longest.replace(/^src\//, ''),
  ]
  print([head, ...size.rooms.map((room) => row(room.room, room)), row('src without tests', size.total)])
  console.log()
  const entries = size.entries.map(({ entry, values: count, types }) => [entry, String(count), String(types)])
  print([['entry', 'values', 'types'], ...entries])
}

/** The first column and the last of seven are texts, the others numbers. */
function print(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 || column === 6 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    console.log(cells.join('  ').trimEnd())
  }
}
