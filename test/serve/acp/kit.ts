/** An editor for tests: the client of the protocol's own package, which keeps every update. */
import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough, Readable, Writable } from 'node:stream'
import {
  type ClientConnection,
  type ContentBlock,
  client,
  type InitializeResponse,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionModeState,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { onTestFinished } from 'vitest'
import type { Host } from '../../../src/host/index.ts'
import { type ServeAcpOptions, serveAcp } from '../../../src/serve/acp/index.ts'
import { cleanEnv, LAUNCH } from '../../cli/kit.ts'

/** The option that the person chooses; undefined: cancelled. */
export type Choose = (request: RequestPermissionRequest) => string | undefined | Promise<string | undefined>

export class Editor {
  readonly updates: SessionUpdate[] = []
  readonly asked: RequestPermissionRequest[] = []
  /** Of the newest session. */
  modes: SessionModeState | null | undefined
  readonly #connection: ClientConnection
  choose: Choose = () => 'once'

  constructor(output: Writable, input: Readable) {
    const stream = ndJsonStream(
      Writable.toWeb(output) as WritableStream<Uint8Array>,
      Readable.toWeb(input) as ReadableStream<Uint8Array>,
    )
    this.#connection = client({ name: 'test' })
      .onNotification('session/update', ({ params }) => void this.updates.push(params.update))
      .onRequest('session/request_permission', async ({ params }) => {
        this.asked.push(params)
        const optionId = await this.choose(params)
        return {
          outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
        }
      })
      .connect(stream)
  }

  get agent(): ClientConnection['agent'] {
    return this.#connection.agent
  }

  close(): void {
    this.#connection.close()
  }

  async initialize(): Promise<InitializeResponse> {
    return this.agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  }

  async open(cwd: string): Promise<string> {
    await this.initialize()
    const { sessionId, modes } = await this.agent.request('session/new', { cwd, mcpServers: [] })
    this.modes = modes
    return sessionId
  }

  async load(sessionId: string, cwd: string): Promise<void> {
    await this.initialize()
    this.modes = (await this.agent.request('session/load', { sessionId, cwd, mcpServers: [] })).modes
  }

  async setMode(sessionId: string, modeId: string): Promise<void> {
    await this.agent.request('session/set_mode', { sessionId, modeId })
  }

  async prompt(sessionId: string, text: string): Promise<string> {
    const prompt: ContentBlock[] = [{ type: 'text', text }]
    return (await this.agent.request('session/prompt', { sessionId, prompt })).stopReason
  }

  /** The text of all chunks of one kind. */
  text(kind: SessionUpdate['sessionUpdate'] = 'agent_message_chunk'): string {
    const chunks = this.updates.filter(({ sessionUpdate }) => sessionUpdate === kind)
    return chunks.map(chunkText).join('')
  }

  of<K extends SessionUpdate['sessionUpdate']>(kind: K): Extract<SessionUpdate, { sessionUpdate: K }>[] {
    return this.updates.filter(
      (update): update is Extract<SessionUpdate, { sessionUpdate: K }> => update.sessionUpdate === kind,
    )
  }
}

/** An editor and a server in this process. */
export async function inProcess(
  host: Host,
  options: Omit<ServeAcpOptions, 'input' | 'output'>,
): Promise<Editor> {
  const [toServer, toEditor] = [new PassThrough(), new PassThrough()]
  const server = await serveAcp(host, { ...options, input: toServer, output: toEditor })
  const editor = new Editor(toServer, toEditor)
  onTestFinished(async () => {
    server.close()
    editor.close()
    await host.shutdown()
  })
  return editor
}

export interface Started {
  readonly editor: Editor
  readonly child: ChildProcess
  /** Everything that the process has printed to standard error. */
  readonly errors: () => string
  readonly kill: () => Promise<void>
}

/** `holdfast acp` as an editor starts it. */
export function startAcp(args: readonly string[], cwd: string, env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [...LAUNCH, 'acp', ...args], { cwd, env: cleanEnv(env) })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  child.stdin.on('error', () => {})
  const editor = new Editor(child.stdin, child.stdout)
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  return { editor, child, errors: () => errors, kill }
}

export function chunkText(update: SessionUpdate): string {
  return (update as { readonly content?: { readonly text?: string } }).content?.text ?? ''
}
