/**
 * `npm start`: the tour, then a chat with the agent of examples/site-manager, in the terminal and on a page. Without a terminal
 * it only prints the tour as text. `--no-tour` goes to the chat at once.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { EXIT } from '../src/cli/exit-code.ts'
import { openOutputs } from '../src/cli/gate/outputs.ts'
import { bold, dim, joinLines, red, type Styled, styled } from '../src/terminal/index.ts'
import { buildPage } from './build-page.ts'
import { playTour } from './tour/tour.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const home = process.env['HOLDFAST_HOME'] ?? join(root, '.tmp/start')
const environment = { ...process.env, HOLDFAST_HOME: home }
const isTerminal = process.stdin.isTTY && process.stdout.isTTY
const { out, err } = openOutputs(process, { env: process.env })

class Left extends Error {}

async function start(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { 'no-tour': { type: 'boolean', default: false } },
    strict: false,
    allowPositionals: true,
  })
  const [unknown] = [...Object.keys(values).filter((name) => name !== 'no-tour'), ...positionals]
  if (unknown !== undefined) return refuse(`${unknown} is not known. Options are: npm start -- --no-tour`)
  if (!isTerminal && values['no-tour'])
    return refuse('The chat needs a terminal. Without --no-tour, the tour is printed.')
  const isBuilt = isTerminal ? pageIsBuilt() : Promise.resolve(false)
  if (!values['no-tour']) {
    const exitCode = await tour()
    if (exitCode !== EXIT.done || !isTerminal) return exitCode
  }
  const page = (await isBuilt) ? await servePage() : undefined
  out.write(styled`${joinLines(THINGS_TO_TRY)}\n`)
  if (page !== undefined) out.write(styled`\nThe same conversations in your browser: ${bold(page.url)}\n`)
  out.write(styled`\n`)
  try {
    return await chat()
  } finally {
    page?.stop()
  }
}

/** Builds the page during the tour, once. False if that fails: the chat does not need it. */
async function pageIsBuilt(): Promise<boolean> {
  if (existsSync(join(root, 'dist/page/index.html'))) return true
  return buildPage().then(
    () => true,
    () => false,
  )
}

/** `holdfast serve` beside the chat, on the same journal. Undefined if it does not start. */
async function servePage(): Promise<{ readonly url: string; readonly stop: () => void } | undefined> {
  const child = spawn(process.execPath, command('serve', '--json'), {
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    env: environment,
    // Ctrl-C is for the chat.
    detached: true,
  })
  const url = await new Promise<string | undefined>((resolve) => {
    // The first line says where it listens; the lines of requests after it are read and dropped.
    let text: string | undefined = ''
    const output = child.stdout as Readable
    output.setEncoding('utf8').on('data', (chunk: string) => {
      if (text === undefined) return
      text += chunk
      const end = text.indexOf('\n')
      if (end < 0) return
      resolve(listeningUrl(text.slice(0, end)))
      text = undefined
    })
    child.once('error', () => resolve(undefined)).once('exit', () => resolve(undefined))
  })
  if (url === undefined) return undefined
  return { url, stop: () => child.kill('SIGTERM') }
}

function listeningUrl(line: string): string | undefined {
  const { type, url } = JSON.parse(line) as { readonly type: string; readonly url: string }
  return type === 'listening' ? url : undefined
}

const THINGS_TO_TRY: readonly Styled[] = [
  styled`\n${bold('Your turn.')} Three things to try:`,
  styled`  Show the tasks of Levallois`,
  styled`  Select project Les Tilleuls  ${dim('and answer: Lyon')}`,
  styled`  Order 40 bags of cement      ${dim('say y, close the window,')}`,
  dim('                               and npm start goes on'),
  styled`/help lists the commands.`,
]

/** An exit code; 0 also if the tour was skipped. */
async function tour(): Promise<number> {
  mkdirSync(home, { recursive: true })
  const folder = mkdtempSync(join(home, 'tour-'))
  const leaving = new AbortController()
  const skipping = new AbortController()
  const signal = AbortSignal.any([leaving.signal, skipping.signal])
  const stopListening = listen({ skip: () => skipping.abort(), leave: () => leaving.abort(new Left()) })
  try {
    const below = relative(process.cwd(), folder)
    const shownHome = below.startsWith('..') ? folder : below
    const hint = isTerminal ? { hint: 'A tour of twenty seconds. Any key skips it, Ctrl-C leaves.' } : {}
    const isTrue = await playTour({ out, pace: isTerminal ? 1 : 0, signal, home: folder, shownHome, ...hint })
    return isTrue ? EXIT.done : EXIT.failed
  } catch (error) {
    if (!signal.aborted) throw error
    out.freshLine()
    return leaving.signal.aborted ? EXIT.cancelled : EXIT.done
  } finally {
    stopListening()
  }
}

/** Keys and signals during the tour. */
function listen({ skip, leave }: { skip: () => void; leave: () => void }): () => void {
  const { stdin } = process
  const onKey = (keys: Buffer) => (keys.includes(CTRL_C) ? leave() : skip())
  process.on('SIGINT', leave).on('SIGTERM', leave).on('SIGHUP', leave)
  if (isTerminal) stdin.setRawMode(true).on('data', onKey).resume()
  return () => {
    process.off('SIGINT', leave).off('SIGTERM', leave).off('SIGHUP', leave)
    if (isTerminal) stdin.off('data', onKey).setRawMode(false).pause()
  }
}

const CTRL_C = 3

function refuse(message: string): number {
  err.write(styled`${red('npm start:')} ${message}\n`)
  return EXIT.usage
}

/** The command from its sources, with the config of the example. */
function command(...words: readonly string[]): string[] {
  const config = join(root, 'examples/site-manager/holdfast.config.ts')
  const from = ['--import', new URL('from-source.ts', import.meta.url).href, join(root, 'src/cli/bin.ts')]
  return [...from, ...words, '--config', config]
}

function chat(): Promise<number> {
  // Ctrl-C is for the chat.
  process.on('SIGINT', () => {})
  const child = spawn(process.execPath, command('chat'), { stdio: 'inherit', env: environment })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? EXIT.failed))
  })
}

process.exitCode = await start(process.argv.slice(2))
