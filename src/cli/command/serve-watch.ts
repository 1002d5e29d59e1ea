/** `holdfast serve --watch`: a server in a process of its own, started anew when a file beside the config changes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { dim, prose, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import type { Workspace } from '../workspace.ts'
import type { CommandContext } from './context.ts'

const SETTLE_MS = 100
const MOST_FOLDERS = 1000

export async function watchedServe(context: CommandContext, workspace: Workspace): Promise<number> {
  const folder = workspace.configPath === undefined ? context.cwd : dirname(workspace.configPath)
  const server = new WatchedServer(context)
  const files = new FolderWatch(folder, workspace.folder, () => server.restart())
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
  #child: ChildProcess | undefined
  #isRestarting = false
  #isStopping = false

  constructor(context: CommandContext) {
    this.#context = context
  }

  start(): void {
    const args = process.argv.slice(1).filter((argument) => argument !== '--watch')
    // A group of its own: Ctrl-C reaches this process alone, which passes it on once.
    const child = spawn(process.execPath, [...process.execArgv, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    })
    this.#child = child
    const { out, err } = this.#context
    this.#print(child.stdout, (line) => this.#line(out, line))
    this.#print(child.stderr, (line) => err.write(styled`${prose(line)}\n`))
    child.once('exit', () => {
      this.#child = undefined
      if (this.#isRestarting) this.start()
      else if (!this.#isStopping)
        err.write(styled`${dim('The server has ended. It starts again when a file changes.')}\n`)
      this.#isRestarting = false
    })
  }

  restart(): void {
    if (this.#child === undefined) this.start()
    else if (!this.#isRestarting) {
      this.#isRestarting = true
      this.#context.err.write(styled`${dim('A file has changed: starting again.')}\n`)
      this.#child.kill('SIGTERM')
    }
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

/** Folders below one, each watched by itself: Node's recursive watch would read all packages, too. */
class FolderWatch {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #without: string
  readonly #changed: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(folder: string, without: string, changed: () => void) {
    this.#without = without
    this.#changed = changed
    this.#add(folder)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder) || this.#watchers.size >= MOST_FOLDERS || folder === this.#without) return
    try {
      const watcher = watch(folder, (_, name) => this.#seen(folder, name))
      watcher.on('error', () => this.#drop(folder))
      this.#watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true }))
        if (entry.isDirectory() && !isIgnored(entry.name)) this.#add(join(folder, entry.name))
    } catch {
      // A folder that is gone again.
      this.#drop(folder)
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  #seen(folder: string, name: string | null): void {
    if (name === null || isIgnored(name) || join(folder, name) === this.#without) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#add(folder)
      this.#changed()
    }, SETTLE_MS)
  }
}

/** Files that a running server writes, and folders that are not the user's. */
function isIgnored(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.') || /\.(db|db-wal|db-shm|log)$/.test(name)
}
