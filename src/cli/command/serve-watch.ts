/** `holdfast serve --watch`: a server in a process of its own, started anew when a module of the config or a prompt changes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { type FSWatcher, watch } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { fileURLToPath } from 'node:url'
import { dim, prose, styled } from 'holdfast/terminal'
import { CONFIG_NAMES } from '../config/find-config.ts'
import { EXIT } from '../exit-code.ts'
import type { Workspace } from '../workspace.ts'
import type { CommandContext } from './context.ts'

const SETTLE_MS = 100
const MOST_FOLDERS = 1000
const PROMPTS = 'prompts'

export async function watchedServe(context: CommandContext, workspace: Workspace): Promise<number> {
  const folder = workspace.configPath === undefined ? context.cwd : dirname(workspace.configPath)
  const server = new WatchedServer(context, (file) => files.add(file))
  const files = new SourceWatch({
    folder,
    configs:
      workspace.configPath === undefined
        ? CONFIG_NAMES.map((name) => join(folder, name))
        : [workspace.configPath],
    isDown: () => server.isDown,
    changed: (file) => server.restart(file),
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  let isStopping = false
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) server.kill('SIGKILL')
    isStopping = true
    server.kill(signal)
    resolve()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  server.start()
  await promise
  files.close()
  await server.ended()
  return EXIT.done
}

class WatchedServer {
  readonly #context: CommandContext
  readonly #onImport: (file: string) => void
  #child: ChildProcess | undefined
  #isRestarting = false
  #isStopping = false

  constructor(context: CommandContext, onImport: (file: string) => void) {
    this.#context = context
    this.#onImport = onImport
  }

  get isDown(): boolean {
    return this.#child === undefined
  }

  start(): void {
    const args = process.argv.slice(1).filter((argument) => argument !== '--watch')
    // A group of its own: Ctrl-C reaches this process alone, which passes it on once.
    const child = spawn(process.execPath, [...process.execArgv, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...process.env, [WATCHED]: '1' },
    })
    this.#child = child
    child.on('message', (message: { readonly imported?: unknown }) => {
      if (typeof message.imported === 'string') this.#onImport(message.imported)
    })
    const { out, err } = this.#context
    this.#print(child.stdout, (line) => this.#line(out, line))
    this.#print(child.stderr, (line) => err.write(styled`${prose(line)}\n`))
    child.once('exit', (exitCode) => {
      this.#child = undefined
      if (this.#isRestarting) this.start()
      else if (!this.#isStopping)
        this.#note({ type: 'ended', exitCode }, 'The server has ended. It starts again when a file changes.')
      this.#isRestarting = false
    })
  }

  restart(file: string): void {
    if (this.#isRestarting) return
    this.#note({ type: 'restart', file }, `${file} has changed: starting again.`)
    if (this.#child === undefined) {
      this.start()
      return
    }
    this.#isRestarting = true
    this.#child.kill('SIGTERM')
  }

  #note(line: object, text: string): void {
    const { args, out, err } = this.#context
    if (args.has('json')) out.json(line)
    else err.write(styled`${dim(text)}\n`)
  }

  /** Ends it for good. */
  kill(signal: NodeJS.Signals): void {
    this.#isRestarting = false
    this.#isStopping = true
    this.#child?.kill(signal)
  }

  async ended(): Promise<void> {
    const child = this.#child
    if (child !== undefined) await new Promise((resolve) => child.once('exit', resolve))
  }

  #line(out: CommandContext['out'], line: string): void {
    if (this.#context.args.has('json') && line.startsWith('{')) out.json(JSON.parse(line))
    else out.write(styled`${prose(line)}\n`)
  }

  #print(stream: ChildProcess['stdout'], print: (line: string) => void): void {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    stream?.on('data', (chunk: Buffer) => {
      const lines = (rest + decoder.write(chunk)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) print(line)
    })
  }
}

/** Code that a server which could not start may need. */
const CODE = /\.(?:[cm]?[jt]s|json)$/

interface WatchedFiles {
  /** The folder of the config. */
  readonly folder: string
  readonly configs: readonly string[]
  /** True while no server runs. */
  readonly isDown: () => boolean
  readonly changed: (file: string) => void
}

/** The modules that the config imports, and the prompts beside it. Folders are watched, since editors replace files. */
class SourceWatch {
  readonly #of: WatchedFiles
  readonly #files: Set<string>
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #prompts: string
  #timer: NodeJS.Timeout | undefined

  constructor(of: WatchedFiles) {
    this.#of = of
    this.#files = new Set(of.configs)
    this.#prompts = join(of.folder, PROMPTS)
    this.#watch(of.folder)
    this.#watch(this.#prompts, { recursive: true })
  }

  add(file: string): void {
    this.#files.add(file)
    this.#watch(dirname(file))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #watch(folder: string, options: { readonly recursive?: boolean } = {}): void {
    if (this.#watchers.has(folder) || this.#watchers.size >= MOST_FOLDERS) return
    try {
      const watcher = watch(folder, options, (_, name) => this.#seen(folder, name))
      watcher.on('error', () => this.#drop(folder))
      this.#watchers.set(folder, watcher)
    } catch {
      // There is no such folder, or it is gone again.
      this.#drop(folder)
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  #seen(folder: string, name: string | null): void {
    if (name === null) return
    const file = join(folder, name)
    if (!this.#concerns(file)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#watch(this.#prompts, { recursive: true })
      this.#of.changed(relative(this.#of.folder, file))
    }, SETTLE_MS)
  }

  #concerns(file: string): boolean {
    if (this.#files.has(file) || file === this.#prompts || file.startsWith(`${this.#prompts}${sep}`))
      return true
    return this.#of.isDown() && CODE.test(file)
  }
}

/** Set for the server of a watching process. */
const WATCHED = 'HOLDFAST_WATCHED'

/** In the server of a watching process: tells it each file that is imported from here on, packages left out. */
export function reportImports(env: CommandContext['env']): void {
  if (env[WATCHED] === undefined || process.send === undefined) return
  const reported = new Set<string>()
  const report = (url: string): void => {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || reported.has(url)) return
    reported.add(url)
    process.send?.({ imported: fileURLToPath(url) })
  }
  registerHooks({
    resolve: (specifier, context, next) => {
      // A file that is missing is imported once it is there.
      if (/^\.{1,2}\//.test(specifier) && context.parentURL?.startsWith('file:'))
        report(new URL(specifier, context.parentURL).href)
      const resolved = next(specifier, context)
      report(resolved.url)
      return resolved
    },
  })
}
