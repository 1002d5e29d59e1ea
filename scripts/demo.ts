/**
 * `npm start`: a chat with the example agent of examples/site-manager. Where no terminal is attached, a short conversation is
 * played instead: real turns with tools, on the built-in model and a SQLite file, each in a process of its own.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openOutputs } from '../src/cli/gate/outputs.ts'
import { bold, styled } from '../src/cli/gate/styled.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const config = join(root, 'examples/site-manager/holdfast.config.ts')
const WAITS_FOR_AN_ANSWER = 5
const { out } = openOutputs(process, { env: process.env })

const conversation: readonly { readonly args: readonly string[]; readonly exitCode: number }[] = [
  { args: ['run', '--context', 'demo', 'List the projects'], exitCode: 0 },
  { args: ['run', '--context', 'demo', 'Select project 1'], exitCode: 0 },
  { args: ['run', '--context', 'demo', 'Which tasks are open?'], exitCode: 0 },
  { args: ['run', '--context', 'demo', 'Affiche les documents de Bureau'], exitCode: 0 },
  { args: ['run', '--context', 'demo', 'Select project Les Tilleuls'], exitCode: WAITS_FOR_AN_ANSWER },
  { args: ['run', '--context', 'demo', '--answer', '2'], exitCode: 0 },
  { args: ['show', 'demo'], exitCode: 0 },
]

process.exitCode = process.stdin.isTTY && process.stdout.isTTY ? await talk() : await play()

async function talk(): Promise<number> {
  // Ctrl-C is for the chat.
  process.on('SIGINT', () => {})
  const home = join(root, '.tmp/start')
  mkdirSync(home, { recursive: true })
  return holdfast(['chat'], home)
}

async function play(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  try {
    for (const { args, exitCode } of conversation) {
      const [command = '', ...rest] = args
      out.write(styled`\n${bold(`$ holdfast ${[command, ...rest.map(quoted)].join(' ')}`)}\n`)
      const found = await holdfast(command === 'run' ? [...args, '--model', 'reflex'] : args, home)
      if (found !== exitCode) return found || 1
    }
    out.write(
      styled`\nEach line above was a process of its own; what they know is in one SQLite file. In a terminal, npm start is a chat.\n`,
    )
    return 0
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function quoted(word: string): string {
  return /\s/.test(word) ? JSON.stringify(word) : word
}

/** The terminal from its sources, with the example's config. */
function holdfast(args: readonly string[], home: string): Promise<number> {
  const from = ['--import', new URL('from-source.ts', import.meta.url).href, join(root, 'src/cli/bin.ts')]
  const [command = '', ...rest] = args
  const child = spawn(process.execPath, [...from, command, '--config', config, ...rest], {
    // Standard error is shown in its place: both go to where standard output goes.
    stdio: ['inherit', 'inherit', process.stdout.isTTY ? 'inherit' : 1],
    env: { ...process.env, HOLDFAST_HOME: home },
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
