/**
 * `npm run walk`: the path of `executeTurn('hi')` through the sources, in a warm agent on the memory store: the numbers of
 * files, rooms and changes between them.
 */
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { parseSync, Visitor } from 'oxc-parser'
import type * as Library from '../src/index.ts'
import type * as Testing from '../src/testing/index.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run walk -- [options]

The path of executeTurn('hi') through the sources: files, rooms and changes between them.

  --root FOLDER   another checkout
  --list          the files, with their counts
  --help`)

const { values } = parseArgs({
  options: { root: { type: 'string', default: '.' }, list: { type: 'boolean', default: false } },
})
const source = pathToFileURL(resolve(values.root, 'src')).href
const entered: string[] = []
Object.assign(globalThis, { walk: (file: string) => void entered.push(file) })

interface Body {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** The source, with a probe at the beginning of every function. */
function withNotes(file: string, text: string): string {
  const inserts: { readonly at: number; readonly text: string }[] = []
  const note = `globalThis.walk(${JSON.stringify(file)})`
  const mark = (body: Body | null): void => {
    if (body === null) return
    if (body.type === 'BlockStatement' || body.type === 'FunctionBody')
      inserts.push({ at: body.start + 1, text: `${note};` })
    else inserts.push({ at: body.start, text: `(${note},` }, { at: body.end, text: ')' })
  }
  const visitor = new Visitor({
    FunctionDeclaration: ({ body }) => mark(body),
    FunctionExpression: ({ body }) => mark(body),
    ArrowFunctionExpression: ({ body }) => mark(body),
  })
  visitor.visit(parseSync(file, text).program)
  let done = text
  for (const { at, text: insert } of inserts.toSorted((a, b) => b.at - a.at))
    done = `${done.slice(0, at)}${insert}${done.slice(at)}`
  return done
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.startsWith(source) || loaded.source === undefined || loaded.source === null) return loaded
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
    return { ...loaded, source: withNotes(url.slice(source.length + 1), text) }
  },
})

const { Agent } = (await import(`${source}/index.ts`)) as typeof Library
const { ScriptedModel } = (await import(`${source}/testing/index.ts`)) as typeof Testing
const agent = new Agent({ contextId: 'walk', model: new ScriptedModel(['One.', 'Two.', 'Three.']) })
for (const message of ['first', 'second']) await agent.executeTurn(message).outcome
entered.length = 0
await agent.executeTurn('hi').outcome
const walked = entered.filter((file) => !file.startsWith('testing/'))
await agent.shutdown()

const roomOf = (file: string): string => file.split('/')[0] ?? ''
const switches = (names: readonly string[]): number =>
  names.filter((name, index) => index > 0 && name !== names[index - 1]).length
const counts = [...Map.groupBy(walked, (file) => file)].sort((a, b) => b[1].length - a[1].length)
if (values.list)
  for (const [file, times] of counts) console.log(`${String(times.length).padStart(6)}  ${file}`)
console.log(
  `${walked.length} functions in ${counts.length} files and ${new Set(walked.map(roomOf)).size} rooms; ` +
    `${switches(walked)} times to another file, ${switches(walked.map(roomOf))} times to another room`,
)
