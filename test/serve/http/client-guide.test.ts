/** docs/guide/http.md names every option, method and field of the client. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const GUIDE = readFileSync('docs/guide/http.md', 'utf8')
const SECTION = GUIDE.slice(GUIDE.indexOf('\n## Client\n'), GUIDE.indexOf('\n## Callers\n'))

function members(file: string, declaration: string): readonly string[] {
  const text = readFileSync(file, 'utf8')
  const start = text.indexOf(`export ${declaration} `)
  const body = text.slice(start, text.indexOf('\n}\n', start))
  return [...body.matchAll(/^ {2}(?:readonly |get )?(\w+)\??[:(]/gm)].flatMap(([, name = '']) =>
    name === 'constructor' ? [] : [name],
  )
}

test.each([
  ['src/client/client.ts', 'interface ClientOptions', 5],
  ['src/client/client.ts', 'interface HoldfastClient', 7],
  ['src/client/client.ts', 'interface ConversationClient', 14],
  ['src/client/client.ts', 'interface SendMessage', 7],
  ['src/client/client.ts', 'interface TurnResult', 9],
  ['src/client/follow.ts', 'interface FollowOptions', 3],
  ['src/client/client-error.ts', 'class ClientError', 6],
])('%s: %s is in the guide', (file, declaration, count) => {
  const names = members(file, declaration)
  expect(names).toHaveLength(count)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(SECTION))).toEqual([])
})
