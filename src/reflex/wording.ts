/** Everything that reflex says. Questions end with a question mark, and nothing else does. */
import type { Json, JsonObject } from '../protocol/index.ts'
import type { Done } from './conversation.ts'
import { ID_WORDS } from './grammar.ts'
import { labelOf, type Row, type Scalar } from './results.ts'
import type { Param, ToolInfo } from './schema.ts'
import { tokenise } from './words.ts'

const WHO =
  'I am reflex, the model that comes with Holdfast. I am made of rules, not of a neural network: I compare your words with the tools I have, fill in what you said, and ask when something is missing or unclear.'

const MOST_LINES = 20
const LONGEST_VALUE = 300

export function sayWho(tools: readonly ToolInfo[]): string {
  return `${WHO}\n\n${sayTools(tools)}`
}

export function sayHello(tools: readonly ToolInfo[]): string {
  return `Hello. ${sayTools(tools)}`
}

export function sayUnknown(tools: readonly ToolInfo[]): string {
  return `I did not find anything in this that I can do. ${sayTools(tools)}`
}

export const SAY_WELCOME = 'You are welcome.'
export const SAY_LEFT = 'All right, I leave it.'

export function sayTools(tools: readonly ToolInfo[]): string {
  if (tools.length === 0) return 'I can only call tools, and I have none here.'
  const lines = tools.slice(0, MOST_LINES).map((tool) => `- ${sayTool(tool)}`)
  if (tools.length > MOST_LINES) lines.push(`- … and ${tools.length - MOST_LINES} more`)
  return `This is what I can do:\n${lines.join('\n')}`
}

function sayTool({ name, description }: ToolInfo): string {
  const text = description.replaceAll(/\s+/g, ' ').trim()
  return text === '' ? name : `${name}: ${shorten(text, 200)}`
}

export function askTool(tools: readonly ToolInfo[]): string {
  const [only] = tools
  if (tools.length === 1 && only) return `Do you want me to use ${sayTool(only)}\nShall I?`
  return `I can read this in ${tools.length} ways:\n${tools.map((tool, at) => `${at + 1}. ${sayTool(tool)}`).join('\n')}\nWhich one do you mean?`
}

/** What a thing is called, and in which language to ask for it. */
export interface AskedKind {
  readonly noun: string
  readonly isFrench: boolean
}

/** Which thing of a kind: one of those that are known, if there are any. */
export function askThing(
  { noun, isFrench }: AskedKind,
  { rows, said }: { rows: readonly Row[]; said: string },
): string {
  const head = isFrench ? `${noun.charAt(0).toUpperCase()}${noun.slice(1)} :` : `Which ${noun}?`
  const name = `"${shorten(said, 80)}"`
  const missed = isFrench ? ` rien ne s’appelle ${name}.` : ` None that I know is called ${name}.`
  const close = isFrench ? 'À quoi pensez-vous exactement ?' : 'Which one do you mean?'
  if (rows.length === 0)
    return isFrench
      ? `${head}${said === '' ? '' : missed} ${close}`
      : `${said === '' ? '' : missed.trim()} ${close.replace('one', noun)}`.trim()
  const among = isFrench ? 'Voici ce que je connais :' : 'These are known:'
  return `${head}${said === '' ? '' : missed} ${among}\n${listed(rows)}\n${close}`
}

function listed(rows: readonly Row[]): string {
  const lines = rows.slice(0, MOST_LINES).map((row, at) => `${at + 1}. ${sayRow(row)}`)
  if (rows.length > MOST_LINES) lines.push(`… and ${rows.length - MOST_LINES} more`)
  return lines.join('\n')
}

export function askParam(tool: ToolInfo, param: Param, options: readonly Json[] = []): string {
  const { description, choices } = param
  const about =
    description === '' ? '' : ` (${shorten(description.replaceAll(/\s+/g, ' ').replace(/[.?]$/, ''), 200)})`
  const given = options.length > 0 ? options : (choices ?? param.items?.choices ?? [])
  const among = given.length === 0 ? '' : ` It can be ${given.slice(0, MOST_LINES).map(String).join(', ')}.`
  return `For ${tool.name} I need ${param.name}${about}.${among} What should ${param.name} be?`
}

export function askRow(
  tool: ToolInfo,
  param: Param,
  { rows, said }: { rows: readonly Row[]; said: string },
): string {
  const missed = said === '' ? '' : ` I know none that is called "${shorten(said, 80)}".`
  return `For ${tool.name} I need ${param.name}.${missed} These are known:\n${listed(rows)}\nWhich one do you mean?`
}

function sayRow({ label, id }: Row): string {
  return id === undefined || String(id) === label ? label : `${label} (${id})`
}

export function sayTrouble({ tool, output }: Done): string {
  const said = typeof output === 'string' ? output : sayValue(output)
  return `${tool} did not work: ${shorten(said, 1000)}`
}

export function sayResults(calls: readonly Done[]): string {
  return calls.map((call) => sayResult(call)).join('\n\n')
}

function sayResult({ tool, output, display: told }: Done): string {
  if (told !== undefined) return told
  if (output === null || output === undefined || output === '' || output === true) return `Done: ${tool}.`
  if (Array.isArray(output) && output.length === 0) return `${tool} found nothing.`
  const display = isObject(output) ? output['display'] : undefined
  const text = typeof display === 'string' && display !== '' ? display : sayValue(output)
  return text === '' ? `Done: ${tool}.` : text
}

function sayValue(value: unknown, depth = 0): string {
  if (Array.isArray(value)) return sayList(value, depth)
  if (!isObject(value)) return shorten(String(value), depth === 0 ? 10_000 : LONGEST_VALUE)
  const lines = Object.entries(value)
    .slice(0, 100)
    .map(([key, each]) => sayField(key, each, depth))
  return lines.join('\n')
}

function sayField(key: string, value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null) return `${key}: ${shorten(String(value), LONGEST_VALUE)}`
  if (Array.isArray(value) && value.length === 0) return `${key}: none`
  if (depth >= 2) return `${key}: ${shorten(JSON.stringify(value), LONGEST_VALUE)}`
  return `${key}:\n${indent(sayValue(value, depth + 1))}`
}

function sayList(values: readonly unknown[], depth: number): string {
  const lines = values.slice(0, MOST_LINES).map((value) => `- ${sayItem(value, depth)}`)
  if (values.length > MOST_LINES) lines.push(`- … and ${values.length - MOST_LINES} more`)
  return lines.join('\n')
}

/** One line: the name first, then the id, then the rest. */
function sayItem(value: unknown, depth: number): string {
  if (!isObject(value)) {
    return shorten(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE)
  }
  const fields = new Map<string, Scalar>()
  for (const [key, each] of Object.entries(value)) {
    if (typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean')
      fields.set(key, each)
  }
  const idKey = [...fields.keys()].find((key) => ID_WORDS.has(tokenise(key).at(-1)?.word ?? ''))
  const label = labelOf(fields, idKey)
  const id = idKey === undefined ? '' : String(fields.get(idKey))
  const rest = [...fields].filter(([key, each]) => key !== idKey && each !== label).slice(0, 6)
  const head = label === '' ? id : id === '' ? label : `${label} (${id})`
  const tail = rest.map(([key, each]) => `${key}: ${shorten(String(each), 120)}`).join(', ')
  if (head === '' && tail === '') return shorten(JSON.stringify(value), depth === 0 ? LONGEST_VALUE : 120)
  return tail === '' ? head : head === '' ? tail : `${head}, ${tail}`
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
}
