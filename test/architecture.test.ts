/** The table "To change X, go to Y" of ARCHITECTURE.md names files that exist, and rows that nothing else enforces hold. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/help.ts'

const GUIDE = readFileSync('ARCHITECTURE.md', 'utf8')
const ROWS = GUIDE.slice(GUIDE.indexOf('## To change X'))
  .split('\n')
  .filter((line) => line.startsWith('| '))

function missingIn(row: string): readonly string[] {
  let folder = ''
  return [...row.matchAll(/`([^`\s]+(?:\.ts|\.md|\.json|\/))`/g)].flatMap(([, path = '']) => {
    const found = [join(folder, path), join('src', path), path].find((each) => globSync(each).length > 0)
    if (found === undefined) return [path]
    folder = found.endsWith('/') ? found : dirname(found)
    return []
  })
}

it('every file of every row is there', () => {
  expect(ROWS.length).toBeGreaterThan(60)
  expect(ROWS.flatMap(missingIn)).toEqual([])
})

it('a file that is not there is found', () => {
  expect(missingIn('| a | `store/rules.ts`, `lease.ts`, `gone.ts`, `store/none/` |')).toEqual([
    'gone.ts',
    'store/none/',
  ])
})

it('every command of the terminal has its section in the guide', () => {
  const headings = [...readFileSync('docs/guide/terminal.md', 'utf8').matchAll(/^## (.*)$/gm)]
  const sections = headings.flatMap(([, title = '']) => title.split(', '))
  const names = COMMANDS.map(({ name }) => name)
  expect(names.filter((name) => !sections.includes(name))).toEqual([])
})
