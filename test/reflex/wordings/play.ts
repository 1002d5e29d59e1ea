/** Plays wordings against reflex in a real agent, and judges what came of the last message of each. */
import { readFileSync } from 'node:fs'
import { Agent, memoryStore } from '../../../src/index.ts'
import { type EntryData, type JsonObject, LOCAL_OWNER } from '../../../src/protocol/index.ts'
import type { Judged, Verdict } from '../trial.ts'
import { makeSet, type SetName } from './sets.ts'

interface ExpectedCall {
  readonly tool: string
  readonly args?: JsonObject
}

/** One line of a file of wordings; README.md says what its fields mean. */
export interface WordingCase {
  readonly set: SetName
  /** The writer, in files that are split by writer. */
  readonly person?: string
  readonly language: 'en' | 'fr'
  readonly before?: readonly string[]
  readonly say: string
  readonly expect: 'ask' | 'say' | 'none' | ExpectedCall | readonly ExpectedCall[]
}

export const WORDING_FILES = [
  'known',
  'practice',
  'development',
  'validation',
  'fresh',
  'sealed',
  'held-out',
] as const

export function readWordings(file: (typeof WORDING_FILES)[number]): WordingCase[] {
  const text = readFileSync(new URL(`./${file}.jsonl`, import.meta.url), 'utf8')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as WordingCase)
}

interface Played {
  readonly made: readonly Required<ExpectedCall>[]
  readonly isAsking: boolean
  readonly text: string
  readonly invented: readonly string[]
}

export async function playWording(wording: WordingCase): Promise<Judged> {
  const { set: name, before = [], say, language, expect } = wording
  const set = makeSet(name)
  const store = memoryStore()
  const { tools, entities = [] } = set
  const agent = new Agent({ contextId: 'talk', store, model: 'reflex', tools, entities })
  const key = { ...LOCAL_OWNER, contextId: 'talk' }
  for (const text of before) await agent.executeTurn(text).outcome
  const start = (await store.read(key)).length
  const { text, requests } = await agent.executeTurn(say).outcome
  const entries = await store.read(key)
  const made = entries.slice(start).flatMap(({ type, data }) => {
    if (type !== 'tool.start') return []
    const { tool, args } = data as EntryData['tool.start']
    return [{ tool, args: (args ?? {}) as JsonObject }]
  })
  const isAsking = requests.length > 0 || text.endsWith('?')
  const told = JSON.stringify(entries.filter(({ type }) => type === 'tool.end' || type === 'input'))
  const invented = made.flatMap(({ args }) =>
    Object.entries(args).flatMap(([param, value]) =>
      /id$/i.test(param) && !told.includes(textOf(value)) ? [`${param} ${textOf(value)}`] : [],
    ),
  )
  const verdict = judge(wording, { made, isAsking, text, invented }, set.looks)
  const story = `${name}: ${[...before, say].join(' | ')}\n  expected ${JSON.stringify(expect)}\n  made ${JSON.stringify(made)}\n  said ${text}`
  return { kind: `${name} ${language}`, verdict, invented, story }
}

function judge({ expect }: WordingCase, { made, isAsking }: Played, looks: readonly string[]): Verdict {
  const acting = made.filter(({ tool }) => !looks.includes(tool))
  if (expect === 'ask')
    return acting.length > 0 ? 'wrong' : isAsking ? 'right' : made.length > 0 ? 'wrong' : 'gave up'
  if (expect === 'none') return acting.length > 0 || (made.length > 0 && !isAsking) ? 'wrong' : 'right'
  if (expect === 'say') return made.length > 0 ? 'wrong' : isAsking ? 'asked' : 'right'
  const wanted = Array.isArray(expect) ? (expect as readonly ExpectedCall[]) : [expect as ExpectedCall]
  const rest = [...made]
  const isAll = wanted.every((call) => {
    const at = rest.findIndex((each) => isSame(each, call))
    if (at >= 0) rest.splice(at, 1)
    return at >= 0
  })
  const isOnTheWay = rest.every(
    ({ tool }) => looks.includes(tool) && !wanted.some((call) => call.tool === tool),
  )
  if (isAll && isOnTheWay)
    return isAsking && acting.length === 0 && wanted.some(({ tool }) => !looks.includes(tool))
      ? 'asked'
      : 'right'
  if (acting.length > 0 || rest.some(({ tool }) => wanted.some((call) => call.tool === tool))) return 'wrong'
  return isAsking ? 'asked' : made.length > 0 ? 'wrong' : 'gave up'
}

function isSame(made: Required<ExpectedCall>, { tool, args = {} }: ExpectedCall): boolean {
  const keys = new Set([...Object.keys(made.args), ...Object.keys(args)])
  return made.tool === tool && [...keys].every((name) => normal(made.args[name]) === normal(args[name]))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Capitals and blanks in texts do not count. */
function normal(value: unknown): string {
  return (JSON.stringify(value) ?? '').toLowerCase().replaceAll(/\s+/g, '')
}
