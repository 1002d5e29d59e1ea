/**
 * Patterns of commands, matched against parsed words. An allowing pattern matches narrowly: a `*` covers no option of a
 * command that is not known to be harmless, and nothing of a launcher. A warning one matches broadly.
 */
import {
  hasHarmlessOptions,
  hasSubcommands,
  isLauncher,
  isOption,
  plainName,
  readsCode,
} from './launchers.ts'
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

/**
 * True if the command is of the kind that the pattern names, whichever way it is written: options and their possible
 * values may stand between the words of the pattern, and anything if the pattern ends with `*`.
 */
export function concerns(pattern: CommandPattern, words: readonly string[]): boolean {
  const { isOpen, fixed } = partsOf(pattern)
  const [name, ...wanted] = fixed
  const [program = '', ...given] = words
  if (plainName(name?.text ?? '') !== plainName(program)) return false
  const isLoose = (found: number) => isOpen && (found > 0 || wanted.length === 0 || !hasSubcommands(program))
  // How many words of the pattern may have been found so far: there are several ways to skip.
  let reached: readonly number[] = [0]
  for (const [at, word] of given.entries()) {
    const isSkipped = isOption(word) || isOption(given[at - 1] ?? '')
    const next = reached.flatMap((found) => [
      ...(isSkipped || isLoose(found) ? [found] : []),
      ...(isLike(wanted[found], word) ? [found + 1] : []),
    ])
    reached = [...new Set(next)]
  }
  return reached.includes(wanted.length)
}

function isLike(pattern: ShellWord | undefined, word: string): boolean {
  if (pattern === undefined) return false
  return isWild(pattern) ? like(pattern.text, word) : pattern.text === word
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

function like(pattern: string, word: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(word)
}
