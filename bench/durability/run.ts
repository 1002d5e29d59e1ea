/**
 * `npm run durability`: the same agent on Holdfast and on LangGraph.js, killed in the middle of the second of two
 * parallel tools, and what comes of it when it is resumed, or when somebody says something new instead. Needs
 * `npm ci --prefix bench/durability` once. It counts and prints; it does not judge.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkVendorRequest } from '../../test/vendors/check-vendor-request.ts'
import { orExplain, wholeNumber } from '../kit/args.ts'
import { type Act, AFTERWARDS, ASKED, CHANGED_MIND, type Final, PAID, type Part } from './scene.ts'

interface Player {
  readonly name: string
  readonly file: string
  readonly variants: Readonly<Record<string, string>>
}

const PLAYERS: readonly Player[] = [
  {
    name: 'holdfast',
    file: 'play-holdfast.ts',
    variants: { never: 'replay never (default)', safe: 'replay safe' },
  },
  {
    name: 'langgraph.js',
    file: 'play-langgraph.ts',
    variants: { async: 'durability async (default)', sync: 'durability sync' },
  },
]

const ACTS: Readonly<Record<Exclude<Act, 'crash'>, string>> = {
  resume: 'resumed',
  message: 'a new message instead',
}

type Row = Readonly<Record<string, string>>

function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []
}

/** The first process, killed when it says that the second effect has happened and its tool has not returned. */
async function crash(file: string, part: Part): Promise<void> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(part)])
  const acting = once(child, 'message').then(() => 'acting')
  const ended = once(child, 'exit').then(() => 'ended')
  if ((await Promise.race([acting, ended])) === 'ended') throw new Error(`${file} ended before its time.`)
  child.kill('SIGKILL')
  await ended
}

async function afterwards(file: string, part: Part): Promise<Final> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(part)])
  const final = once(child, 'message').then(([said]) => said as Final)
  const ended = once(child, 'exit').then(() => undefined)
  const said = await Promise.race([final, ended])
  if (said === undefined) throw new Error(`${file} said nothing.`)
  await ended
  return said
}

async function play(file: string, act: Exclude<Act, 'crash'>, variant: string): Promise<Row> {
  mkdirSync('.tmp', { recursive: true })
  const folder = mkdtempSync(join('.tmp', 'durability-'))
  await crash(file, { act: 'crash', folder, variant })
  const before = linesOf(join(folder, 'requests.log')).length
  const { users, results, errors } = await afterwards(file, { act, folder, variant })
  const effects = linesOf(join(folder, 'effects.log'))
  const requests = linesOf(join(folder, 'requests.log')).slice(before)
  const refused = requests.filter((body) => checkVendorRequest('anthropic', JSON.parse(body)).length > 0)
  rmSync(folder, { recursive: true, force: true })
  const said = act === 'resume' ? [ASKED, AFTERWARDS] : [ASKED, CHANGED_MIND, AFTERWARDS]
  const times = (tool: string) => String(effects.filter((line) => line === tool).length)
  return {
    'effects of the finished call': times('pay'),
    'of the killed call': times('post'),
    'requests Anthropic would refuse': `${refused.length} of ${requests.length}`,
    'messages kept': `${said.filter((text) => users.includes(text)).length} of ${said.length}`,
    'finished result kept': results.includes(PAID) ? 'yes' : 'no',
    errors: String(errors.length),
  }
}

/** The value if it was the same every time; else the values with their counts. */
function together(rows: readonly Row[]): Row {
  const [first = {}] = rows
  return Object.fromEntries(
    Object.keys(first).map((name) => {
      const values = rows.map((row) => row[name] ?? '')
      const kinds = [...new Set(values)].map(
        (value) => [value, values.filter((other) => other === value).length] as const,
      )
      const text = kinds.length === 1 ? values[0] : kinds.map(([value, n]) => `${value} (${n}x)`).join(', ')
      return [name, text ?? '']
    }),
  )
}

function print(rows: readonly Row[]): void {
  const names = Object.keys(rows[0] ?? {})
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => row[name]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`
  console.log(line(names))
  console.log(line(widths.map((width) => '-'.repeat(width))))
  for (const row of rows) console.log(line(names.map((name) => row[name] ?? '')))
}

const { values } = orExplain(() => parseArgs({ options: { runs: { type: 'string', default: '5' } } }))
const runs = wholeNumber('runs', values.runs, { least: 1 }) ?? 0
const isInstalled = existsSync(join(import.meta.dirname, 'node_modules/langchain'))
if (!isInstalled) console.log('Without LangGraph.js: run `npm ci --prefix bench/durability` to have it here.')
const table: Row[] = []
for (const { name, file, variants } of PLAYERS.filter((player) => isInstalled || player.name === 'holdfast'))
  for (const [variant, described] of Object.entries(variants))
    for (const [act, then] of Object.entries(ACTS) as [Exclude<Act, 'crash'>, string][]) {
      const rows: Row[] = []
      for (let run = 0; run < runs; run++) rows.push(await play(file, act, variant))
      table.push({ '': name, kept: described, 'after the kill': then, ...together(rows) })
    }
if (table.length > 0) print(table)
