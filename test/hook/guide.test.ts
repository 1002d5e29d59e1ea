/** The list of hooks in the guide equals the table of hooks. */
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { HOOK_NAMES, type HookKind, hookKind } from '../../src/protocol/index.ts'

const ADD = { now: 'yes', later: 'later' }
const CHANGE = {
  prompt: 'the prompt of this call',
  calls: 'arguments; reject calls',
  call: 'its arguments; throw to reject',
  result: 'the result that the model reads',
}

it('every hook has its row, in the order of the table', async () => {
  const guide = await readFile('docs/guide/hooks.md', 'utf8')
  const list = guide.slice(guide.indexOf('| hook | when |'))
  const rows = list.slice(0, list.indexOf('\n\n')).split('\n').slice(2)
  const expected = HOOK_NAMES.map((name) => {
    const { when, add, change, stop } = hookKind(name) as HookKind
    const cells = [add && ADD[add], change && CHANGE[change], stop && 'yes']
    return `| \`${name}\` | ${when} |${cells.map((cell) => (cell ? ` ${cell} |` : ' |')).join('')}`
  })
  expect(rows).toEqual(expected)
})

it('hooks that run in the reverse order are named', async () => {
  const guide = (await readFile('docs/guide/hooks.md', 'utf8')).replaceAll(/\s+/g, ' ')
  const closing = HOOK_NAMES.filter((name) => hookKind(name)?.closes).map((name) => `\`${name}\``)
  expect(guide).toContain(`Hooks that close something (${closing.join(', ')}) run in the reverse order`)
})
