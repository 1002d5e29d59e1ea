/**
 * The surroundings of hostile commands: canaries outside of the folder, listeners on loopback and on sockets, and a check
 * of all of them. Nothing here or in the commands touches anything that was there before.
 */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandFolder } from './command-kit.ts'

export class HostileWorld {
  readonly folder: CommandFolder = new CommandFolder()
  /** A number: part of command lines such as `sleep 97…`, and of the names of files that must not appear. */
  readonly mark: string = `97${process.pid}${Math.floor(Math.random() * 1e6)}`
  readonly secret: string = `canary-${Math.random().toString(36).slice(2)}-${this.mark}`
  /** Folders outside, each with a file `secret`. */
  readonly outside: readonly string[]
  readonly socket: string
  port = 0
  #connections = 0
  readonly #servers: Server[] = []

  constructor() {
    const places = [tmpdir(), homedir(), ...(existsSync('/var/tmp') ? ['/var/tmp'] : [])]
    this.outside = places.map((place) => mkdtempSync(join(place, '.holdfast-canary-')))
    for (const path of this.outside) writeFileSync(join(path, 'secret'), this.secret)
    this.socket = join(this.outside[0] ?? '', 'socket')
    // Links that an earlier command could have left behind.
    for (const [index, path] of this.outside.entries())
      symlinkSync(path, join(this.folder.path, `link${index}`))
  }

  async open(): Promise<void> {
    this.port = await this.#listen({ port: 0, host: '127.0.0.1' })
    await this.#listen({ path: this.socket })
    if (process.platform === 'linux') await this.#listen({ path: `\0${this.secret}` })
  }

  /** Everything that a command has reached. Forgets it. */
  escapes(output: string): readonly string[] {
    const found = [
      ...(output.includes(this.secret) ? ['read a canary'] : []),
      ...(output.includes('ESCAPED') ? ['reported an escape'] : []),
      ...(this.#connections > 0 ? ['reached a listener'] : []),
      ...this.outside.flatMap((path) => this.#changesIn(path)),
      ...[...STRAYS.map((place) => `${place}/${this.mark}`)].filter((path) => existsSync(path)),
      ...this.#environment().filter((variable) => output.includes(variable)),
    ]
    this.#connections = 0
    return found
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await new Promise((resolve) => server.close(resolve))
    for (const path of this.outside) rmSync(path, { recursive: true, force: true })
    this.folder.remove()
  }

  #changesIn(path: string): readonly string[] {
    const names = readdirSync(path).filter((name) => name !== 'secret' && name !== 'socket')
    const content = existsSync(join(path, 'secret')) ? readFileSync(join(path, 'secret'), 'utf8') : undefined
    for (const name of names) rmSync(join(path, name), { recursive: true, force: true })
    writeFileSync(join(path, 'secret'), this.secret)
    return [
      ...names.map((name) => `made ${join(path, name)}`),
      ...(content === this.secret ? [] : [`changed ${join(path, 'secret')}`]),
    ]
  }

  /** What this process was started with and commands do not get. */
  #environment(): readonly string[] {
    if (process.platform !== 'linux') return []
    return readFileSync('/proc/self/environ', 'utf8')
      .split('\0')
      .filter((variable) => /^[A-Z_]+=.{6,}/.test(variable))
      .filter((variable) => !/^(PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|PWD|OLDPWD|_)=/.test(variable))
  }

  async #listen(options: { readonly port: number; readonly host: string } | { readonly path: string }) {
    const server = createServer((connection) => {
      this.#connections += 1
      connection.on('error', () => {})
      connection.end(this.secret)
    })
    this.#servers.push(server)
    await new Promise<void>((resolve) => server.listen(options, resolve))
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }
}

/** Places of the system in which a command tries to make a file that is named by the mark. */
export const STRAYS: readonly string[] = [
  '/etc',
  '/usr',
  '/usr/local',
  '/usr/bin',
  '/var',
  '/root',
  '/run',
  '/',
  '/opt',
  '/srv',
  '/home',
  '/dev',
  '/tmp',
  '/var/tmp',
  '/dev/shm',
  '/boot',
]
