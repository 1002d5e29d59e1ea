/** Servers in processes, and a proxy in front of them that cuts connections. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { programFile } from '../../../build/programs.ts'
import type { ServerCommand, ServerOptions, ServerReport } from './server-process.ts'

const BUILT = 'server.mjs'
export const SERVER: string = programFile('test/serve/http/processes/server-process.ts')

export interface StartServer {
  readonly folder: string
  readonly port?: number
  readonly options?: ServerOptions
  /** The built program, for commands; see `buildServer`. */
  readonly program?: string
}

export class ServerProcess {
  readonly url: string
  /** Resolves with the signal that has ended the process. */
  readonly ended: Promise<string | undefined>
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
    this.ended = once(child, 'exit').then(([, signal]) => (signal as string | null) ?? undefined)
  }

  static async start({
    folder,
    port = 0,
    options = {},
    program = SERVER,
  }: StartServer): Promise<ServerProcess> {
    const child = fork(program, [folder, String(port), JSON.stringify(options)], {
      execArgv: ['--expose-gc', '--no-warnings'],
      env: {
        ...process.env,
        ...(program.endsWith(BUILT) ? { NODE_COMPILE_CACHE: `${program}.compiled` } : {}),
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [message] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`A server has ended with ${String(code)}`)
      }),
    ])) as [{ url: string }]
    return new ServerProcess(child, message.url)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async command(command: ServerCommand): Promise<ServerReport> {
    const answer = once(this.#child, 'message')
    this.#child.send(command)
    return (await answer)[0] as ServerReport
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }
}

/** For a command: builds the server as one file, `server.mjs` in the folder, since most of a start is to load many. */
export async function buildServer(folder: string): Promise<string> {
  const { build } = await import('vite')
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: join(import.meta.dirname, 'server-process.ts'),
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: BUILT } },
    },
  })
  return join(folder, BUILT)
}

export interface ProxyOptions {
  /** The port of the server for the next connection; undefined refuses it. */
  readonly target: () => number | undefined
  /** Bytes of the answer after which the connection is cut; undefined for never. */
  readonly bytes: () => number | undefined
  readonly onCut?: () => void
}

export class CuttingProxy {
  readonly url: string
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server
    this.#sockets = sockets
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(options: ProxyOptions): Promise<CuttingProxy> {
    const sockets = new Set<Socket>()
    const server = createServer((client) => pass(client, sockets, options))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new CuttingProxy(server, sockets)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

function pass(client: Socket, sockets: Set<Socket>, { target, bytes, onCut }: ProxyOptions): void {
  client.on('error', () => {})
  const port = target()
  if (port === undefined) {
    client.destroy()
    return
  }
  const upstream = connect(port, '127.0.0.1').on('error', () => {})
  for (const socket of [client, upstream]) {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      client.destroy()
      upstream.destroy()
    })
  }
  client.pipe(upstream)
  let left = bytes() ?? Number.POSITIVE_INFINITY
  upstream.on('data', (chunk: Buffer) => {
    if (left <= 0) return
    client.write(chunk.subarray(0, left))
    left -= chunk.length
    if (left > 0) return
    onCut?.()
    // In turn, what was written still arrives, or is dropped with the connection.
    if (left % 2 === 0) client.end()
    else client.destroy()
    upstream.destroy()
  })
}
