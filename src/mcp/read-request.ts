/** Requests that only read resources and prompts: answers without secrets of the config, errors that name the server. */
import type { JsonObject } from '../protocol/index.ts'
import { toJson } from '../tool/index.ts'
import { requestError } from './call-errors.ts'
import type { ServerConnection } from './connection.ts'
import type { Client } from './sdk.ts'

export interface ReadOptions {
  readonly signal: AbortSignal
  readonly timeout: number
}

/** Connects again, once, if the server did not take the request. */
export async function readFrom<T extends object>(
  connection: ServerConnection,
  read: (client: Client, options: ReadOptions) => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  const first = await attempt(connection, read, signal)
  const last = first.isUntaken ? await attempt(connection, read, signal) : first
  if ('thrown' in last) throw last.thrown
  const json = toJson(last.answer)
  if (json instanceof Error) throw new Error(`The server's answer cannot be used: ${json.message}.`)
  return connection.secrets.json(json) as T
}

type Attempt<T> = { readonly isUntaken: boolean } & ({ readonly answer: T } | { readonly thrown: Error })

async function attempt<T>(
  connection: ServerConnection,
  read: (client: Client, options: ReadOptions) => Promise<T>,
  signal: AbortSignal,
): Promise<Attempt<T>> {
  const live = await connection.connected(signal)
  try {
    const answer = await read(live.client, { signal, timeout: connection.timeoutMs })
    connection.succeeded()
    return { isUntaken: false, answer }
  } catch (error) {
    const failure = await connection.failureOf(live, error)
    const { settings, secrets, error: lossText } = connection
    const { name } = settings
    const thrown = requestError({ name, secrets }, { failure, error, lossText }, signal.aborted)
    return { isUntaken: failure === 'expired' || failure === 'unsent', thrown }
  }
}

export async function listResources(connection: ServerConnection): Promise<readonly JsonObject[]> {
  return plain((await readFrom(connection, (to, how) => to.listResources(undefined, how))).resources)
}

export async function readResource(
  connection: ServerConnection,
  uri: string,
): Promise<readonly JsonObject[]> {
  return plain((await readFrom(connection, (to, how) => to.readResource({ uri }, how))).contents)
}

export async function listPrompts(connection: ServerConnection): Promise<readonly JsonObject[]> {
  return plain((await readFrom(connection, (to, how) => to.listPrompts(undefined, how))).prompts)
}

export async function getPrompt(
  connection: ServerConnection,
  prompt: { readonly name: string; readonly arguments: Record<string, string> },
): Promise<JsonObject> {
  return (await readFrom(connection, (to, how) => to.getPrompt(prompt, how))) as object as JsonObject
}

/** `readFrom` returns JSON. */
function plain(objects: readonly object[]): readonly JsonObject[] {
  return objects as readonly JsonObject[]
}
