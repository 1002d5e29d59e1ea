/** `holdfast serve`: the agents of a config over HTTP, until a signal. */
import { inspect } from 'node:util'
import type { Store } from 'holdfast'
import { createHost, type Host } from 'holdfast/host'
import type { AccessLine, Authenticate, HttpListener, HttpServer, Mount } from 'holdfast/http'
import { dim, prose, red, type Styled, styled } from 'holdfast/terminal'
import { canBeFound } from '../config/choose-model.ts'
import { configError, shownPath } from '../config/config-errors.ts'
import { EXIT } from '../exit-code.ts'
import { hostedConfig, readyAgent } from '../open-agent.ts'
import { unusable, wrongUsage } from '../refusal.ts'
import { hostedResearch } from '../research/hosted-research.ts'
import { Workspace } from '../workspace.ts'
import { type CommandContext, configOf } from './context.ts'
import { reportImports, watchedServe } from './serve-watch.ts'

const DEFAULT_PORT = 4700
/** Ports that are tried after the default one. */
const MORE_PORTS = 100

export async function serve(context: CommandContext): Promise<number> {
  const { args, cwd, env } = context
  const config = configOf(context)
  const port = portOf(args.value('port'))
  checkPackages()
  reportImports(env)
  const workspace = await Workspace.load({ cwd, env, config })
  if (args.has('watch')) return watchedServe(context, workspace)
  const agents = await hostedAgents(context, workspace)
  const research = await hostedResearch(context, workspace)
  const store = workspace.openStore('create')
  try {
    const host = hostOf(workspace, { store, agents: agents(store), ...research?.host })
    const http = await httpOf(context, workspace, { host, mounts: research?.mounts ?? [] })
    const listener = await listening(http, { port, hostname: args.value('host') ?? '127.0.0.1' })
    printStart(context, { listener, host, store })
    host.start()
    await stopSignal(context)
    const closed = listener.close()
    await host.shutdown()
    await closed
    return EXIT.done
  } finally {
    await Promise.all([store.close(), research?.close()])
  }
}

const PACKAGES: readonly string[] = ['hono', '@hono/node-server']

/** Names all that is missing at once, before the store is opened. */
function checkPackages(): void {
  const missing = PACKAGES.filter((name) => !canBeFound(name))
  if (missing.length > 0)
    throw unusable(
      `holdfast serve needs ${missing.join(' and ')}, which is not part of this package: npm install ${missing.join(' ')}`,
    )
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw wrongUsage(`--port must be a number from 0 to 65535, not ${JSON.stringify(text)}.`)
}

type HostConfig = Parameters<typeof createHost>[0]

/** Checks every agent and its model before the store is opened. */
async function hostedAgents({ env }: CommandContext, workspace: Workspace) {
  const ready = await Promise.all(
    Object.keys(workspace.agents).map((agent) => readyAgent(workspace, { agent, env })),
  )
  return (store: Store): NonNullable<HostConfig['agents']> =>
    Object.fromEntries(ready.map((agent) => [agent.name, hostedConfig(agent, store)]))
}

/** `flows` and `ttlMs` of the command go below those of the config. */
function hostOf(workspace: Workspace, { flows, ttlMs, ...config }: HostConfig): Host {
  const { graphs, trust, onRefusal, allow, onRequest } = workspace.serve ?? {}
  const { maxOpen, maxTurns, maxWaiting, idleMs } = workspace.serve ?? {}
  const options = { graphs, trust, onRefusal, allow, onRequest, maxOpen, maxTurns, maxWaiting, idleMs }
  return inConfig(workspace.configPath, () =>
    createHost({
      ...config,
      default: workspace.defaultAgent,
      flows: { ...flows, ...workspace.serve?.flows },
      ttlMs: { ...ttlMs, ...workspace.serve?.ttlMs },
      ...given(options),
    }),
  )
}

interface Served {
  readonly host: Host
  /** Beside those of the config. */
  readonly mounts: readonly Mount[]
}

async function httpOf(
  context: CommandContext,
  workspace: Workspace,
  { host, mounts }: Served,
): Promise<HttpServer> {
  const { createHttp } = await import('holdfast/http')
  const { serve: options = {} } = workspace
  const { authenticate, cors, page = 'if-built', proxies, ...limits } = options
  const { maxBodyBytes, maxStreams, maxStreamsEach, heartbeatMs } = limits
  const { requestsPerMinute, authFailuresPerMinute, authTimeoutMs } = limits
  const sizes = { maxBodyBytes, maxStreams, maxStreamsEach, heartbeatMs }
  const rates = { requestsPerMinute, authFailuresPerMinute, authTimeoutMs }
  try {
    return await createHttp(host, {
      ...given({ cors, proxies, ...sizes, ...rates }),
      // One that is undefined comes from a failed lookup, and is refused.
      ...('authenticate' in options ? { authenticate: authenticate as Authenticate } : {}),
      mounts: [...mounts, ...(await mountsOf(workspace))],
      page,
      accessLog: (line) => printAccess(context, line),
      onError: (error) => printError(context, error),
    })
  } catch (error) {
    throw inConfigError(workspace.configPath, error)
  }
}

/** Protocols beside the server's own, by the names of their mounts. */
const PROTOCOLS: Readonly<Record<string, () => Promise<Mount>>> = {
  openai: async () => (await import('holdfast/openai')).openai(),
  ui: async () => (await import('holdfast/ui')).uiMessageStream(),
  'ag-ui': async () => (await import('holdfast/ag-ui')).agUi(),
}

/** The mounts of the config, A2A if it is turned on, and the protocols that the config does not mount itself. */
async function mountsOf({ serve: { mounts = [], a2a = false } = {} }: Workspace): Promise<readonly Mount[]> {
  const others = Object.entries(PROTOCOLS).filter(([name]) => !mounts.some((mount) => mount.name === name))
  const loaded = await Promise.all(others.map(([, load]) => load()))
  if (a2a === false) return [...mounts, ...loaded]
  const mountA2a = (await import('holdfast/a2a')).a2a
  return [...mounts, ...loaded, await mountA2a(a2a === true ? {} : a2a)]
}

function inConfig<T>(path: string | undefined, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw inConfigError(path, error)
  }
}

function inConfigError(path: string | undefined, error: unknown): unknown {
  return path === undefined ? error : configError(path, error, 'serve: ')
}

function given<T extends object>(options: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Name in keyof T]: Exclude<T[Name], undefined> }
}

interface Address {
  readonly port: number | undefined
  readonly hostname: string
}

/** On the given port, or on the default one and, if that is taken, the next free one. */
async function listening(http: HttpServer, { port, hostname }: Address): Promise<HttpListener> {
  const { listen } = await import('holdfast/http')
  const last = port ?? DEFAULT_PORT + MORE_PORTS
  for (let next = port ?? DEFAULT_PORT; ; next++) {
    try {
      return await listen(http, { port: next, hostname })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && next < last) continue
      throw addressError(error, { port: next, hostname })
    }
  }
}

function addressError(error: unknown, { port, hostname }: { port: number; hostname: string }): unknown {
  const where = `${hostname}:${port}`
  switch ((error as { readonly code?: unknown }).code) {
    case 'EADDRINUSE':
      return unusable(`${where} is taken. Choose another port with --port, or leave it out.`, error)
    case 'EACCES':
      return unusable(`You may not listen on ${where}. Choose a port from 1024 on.`, error)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EINVAL':
      return wrongUsage(`${JSON.stringify(hostname)} is no address of this machine. Check --host.`)
    case 'invalid-option':
      return unusable(
        `${JSON.stringify(hostname)} can be reached from other machines, and the config authenticates nobody. Set serve: { authenticate } in the config, or leave --host out. See docs/guide/http.md`,
        error,
      )
    default:
      return error
  }
}

interface Started {
  readonly listener: HttpListener
  readonly host: Host
  readonly store: Store
}

function printStart({ args, out }: CommandContext, { listener, host, store }: Started): void {
  const { url } = listener
  const journal = store.path === undefined ? 'in memory' : shownPath(store.path)
  if (args.has('json')) out.json({ type: 'listening', url, agents: host.names, journal: store.path ?? null })
  else
    out.write(
      styled`Listening on ${url}\nAgents: ${host.names.join(', ')}\nJournal: ${journal}\n${dim('Press Ctrl-C to stop.')}\n`,
    )
}

function printAccess({ args, out }: CommandContext, line: AccessLine): void {
  if (args.has('json')) out.json({ type: 'request', ...line })
  else out.write(styled`${accessText(line)}\n`)
}

function accessText({ at, method, path, status, ms, tenant, actor, code }: AccessLine): Styled {
  const who = tenant === undefined ? '' : ` ${tenant}/${actor ?? ''}`
  const why = code === undefined ? '' : ` ${code}`
  const text = `${method} ${path} ${status} ${ms} ms${who}${why}`
  return styled`${dim(at.slice(11, 19))} ${status >= 400 ? red(text) : prose(text)}`
}

function printError({ args, err }: CommandContext, error: unknown): void {
  // With its causes.
  const message = inspect(error)
  if (args.has('json')) err.json({ type: 'error', message })
  else err.write(styled`${red('holdfast:')} ${prose(message)}\n`)
}

/** Resolves at the first signal, or when a watching parent is gone. A second signal ends the process at once. */
async function stopSignal({ args, err }: CommandContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isStopping = false
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    if (isStopping) process.exit(signal === 'SIGINT' ? EXIT.cancelled : EXIT.terminated)
    isStopping = true
    if (!args.has('json'))
      err.write(styled`Stopping after the calls under way. Press Ctrl-C again to stop at once.\n`)
    resolve()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  if (process.connected) process.once('disconnect', () => stop('SIGTERM'))
  await promise
}
