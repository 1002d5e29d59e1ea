/** The rules of an approval policy: their options, their checks, and which of them match a call. */
import { checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import {
  allowsPath,
  concernsFolder,
  concernsHost,
  concernsPath,
  hostForm,
  isHost,
  isTool,
  type JudgedPath,
} from './call-patterns.ts'
import { allows, type CommandPattern, commandPattern, concerns } from './command-pattern.ts'
import { readsFolder } from './folder-reach.ts'
import { hasCodeOption, isLauncher, readsCode } from './launchers.ts'

/**
 * A rule for calls. All of its conditions have to hold. Of several matching rules the strictest counts: deny, then ask,
 * then allow.
 */
export interface ApprovalRule {
  /** Names of tools; a `*` at the end stands for any end: `mcp_*`. */
  readonly tool: string | readonly string[]
  readonly decision: 'allow' | 'ask' | 'deny'
  /** Patterns of commands, matched word by word with each command of a chain: `git status`, `ls *`. */
  readonly command?: string | readonly string[]
  /** Patterns of paths relative to `cwd`: `src/**`, `*.md`; absolute with a `/` at the beginning. */
  readonly path?: string | readonly string[]
  /** Hosts of addresses: `example.com`, `*.example.com`, `localhost:8080`. */
  readonly host?: string | readonly string[]
  /** Read by the model if denied, by the person if asked. */
  readonly reason?: string
  /** With `deny`: ends the turn. */
  readonly stop?: boolean
}

const RULE: OptionSet<ApprovalRule> = {
  place: 'A rule of approvalPolicy()',
  options: {
    tool: null,
    decision: ['allow', 'ask', 'deny'],
    command: null,
    path: null,
    host: null,
    reason: 'a text',
    stop: 'true or false',
  },
  foreign: {
    tools: 'tool',
    action: 'decision',
    commands: 'command',
    paths: 'path',
    hosts: 'host',
    domain: 'host',
    url: 'host',
  },
}

/** A rule with its patterns read. */
export interface ReadRule {
  readonly rule: ApprovalRule
  readonly tools: readonly string[]
  readonly commands?: readonly CommandPattern[]
  readonly paths?: readonly string[]
  readonly hosts?: readonly string[]
}

export function readRule(rule: ApprovalRule): ReadRule {
  checkOptions(rule, RULE)
  const { tool, command, path, host, decision, stop } = rule
  const tools = textsOf('tool', tool)
  const odd = tools.find((name) => name.slice(0, -1).includes('*'))
  if (odd !== undefined) throw invalid(`${quote(odd)} has a * that is not at its end`)
  const spaced = tools.find((name) => name !== name.trim())
  if (spaced !== undefined) throw invalid(`its tool ${quote(spaced)} has spaces around it; remove them`)
  if (decision === undefined) throw invalid('it needs a decision: allow, ask or deny')
  if (stop && decision !== 'deny') throw invalid('`stop` belongs to a rule that denies')
  if (command !== undefined && (path ?? host) !== undefined)
    throw invalid('`command` cannot be combined with `path` or `host`')
  return {
    rule,
    tools,
    ...(command === undefined ? {} : { commands: textsOf('command', command).map(patternOf) }),
    ...(path === undefined ? {} : { paths: textsOf('path', path).map(pathOf) }),
    ...(host === undefined ? {} : { hosts: textsOf('host', host).map(hostPatternOf) }),
  }
}

function textsOf(name: string, value: unknown): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (texts.length > 0 && texts.every((text) => typeof text === 'string' && text.trim() !== ''))
    return texts as readonly string[]
  throw invalid(`its ${name} must be a text or a list of texts`)
}

function patternOf(text: string): CommandPattern {
  try {
    return commandPattern(text)
  } catch (error) {
    throw invalid(`the command pattern ${quote(text)} cannot be used: ${(error as Error).message}`)
  }
}

/** Forms of paths that would match nothing, with what to write. */
const ODD_PATHS: readonly (readonly [RegExp, string])[] = [
  [/^\s|\s$/, 'has spaces around it; remove them'],
  [/^~/, 'begins with ~; write the whole path, such as /home/name/.ssh/**'],
  [/^!/, 'begins with !; write a rule with another decision'],
  [/[{}]/, 'has braces; write a list of patterns'],
  [/[[\]]/, 'has brackets; write ? for any one character'],
  [/\\/, 'has a backslash; write / between folders'],
  [/.\/$/, 'ends with /; write /** at its end for all that is in the folder'],
  [/(?:^|\/)\.\.(?:\/|$)/, 'leads out of the folder; write the whole path, from / on'],
  [/\/\.?\//, 'has an empty part; write one / between folders'],
]

function pathOf(pattern: string): string {
  const odd = ODD_PATHS.find(([form]) => form.test(pattern))
  if (odd !== undefined) throw invalid(`its path ${quote(pattern)} ${odd[1]}`)
  return pattern.replace(/^\.\//, '')
}

function hostPatternOf(pattern: string): string {
  const form = hostForm(pattern)
  if (form === undefined)
    throw invalid(`its host ${quote(pattern)} is none; write example.com, *.example.com or localhost:8080`)
  if (form !== pattern.toLowerCase())
    throw invalid(`its host ${quote(pattern)} has another form in addresses; write ${form}`)
  return form
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `A rule of approvalPolicy() is wrong: ${why}.` })
}

/** One thing that a call does: a command, or its other arguments. */
export type Subject =
  | {
      readonly kind: 'command'
      readonly tool: string
      readonly words: readonly string[]
      /** Its words, as far as they could be paths. */
      readonly paths: () => readonly (JudgedPath | undefined)[]
    }
  | { readonly kind: 'call'; readonly tool: string; readonly given: GivenArguments }

/** Arguments that rules look at; undefined for one that cannot be judged. */
export interface GivenArguments {
  /** The folder, if no path is given. */
  readonly paths: readonly (JudgedPath | undefined)[]
  /** False for a call with an address and no path: it works there, and not on the folder. */
  readonly isOnFiles: boolean
  readonly hosts: readonly (string | undefined)[]
  readonly hasCommand: boolean
}

/** True if the rule covers the subject. Rules that allow match narrowly, the others broadly. */
export function matchesRule(read: ReadRule, subject: Subject): boolean {
  const { rule, tools, commands } = read
  const isNarrow = rule.decision === 'allow'
  if (!tools.some((pattern) => isTool(pattern, subject.tool))) return false
  if (subject.kind === 'command') {
    // A path that is denied is denied to commands, too; one that is allowed allows no command.
    if (read.paths !== undefined && !isNarrow) {
      const paths = subject.paths()
      return hasPath(read, paths, isNarrow) || hasFolder(read, paths)
    }
    if (commands === undefined) return isPlain(read) && (!isNarrow || coversAnyCommand(read, subject))
    return commands.some((pattern) => (isNarrow ? allows : concerns)(pattern, subject.words))
  }
  const { paths, hosts, hasCommand, isOnFiles } = subject.given
  // A pattern of names does not allow any command of a tool that it happens to match.
  if (hasCommand && isNarrow && !tools.includes(subject.tool)) return false
  if (read.paths !== undefined && isNarrow && !isOnFiles) return false
  if (commands !== undefined || !hasHost(read, hosts, isNarrow)) return false
  return hasPath(read, paths, isNarrow) || (!isNarrow && readsFolder(subject.tool) && hasFolder(read, paths))
}

function isPlain({ paths, hosts }: ReadRule): boolean {
  return paths === undefined && hosts === undefined
}

/** A rule that allows a tool by its whole name covers its commands, but beside other rules no launchers, nor options with code. */
function coversAnyCommand(
  { tools }: ReadRule,
  { tool, words }: Extract<Subject, { kind: 'command' }>,
): boolean {
  return tools.includes(tool) && !isLauncher(words) && !readsCode(words) && !hasCodeOption(words)
}

function hasPath({ paths: patterns }: ReadRule, paths: GivenArguments['paths'], isNarrow: boolean): boolean {
  if (patterns === undefined) return true
  const fits = (path: JudgedPath | undefined) =>
    path !== undefined && patterns.some((each) => (isNarrow ? allowsPath : concernsPath)(each, path))
  return isNarrow ? paths.length > 0 && paths.every(fits) : paths.some(fits)
}

/** True if the rule is about all that is in one of these folders. */
function hasFolder({ paths: patterns = [] }: ReadRule, paths: GivenArguments['paths']): boolean {
  return paths.some((path) => path !== undefined && patterns.some((each) => concernsFolder(each, path)))
}

function hasHost({ hosts: patterns }: ReadRule, hosts: GivenArguments['hosts'], isNarrow: boolean): boolean {
  if (patterns === undefined) return true
  const fits = (host: string | undefined) =>
    host !== undefined && patterns.some((each) => (isNarrow ? isHost : concernsHost)(each, host))
  return isNarrow ? hosts.length > 0 && hosts.every(fits) : hosts.some(fits)
}
