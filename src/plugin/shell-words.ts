/**
 * Reads the plain part of the shell language: words, quotes without expansion, `&&`, `||`, `;`, `|`, line breaks and
 * simple redirections. Any other character is a problem, so that nothing which a shell expands is taken for a word.
 */

export interface ShellWord {
  readonly text: string
  /** A part of it was quoted. */
  readonly isQuoted?: true
}

/** `write`, `read`: of a file. `join`: one output into another, as in `2>&1`. */
export interface Redirection {
  readonly kind: 'write' | 'read' | 'join'
  readonly target: string
}

export interface SimpleCommand {
  readonly words: readonly ShellWord[]
  readonly redirections: readonly Redirection[]
}

export type Separator = '&&' | '||' | ';' | '|' | '\n'

export interface CommandChain {
  readonly commands: readonly SimpleCommand[]
  /** Between the commands. */
  readonly separators: readonly Separator[]
}

/** Why a text is not read; a clause for `It is not understood: …`. */
export class ShellProblem {
  readonly why: string

  constructor(why: string) {
    this.why = why
  }
}

const LONGEST = 10_000
/** Characters of an unquoted word that no shell expands or treats as an operator. */
const PLAIN = /^[A-Za-z0-9_./,:=@%+-]$/
const NAME = /^(?:\.{0,2}\/)?[A-Za-z0-9_][A-Za-z0-9_.+/-]*$/
const REDIRECTION = /^(?:&>>?|([012])?(?:>>|>\||>&|>|<))/
const RESERVED = new Set(
  'if then else elif fi case esac for select while until do done in function time coproc'.split(' '),
)

export interface ShellOptions {
  /** Characters that an unquoted word may have, too: those of patterns. */
  readonly more?: string
}

export function readChain(text: string, { more = '' }: ShellOptions = {}): CommandChain | ShellProblem {
  if (text.length > LONGEST) return new ShellProblem('it is too long')
  const strange = /[^\n\t\x20-\x7e]/.exec(text)?.[0]
  if (strange !== undefined)
    return new ShellProblem(
      `it has the character U+${(strange.codePointAt(0) ?? 0).toString(16).toUpperCase()}`,
    )
  const tokens = tokensOf(text, more)
  return tokens instanceof ShellProblem ? tokens : chainOf(tokens)
}

type Token =
  | { readonly type: 'word'; readonly word: ShellWord }
  | { readonly type: 'separator'; readonly separator: Separator }
  | { readonly type: 'redirection'; readonly operator: string }

function tokensOf(text: string, more: string): readonly Token[] | ShellProblem {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at)
    const space = /^[ \t]+/.exec(rest)?.[0]
    const separator = /^(?:&&|\|\||[;|\n])/.exec(rest)?.[0] as Separator | undefined
    const operator = REDIRECTION.exec(rest)?.[0]
    if (space !== undefined) at += space.length
    else if (operator !== undefined) {
      tokens.push({ type: 'redirection', operator })
      at += operator.length
    } else if (separator !== undefined) {
      tokens.push({ type: 'separator', separator })
      at += separator.length
    } else {
      const read = wordAt(rest, more)
      if (read instanceof ShellProblem) return read
      tokens.push({ type: 'word', word: read.word })
      at += read.length
    }
  }
  return tokens
}

function wordAt(text: string, more: string): { word: ShellWord; length: number } | ShellProblem {
  let word = ''
  let isQuoted = false
  let at = 0
  while (at < text.length) {
    const char = text[at] ?? ''
    if (PLAIN.test(char) || more.includes(char)) {
      word += char
      at += 1
    } else if (char === "'" || char === '"') {
      const end = text.indexOf(char, at + 1)
      if (end < 0) return new ShellProblem('a quote is not closed')
      const inside = text.slice(at + 1, end)
      const expands = char === '"' ? /[$`\\]/.exec(inside)?.[0] : undefined
      if (expands !== undefined) return new ShellProblem(`it has ${expands} in double quotes`)
      word += inside
      isQuoted = true
      at = end + 1
    } else break
  }
  const next = text[at] ?? ''
  // After a word that is only digits, an angle bracket takes them for a file descriptor.
  if (/[<>]/.test(next) && /^\d+$/.test(word) && !isQuoted) return new ShellProblem(`it has ${word}${next}`)
  if (next !== '' && !/[ \t\n;|&<>]/.test(next)) return new ShellProblem(`it has an unquoted ${next}`)
  if (at === 0) return new ShellProblem(`it has an unquoted ${next}`)
  return { word: isQuoted ? { text: word, isQuoted } : { text: word }, length: at }
}

function chainOf(tokens: readonly Token[]): CommandChain | ShellProblem {
  const commands: SimpleCommand[] = []
  const separators: Separator[] = []
  let at = 0
  const skipBreaks = (): void => {
    while (isSeparator(tokens[at], '\n')) at += 1
  }
  skipBreaks()
  while (at < tokens.length) {
    const read = commandAt(tokens, at)
    if (read instanceof ShellProblem) return read
    commands.push(read.command)
    at = read.end
    const token = tokens[at]
    if (token === undefined) break
    if (token.type !== 'separator') return new ShellProblem('its parts do not fit together')
    at += 1
    skipBreaks()
    if (at >= tokens.length) {
      if (token.separator === ';' || token.separator === '\n') break
      return new ShellProblem(`it ends with ${token.separator}`)
    }
    separators.push(token.separator)
  }
  return commands.length === 0 ? new ShellProblem('it is empty') : { commands, separators }
}

function isSeparator(token: Token | undefined, separator: Separator): boolean {
  return token?.type === 'separator' && token.separator === separator
}

function commandAt(
  tokens: readonly Token[],
  start: number,
): { readonly command: SimpleCommand; readonly end: number } | ShellProblem {
  const words: ShellWord[] = []
  const redirections: Redirection[] = []
  let at = start
  for (; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined || token.type === 'separator') break
    if (token.type === 'word') {
      if (redirections.length > 0) return new ShellProblem('a word follows a redirection')
      words.push(token.word)
      continue
    }
    at += 1
    const redirection = redirectionOf(token.operator, tokens[at])
    if (redirection instanceof ShellProblem) return redirection
    redirections.push(redirection)
  }
  const [name] = words
  if (name === undefined) return new ShellProblem('a command is missing')
  if (name.isQuoted || !NAME.test(name.text) || RESERVED.has(name.text))
    return new ShellProblem(`${JSON.stringify(name.text)} is no plain name of a command`)
  return { command: { words, redirections }, end: at }
}

function redirectionOf(operator: string, token: Token | undefined): Redirection | ShellProblem {
  if (token?.type !== 'word' || token.word.text === '') return new ShellProblem('a redirection has no target')
  const target = token.word.text
  if (operator.endsWith('>&'))
    return /^[12]$/.test(target) && !token.word.isQuoted
      ? { kind: 'join', target }
      : new ShellProblem(`it has ${operator}${target}`)
  return { kind: operator.endsWith('<') ? 'read' : 'write', target }
}
