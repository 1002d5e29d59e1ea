/** System prompts in files: front matter, checked variables, and the version that a turn records. */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { callConfig } from '../loop/index.ts'
import {
  checkOptions,
  defined,
  HoldfastError,
  invalidOption,
  isObject,
  nearestName,
  type OptionSet,
  type PromptVersion,
  shown,
} from '../protocol/index.ts'
import type { TurnInfo } from './definition.ts'

export type PromptVariables = Readonly<Record<string, string | number>>

export interface PromptFileOptions {
  /** Values for `{{name}}` in the file, or a function of the turn that gives them. */
  readonly variables?: PromptVariables | ((turn: TurnInfo) => PromptVariables | Promise<PromptVariables>)
}

/** A system prompt that was read from a file. */
export interface PromptFile {
  readonly '~prompt': 'file'
  readonly path: string
  readonly version: PromptVersion
  /** The text for a turn, with its variables. */
  readonly text: (turn: TurnInfo) => string | Promise<string>
  /** The text, if it is the same in every turn. */
  readonly fixed?: string
}

const OPTIONS: OptionSet<PromptFileOptions> = {
  place: 'promptFile()',
  options: { variables: null },
  foreign: { vars: 'variables', values: 'variables', input: 'variables' },
}

/**
 * Reads a prompt: `systemPrompt: promptFile('prompts/clerk.md', { variables: { company: 'Acme' } })`. Front matter may
 * have `name`, `version` and `label`. Throws if the file cannot be read or a variable is missing, unknown or unused.
 */
export function promptFile(path: string, options: PromptFileOptions = {}): PromptFile {
  if (typeof path !== 'string' || path === '')
    throw invalidOption('promptFile()', `needs the path of a file first, not ${shown(path)}`)
  checkOptions(options, OPTIONS)
  const whole = readText(path)
  const { head, body } = frontMatter(path, whole)
  const names = [...new Set([...body.matchAll(VARIABLE)].map(([, name = '']) => name))]
  const { name = basename(path, extname(path)), version, label } = head
  const recorded = {
    name,
    ...defined({ version, label }),
    hash: hash('sha256', whole, 'base64url').slice(0, 22),
  }
  const { variables = {} } = options
  const file = { '~prompt': 'file', path, version: recorded } as const
  if (typeof variables !== 'function') {
    const text = filled({ path, body, names }, variables)
    return { ...file, text: () => text, fixed: text }
  }
  const text = async (turn: TurnInfo): Promise<string> =>
    filled({ path, body, names }, await callConfig('variables', () => variables(turn)))
  return { ...file, text }
}

/** The prompt of an option that names a file or, with a slash at its end, a folder with a file for each agent. */
export function promptAt(path: string, agent: string | undefined): PromptFile {
  if (!path.endsWith('/')) return promptFile(path)
  if (agent === undefined)
    throw invalidOption(
      'systemPrompt',
      `names the folder ${path}: give the agent a \`name\`, and it gets ${path}NAME.md`,
    )
  if (/[/\\]|^\.+$/.test(agent)) throw invalidOption('name', `cannot be a file in ${path}: ${shown(agent)}`)
  return promptFile(join(path, `${agent}.md`))
}

/** True for a text that names a file or a folder. */
export function isPath(prompt: unknown): prompt is string {
  return typeof prompt === 'string' && (/^\S+\.(md|txt)$/.test(prompt) || /^[\w.~/\\-]+\/$/.test(prompt))
}

export function isPromptFile(prompt: unknown): prompt is PromptFile {
  return typeof prompt === 'object' && prompt !== null && '~prompt' in prompt
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new HoldfastError('not-found', {
      message: `The system prompt ${path} cannot be read.${nearby(path)} Give a path from the working directory, or the text itself.`,
      details: { path },
      cause,
    })
  }
}

function nearby(path: string): string {
  try {
    const found = nearestName(basename(path), readdirSync(join(path, '..')))
    return found === undefined ? '' : ` Did you mean ${join(path, '..', found)}?`
  } catch {
    return ''
  }
}

const VARIABLE = /\{\{\s*([\w.-]+)\s*\}\}/g
/** Editors of Windows begin a file with a byte order mark. */
const FRONT = /^\uFEFF?---\r?\n([^]*?)(?<=\n)---(?:\r?\n|$)/

type Head = { readonly name?: string; readonly version?: string; readonly label?: string }

/** `key: value` lines between two lines of dashes. Other keys than these are for other readers. */
function frontMatter(path: string, whole: string): { readonly head: Head; readonly body: string } {
  const found = FRONT.exec(whole)
  if (found === null) return { head: {}, body: whole.trim() }
  const head: Record<string, string> = {}
  for (const [index, line] of (found[1] ?? '').split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#') || /^\s/.test(line)) continue
    const [, key, value = ''] = /^([\w.-]+):(?:\s+(.*))?$/.exec(line) ?? []
    if (key === undefined)
      throw new HoldfastError('invalid-option', {
        message: `${path}:${index + 2} is no line of front matter: ${shown(line)}. Write lines such as version: 3.`,
        details: { path },
      })
    head[key] = value.trim().replace(/^(["'])(.*)\1$/, '$2')
  }
  const { name, version, label } = head
  return { head: defined({ name, version, label }), body: whole.slice(found[0].length).trim() }
}

function filled(
  { path, body, names }: { readonly path: string; readonly body: string; readonly names: readonly string[] },
  variables: unknown,
): string {
  if (!isObject(variables))
    throw invalidOption('variables', `must be an object such as { company: 'Acme' }, not ${shown(variables)}`)
  const given = variables as Readonly<Record<string, unknown>>
  const missing = names.filter((name) => !Object.hasOwn(given, name) || given[name] === undefined)
  if (missing.length > 0)
    throw invalidOption(
      'systemPrompt',
      `${path} has {{${missing[0]}}}: give it as promptFile(${shown(path)}, { variables: { ${missing.join(', ')} } })`,
    )
  const unused = Object.keys(given).find((name) => !names.includes(name))
  if (unused !== undefined) {
    const meant = nearestName(unused, names)
    throw invalidOption(
      'variables',
      `has ${shown(unused)}, which ${path} does not use.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    )
  }
  return body.replaceAll(VARIABLE, (_, name: string) => valueOf(name, given[name]))
}

function valueOf(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw invalidOption(`variables.${name}`, `must be a text or a number, not ${shown(value)}`)
}
