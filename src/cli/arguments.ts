/** Parses arguments into a command and its options. It knows the form of commands, not their effect. */
import { parseArgs } from 'node:util'
import { homePath } from './home-path.ts'
import { wrongUsage } from './refusal.ts'

export interface OptionForm {
  /** The name of its value in the help; without it, the option is a switch. */
  readonly takes?: string
  readonly short?: string
  readonly help: string
  /** May be given more than once. */
  readonly many?: true
}

export interface CommandForm<Name extends string = string> {
  readonly name: Name
  readonly summary: string
  /** The text after the name in the help. */
  readonly usage: string
  readonly about?: string
  /** The number of words besides options. */
  readonly words: { readonly least: number; readonly most: number }
  readonly options: Readonly<Record<string, OptionForm>>
  readonly examples: readonly (readonly [command: string, meaning: string])[]
}

export interface ParsedArguments<Name extends string = string> {
  readonly command: CommandForm<Name> | undefined
  readonly words: readonly string[]
  /** The value of an option that takes one. */
  readonly value: (option: string) => string | undefined
  readonly values: (option: string) => readonly string[]
  readonly has: (option: string) => boolean
}

/** Names of values that are paths. */
const PATHS: ReadonlySet<string> = new Set(['FILE', 'DIR'])

/** Rejects with an error that names the mistake and suggests the nearest word. */
export async function readArguments<Name extends string>(
  args: readonly string[],
  commands: readonly CommandForm<Name>[],
  shared: Readonly<Record<string, OptionForm>>,
): Promise<ParsedArguments<Name>> {
  const all = Object.assign({}, ...commands.map(({ options }) => options), shared) as CommandForm['options']
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Object.entries(all).map(([name, form]) => [name, parserOption(form)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
  const [name] = words
  const command = commands.find((candidate) => candidate.name === name)
  const known = { ...command?.options, ...shared }
  const found = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    await checkOption(token, command === undefined ? all : known, command)
    const before = found.get(token.name) ?? []
    const { takes, many } = all[token.name] ?? { help: '' }
    if (before.length > 0 && takes !== undefined && !many)
      throw wrongUsage(`${token.rawName} is given twice. Keep one.`)
    found.set(token.name, [...before, valueOf(token.value ?? '', takes)])
  }
  const asksForHelp = found.has('help') || found.has('version')
  if (name !== undefined && command === undefined && !found.has('version'))
    throw await unknownCommand(name, commands)
  if (command !== undefined && !asksForHelp) checkWords(command, words.slice(1))
  return {
    command,
    words: words.slice(1),
    value: (option) => found.get(option)?.at(-1),
    values: (option) => found.get(option) ?? [],
    has: (option) => found.has(option),
  }
}

/** A path may begin with `~`; of an id, some file systems write a letter and its accent apart. */
function valueOf(value: string, takes = ''): string {
  if (takes === 'ID') return value.normalize('NFC')
  return PATHS.has(takes) ? homePath(value) : value
}

function parserOption({ takes, short }: OptionForm): { type: 'string' | 'boolean'; short?: string } {
  return {
    type: takes === undefined ? 'boolean' : 'string',
    ...(short === undefined ? {} : { short }),
  }
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

async function checkOption(
  token: OptionToken,
  known: CommandForm['options'],
  command?: CommandForm,
): Promise<void> {
  const { name, rawName, value, inlineValue } = token
  const form = Object.hasOwn(known, name) ? known[name] : undefined
  const help = command === undefined ? 'holdfast --help' : `holdfast ${command.name} --help`
  if (form === undefined) {
    const where = command === undefined ? '' : ` of ${command.name}`
    const meant = await suggestion(
      rawName,
      Object.keys(known).map((each) => `--${each}`),
    )
    throw wrongUsage(`${rawName} is no option${where}.${meant}${wordsAdvice(command)} See ${help}`)
  }
  if (form.takes === undefined && value !== undefined)
    throw wrongUsage(`${rawName} takes no value. See ${help}`)
  if (form.takes === undefined) return
  const isMissing = value === undefined || value === '' || (!inlineValue && /^-./.test(value))
  if (isMissing) throw wrongUsage(`${rawName} needs a value: ${rawName} ${form.takes}. See ${help}`)
}

/** A message may begin with a hyphen, such as a list. */
function wordsAdvice(command?: CommandForm): string {
  if (command?.words.most !== Number.POSITIVE_INFINITY) return ''
  return ` For words that begin with a hyphen: holdfast ${command.name} -- "…".`
}

async function unknownCommand(name: string, commands: readonly CommandForm[]): Promise<Error> {
  const names = commands.map((command) => command.name)
  const meant = await suggestion(name, names)
  const shown = name.length > 40 ? `${name.slice(0, 40)}…` : name
  const advice = meant === '' ? ` Commands are ${names.join(', ')}.` : meant
  const isSentence = /\s/.test(name) ? ' To send a message: holdfast run "…".' : ''
  return wrongUsage(`${JSON.stringify(shown)} is no command.${advice}${isSentence} See holdfast --help`)
}

function checkWords({ name, words, usage }: CommandForm, received: readonly string[]): void {
  if (received.length >= words.least && received.length <= words.most) return
  const what =
    received.length < words.least ? 'Something is missing' : `${JSON.stringify(received.at(-1))} is too much`
  throw wrongUsage(`${what}: holdfast ${name} ${usage}. See holdfast ${name} --help`)
}

/** Loaded for mistakes only: the runtime comes with it. */
async function suggestion(word: string, words: readonly string[]): Promise<string> {
  const { didYouMean } = await import('./nearest.ts')
  return didYouMean(word, words)
}

/** A word quoted for a shell, so that a printed command can be copied. */
export function shellWord(word: string): string {
  return /^[\w./:@%+~,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
