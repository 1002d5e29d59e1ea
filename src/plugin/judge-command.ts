/** Decides about a command line: each command of its chain by its words, each redirection as a write or read of its file. */
import { isAbsolute } from 'node:path'
import type { PolicyDecision } from '../tool/index.ts'
import type { ReadRule } from './approval-rules.ts'
import { inside, type JudgedPath, judgedPath } from './call-patterns.ts'
import { allows } from './command-pattern.ts'
import { judge, judgeArguments, judgePlaces, type Policy, unmatched } from './judge-call.ts'
import { isLauncher, readsCode } from './launchers.ts'
import { understand } from './shell-chain.ts'
import { type CommandChain, ShellProblem, type ShellWord } from './shell-words.ts'

export interface GivenCommand {
  readonly tool: string
  readonly text: unknown
  /** The folder that it runs in, if the call names one. */
  readonly folder?: unknown
}

export async function judgeCommand(policy: Policy, given: GivenCommand): Promise<readonly PolicyDecision[]> {
  const { tool, text, folder } = given
  const chain =
    typeof text === 'string' ? await understand(text, policy.load) : new ShellProblem('it is no text')
  if (chain instanceof ShellProblem) {
    const reason = `The command is not understood: ${chain.why}.`
    const otherwise = unmatched(policy, tool, reason)
    const asking: PolicyDecision = { ...otherwise, reason }
    const whole = judge(
      policy,
      { kind: 'command', tool, words: [], paths: () => [] },
      { ofRule: () => undefined, own: undefined, otherwise },
    )
    return [whole.decision === 'deny' ? whole : asking]
  }
  const place = folder === undefined ? '.' : folderOf(policy, folder)
  return [
    ...chain.commands.map(({ words }) => judgeWords(policy, { tool, words, place })),
    ...judgeRedirections(policy, chain, { tool, place }),
  ]
}

/** The folder relative to that of the policy; undefined if it cannot be judged. */
function folderOf({ cwd }: Policy, folder: unknown): string | undefined {
  const path = typeof folder === 'string' && /^[\w./-]*$/.test(folder) ? judgedPath(cwd, folder) : undefined
  if (path === undefined) return undefined
  const [written, real] = [inside(path.folder, path.lexical), inside(path.realFolder, path.real)]
  // A `..` after a link leads elsewhere than it seems to.
  return written === real ? written : (folder as string)
}

interface JudgedCommand {
  readonly tool: string
  readonly words: readonly ShellWord[]
  readonly place: string | undefined
}

function judgeWords(policy: Policy, { tool, words, place }: JudgedCommand): PolicyDecision {
  const texts = words.map(({ text }) => text)
  const written = words.map(shown).join(' ')
  const name = place === '.' ? tool : `${tool} in ${place ?? ''}`
  const isGrantable = place !== undefined && !isLauncher(texts) && !readsCode(texts)
  const otherwise = unmatched(policy, tool, `No rule allows ${JSON.stringify(written)}.`)
  let read: readonly (JudgedPath | undefined)[] | undefined
  const paths = () => (read ??= pathsIn(policy, texts, place))
  const decided = judge(
    policy,
    { kind: 'command', tool, words: texts, paths },
    {
      ofRule: (asking) => (isGrantable ? ruleText(asking, { name, texts }) : undefined),
      own: isGrantable ? `${name}: ${written}` : undefined,
      otherwise,
    },
  )
  if (decided.decision !== 'allow' || place === '.') return decided
  const reason = `It runs in ${place ?? 'another folder'}.`
  return { decision: 'ask', reason, ...(isGrantable ? { grants: [`${name}: ${written}`] } : {}) }
}

/**
 * Every word taken for a path, and what follows `name=`, `name:`, `@` or a short option in it. The first word is one only
 * with a `/`: others are found on the PATH.
 */
function pathsIn(
  { cwd }: Policy,
  [program = '', ...words]: readonly string[],
  place = '.',
): readonly (JudgedPath | undefined)[] {
  const texts = words.flatMap((word) => [word, ...valuesOf(word), ...endsOf(word)])
  const paths = new Set(program.includes('/') ? [program, ...texts] : texts)
  return [...paths].map((path) => judgedPath(cwd, place, path))
}

/** Possible values in a word of short options: `-f.env`, and after others, `-vf.env`. */
function valuesOf(word: string): readonly string[] {
  if (!/^-\w./.test(word)) return []
  const most = Math.min(word.length, LONGEST_OPTIONS)
  return Array.from({ length: most - 2 }, (_, at) => word.slice(at + 2))
}

/** A bound keeps long words cheap. */
const LONGEST_OPTIONS = 20

/** The ends of a word after each of its last separators; a bound keeps long words cheap. */
function endsOf(word: string): readonly string[] {
  return [...word.matchAll(/[=:@,]/g)].slice(-20).map(({ index }) => word.slice(index + 1))
}

/** The patterns of a rule that asks, if they would allow the command; else a grant is for the command alone. */
function ruleText(
  { commands }: ReadRule,
  { name, texts }: { readonly name: string; readonly texts: readonly string[] },
): string | undefined {
  const pattern = commands?.find((each) => allows(each, texts))
  return pattern === undefined ? undefined : `${name}: ${pattern.words.map(patternText).join(' ')}`
}

function patternText(word: ShellWord): string {
  return !word.isQuoted && word.text.includes('*') ? word.text : shown(word)
}

/** Every list of words has a text of its own. */
function shown({ text }: ShellWord): string {
  if (/^[A-Za-z0-9_./,:=@%+-]+$/.test(text)) return text
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`
}

/** A redirection is a call of the tool for files; rules of the command's tool that deny or ask about its path count, too. */
function judgeRedirections(
  policy: Policy,
  { commands }: CommandChain,
  { tool, place }: Omit<JudgedCommand, 'words'>,
): readonly PolicyDecision[] {
  const files = commands
    .flatMap(({ redirections }) => redirections)
    .filter(({ kind, target }) => kind !== 'join' && target !== '/dev/null')
  if (files.length === 0) return []
  // A command that changes the folder changes the meaning of the targets.
  const isMoving = commands.some(({ words }) => isLauncher(words.map(({ text }) => text)))
  if (place === undefined || isMoving)
    return [{ decision: 'ask', reason: 'The files of its redirections are not known.' }]
  return files.flatMap(({ kind, target }) => {
    const path = place === '.' || isAbsolute(target) ? target : `${place}/${target}`
    const given = { [policy.names.path[0] ?? 'path']: path }
    const fileTool = kind === 'write' ? 'write_to_file' : 'read_file'
    return [judgeArguments(policy, fileTool, given), ...judgePlaces(policy, tool, given)]
  })
}
