/**
 * Generated commands against an approval policy, with bash as the referee: every command that the policy allows runs in
 * bash, with a PATH of stubs that record their arguments. Only allowed commands with allowed words may have been run,
 * and only allowed files may have been written.
 */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { approvalPolicy } from '../../src/plugin/index.ts'
import { readChain, ShellProblem } from '../../src/plugin/shell-words.ts'
import { HARMLESS, RULES, TRICKS } from '../../test/plugin/command-table.ts'

export interface PolicyRun {
  readonly count: number
  readonly seed?: number
  readonly report?: (done: number) => void
}

export interface PolicyReport {
  readonly generated: number
  readonly allowed: number
  /** Commands that bash ran for the allowed lines. */
  readonly ran: number
  /** What should not have happened, with the line. */
  readonly problems: readonly string[]
}

const BASH = '/bin/bash'
const AT_ONCE = 4
const [FIELD, RECORD] = ['\x1f', '\x1e']
const STUBS =
  'ls cat echo pwd head wc grep true mkdir git npm tsc node find sort cp rg python xargs rm id sh bash env sudo'.split(
    ' ',
  )

export async function run({ count, seed = 1, report }: PolicyRun): Promise<PolicyReport> {
  const random = randomOf(seed)
  const { approve } = approvalPolicy({ rules: RULES, cwd: tmpdir() })
  const principal = { tenant: 't', actor: 'a' }
  const world = new World()
  const problems: string[] = []
  let [allowed, ran, done] = [0, 0, 0]
  const lines = [...HARMLESS, ...Array.from({ length: count }, () => generated(random))]
  const one = async (line: string): Promise<void> => {
    const call = { tool: 'execute_command', input: { command: line }, principal, callId: 'c', contextId: 'x' }
    const decided = await approve?.(call)
    if (decided?.decision === 'allow') {
      allowed += 1
      const seen = await world.execute(line)
      ran += seen.commands.length
      for (const words of seen.commands)
        if (!isHarmless(words) || !isJudged(line, words))
          problems.push(`${JSON.stringify(line)} ran ${JSON.stringify(words)}`)
      for (const file of seen.strangers) problems.push(`${JSON.stringify(line)} wrote ${file}`)
    }
    done += 1
    report?.(done)
  }
  try {
    const queue = lines.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const line of queue) await one(line)
      }),
    )
  } finally {
    world.remove()
  }
  return { generated: lines.length, allowed, ran, problems }
}

/** True if these are the words of a command that was judged: nothing was expanded or split in another way. */
function isJudged(line: string, words: readonly string[]): boolean {
  const chain = readChain(line)
  if (chain instanceof ShellProblem) return false
  return chain.commands.some((command) => {
    return JSON.stringify(command.words.map(({ text }) => text)) === JSON.stringify(words)
  })
}

/** Folders with stubs instead of commands. */
class World {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-shell-'))
  readonly #stubs = join(this.#folder, 'stubs')
  readonly #environment = join(this.#folder, 'environment')
  #made = 0

  constructor() {
    mkdirSync(this.#stubs)
    const stub = `#!/bin/sh\ns="\${0##*/}"\nfor a; do s="$s${FIELD}$a"; done\nprintf '%s${RECORD}' "$s" >> "$LOG"\n`
    for (const name of [...STUBS, 'not-found']) {
      writeFileSync(join(this.#stubs, name), stub)
      chmodSync(join(this.#stubs, name), 0o755)
    }
    const builtins = execFileSync(BASH, ['-c', 'compgen -b'], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
    // Builtins are recorded, too: without them, bash looks for a command of that name.
    writeFileSync(
      this.#environment,
      `command_not_found_handle() { "${this.#stubs}/not-found" "$@"; }\nenable -n ${builtins.join(' ')}\n`,
    )
  }

  async execute(line: string): Promise<{ commands: readonly string[][]; strangers: readonly string[] }> {
    const cwd = join(this.#folder, `run-${++this.#made}`)
    const log = `${cwd}.log`
    mkdirSync(join(cwd, 'out/deep'), { recursive: true })
    mkdirSync(join(cwd, 'src'))
    for (const file of ['README.md', 'names.txt', 'x']) writeFileSync(join(cwd, file), 'before')
    writeFileSync(log, '')
    const env = { PATH: this.#stubs, BASH_ENV: this.#environment, LOG: log, HOME: cwd }
    // Bash reads its environment file only if its input is no socket.
    const child = spawn(BASH, ['-c', line], { cwd, env, stdio: 'ignore' })
    await new Promise<void>((resolve) => child.on('close', () => resolve()))
    const commands = readFileSync(log, 'utf8')
      .split(RECORD)
      .filter((text) => text !== '')
      .map((text) => text.split(FIELD))
    const strangers = strangersIn(cwd)
    rmSync(cwd, { recursive: true, force: true })
    rmSync(log)
    return { commands, strangers }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Files outside `out` that were made or changed. */
function strangersIn(cwd: string): readonly string[] {
  return readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter((file) => {
    if (file === 'out' || file.startsWith('out/') || file === 'src') return false
    return (
      !['README.md', 'names.txt', 'x'].includes(file) || readFileSync(join(cwd, file), 'utf8') !== 'before'
    )
  })
}

/** The rules of the table once more, in another form: of words that were run. */
function isHarmless([name = '', ...words]: readonly string[]): boolean {
  const line = words.join(' ')
  const options = words.filter((word) => /^[-+]/.test(word))
  if (['ls', 'cat', 'echo', 'head', 'wc', 'grep'].includes(name)) return true
  if (['pwd', 'true'].includes(name)) return words.length === 0
  if (name === 'sort') return options.length === 0
  if (name === 'python') return options.length === 0 && words.length > 0
  if (name === 'mkdir') return line === 'out'
  if (name === 'tsc') return line === '--noEmit'
  if (name === 'xargs') return line === 'wc -l'
  if (name === 'node') return line === 'scripts/check.js' || (words.length === 1 && isIn('tools', line))
  if (name === 'find') return line.startsWith('src -name ') && options.length === 1
  if (name === 'cp') return words.length === 2 && words.every((word) => isIn('out', word))
  if (name === 'rg') return line.startsWith('--max-count=') && options.length === 1
  if (name === 'npm')
    return line === 'test' || line === 'run lint' || (line.startsWith('run build') && options.length === 0)
  if (name !== 'git') return false
  return line === 'status' || line === 'diff --stat' || isReadingGit(words, options)
}

/** A name such as `..a` leads nowhere. */
function isIn(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && !path.split('/').includes('..')
}

function isReadingGit([subcommand]: readonly string[], options: readonly string[]): boolean {
  const [option, ...more] = options
  if (more.length > 0) return false
  if (subcommand === 'log') return option === undefined || option === '--oneline'
  return subcommand === 'show' && option === '--stat'
}

const PIECES: readonly string[] = [
  ...[
    ' ',
    ' ',
    ' ',
    '\n',
    '\t',
    ';',
    '; ',
    ' && ',
    ' || ',
    ' | ',
    '&',
    '|',
    '>',
    '<',
    '>>',
    '2>',
    '>&',
    '&>',
    '2>&1',
  ],
  ...[
    '"',
    "'",
    '\\',
    '`',
    '$',
    '$(',
    ')',
    '(',
    '{',
    '}',
    '*',
    '?',
    '[',
    ']',
    '~',
    '#',
    '!',
    '=',
    '-',
    '--',
    '.',
    '/',
  ],
  ...[
    'ls',
    'cat',
    'echo',
    'rm',
    'git',
    'status',
    'log',
    'npm',
    'test',
    'node',
    'sh',
    'x',
    'src',
    'out/a',
    'a b',
    '5',
  ],
  ...[
    '"a b"',
    "'a b'",
    '""',
    "''",
    '-l',
    '--oneline',
    'X=1',
    '$x',
    '<<<',
    '<<E',
    'E',
    '\r',
    '\u00a0',
    'é',
    '\0',
    ' -c ',
  ],
]

/** A line of the tables with a few changes, or pieces at random. */
function generated(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  if (random() < 0.2) return Array.from({ length: 1 + Math.floor(random() * 9) }, () => pick(PIECES)).join('')
  let line = pick(random() < 0.8 ? HARMLESS : TRICKS.filter((text) => text.length < 200))
  for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--) {
    const at = Math.floor(random() * (line.length + 1))
    const cut = random() < 0.5 ? 0 : Math.floor(random() * 4)
    line = `${line.slice(0, at)}${random() < 0.8 ? pick(PIECES) : ''}${line.slice(at + cut)}`
  }
  return random() < 0.2 ? `${line}${pick(['; ', ' && ', ' | ', '\n'])}${pick(HARMLESS)}` : line
}

function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
