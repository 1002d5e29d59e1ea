/** Servers in processes, and a proxy in front of them that cuts connections. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

const SERVER = join(import.meta.dirname, 'server-process.ts')

export class ServerProcess {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(folder: string, port = 0, options: object = {}): Promise<ServerProcess> {
    const child = fork(SERVER, [folder, String(port), JSON.stringify(options)], {
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

  async kill(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
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
