/** The figures of `npm run size`, on a small checkout whose sizes are known. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { measureSize } from '../scripts/measure-size.ts'

const FILES: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    name: 'small',
    exports: { '.': { default: './dist/index.js' }, './package.json': './package.json' },
  }),
  'src/index.ts':
    "export type { A } from './base/a.ts'\nexport { a, type B } from './base/a.ts'\nexport const c = 1\n",
  'src/base/a.ts': '\n'.repeat(10),
  'src/base/b.ts': '\n'.repeat(30),
  'src/base/a.test.ts': '\n'.repeat(500),
  'src/store/sqlite/writer.ts': '\n'.repeat(7),
  'src/elsewhere/deep/x.ts': '\n'.repeat(2),
}

test('lines are counted by room, tests left out, and exports by kind', () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-size-'))
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const { total, rooms, entries } = measureSize(root)
  rmSync(root, { recursive: true })
  expect(total).toEqual({ files: 5, lines: 52, median: 7, p90: 30, max: 30, longest: 'src/base/b.ts' })
  expect(rooms.map(({ room, lines, median }) => [room, lines, median])).toEqual([
    ['base', 40, 10],
    ['store/sqlite', 7, 7],
    ['index.ts', 3, 3],
    ['elsewhere', 2, 2],
  ])
  expect(entries).toEqual([{ entry: 'small', values: 2, types: 2 }])
})
