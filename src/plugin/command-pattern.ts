/**
 * Patterns of commands, matched against parsed words. An allowing pattern matches narrowly: a `*` covers no option of a
 * command that is not known to be harmless, and nothing of a launcher. A warning one matches broadly.
 */
import { hasHarmlessOptions, hasSubcommands, isLauncher, plainName, readsCode } from './launchers.ts'
import { readChain, ShellProblem, type ShellWord } from './shell-words.ts'

export interface CommandPattern {
  readonly text: string
  readonly words: readonly ShellWord[]
}

/** Throws a text that says what is wrong with the pattern. */
export function commandPattern(text: string): CommandPattern {
  const chain = readChain(text, { more: '*' })
  if (chain instanceof ShellProblem) throw new TypeError(chain.why)
  const [command, ...others] = chain.commands
  if (command === undefined || others.length > 0) throw new TypeError('it must be one command')
  if (command.redirections.length > 0) throw new TypeError('redirections are judged as writes to their files')
  const { words } = command
  const wild = words.find((word, at) => isWild(word) && /^-+\*$/.test(word.text) && at > 0)
  if (wild !== undefined) throw new TypeError(`write out the options instead of ${wild.text}`)
  const [name, subcommand] = words
  const isFree = subcommand !== undefined && (isWild(subcommand) || isOption(subcommand.text))
  if (name !== undefined && hasSubcommands(name.text) && words.some(isWild) && isFree)
    throw new TypeError(`write out the subcommand of ${name.text}, before its options`)
  return { text, words }
}

function isWild({ text, isQuoted }: ShellWord): boolean {
  return !isQuoted && text.includes('*')
}

/** True if the pattern covers the command, and nothing in the command does more than the pattern says. */
export function allows(pattern: CommandPattern, words: readonly string[]): boolean {
  const { isOpen, fixed } = partsOf(pattern)
  const isExact = fixed.length === words.length && fixed.every((word, at) => word.text === words[at])
  if (isExact && !isOpen && !fixed.some(isWild)) return true
  if (isLauncher(words) || readsCode(words)) return false
  const free = words.slice(fixed.length)
  if (words.length < fixed.length || (free.length > 0 && !isOpen)) return false
  if (fixed[0]?.text !== words[0] || !fixed.every((word, at) => matches(word, words[at] ?? ''))) return false
  return hasHarmlessOptions(words[0] ?? '') || !free.some(isOption)
}

/** True if the command is of the kind that the pattern names, whichever way it is written. */
export function concerns(pattern: CommandPattern, words: readonly string[]): boolean {
  const { isOpen, fixed } = partsOf(pattern)
  const [name, ...rest] = fixed
  if (plainName(name?.text ?? '') !== plainName(words[0] ?? '')) return false
  if (words.length < fixed.length || (words.length > fixed.length && !isOpen)) return false
  return rest.every((word, at) =>
    isWild(word) ? like(word.text, words[at + 1] ?? '') : word.text === words[at + 1],
  )
}

/** A `*` at the end stands for any number of words. */
function partsOf({ words }: CommandPattern): {
  readonly isOpen: boolean
  readonly fixed: readonly ShellWord[]
} {
  const last = words.at(-1)
  const isOpen = words.length > 1 && last !== undefined && !last.isQuoted && last.text === '*'
  return { isOpen, fixed: isOpen ? words.slice(0, -1) : words }
}

function matches(pattern: ShellWord, word: string): boolean {
  if (!isWild(pattern)) return pattern.text === word
  const isUpwards = /(?:^|[=/])\.\.(?:\/|$)/.test(word)
  return !isUpwards && (isOption(pattern.text) || !isOption(word)) && like(pattern.text, word)
}

function isOption(word: string): boolean {
  return /^[-+]/.test(word)
}

function like(pattern: string, word: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(word)
}
