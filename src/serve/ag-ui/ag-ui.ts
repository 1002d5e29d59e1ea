/** AG-UI as a protocol of the HTTP server: a run is a turn, a thread is a conversation. */
import {
  checkOptions,
  invalidOption,
  type Json,
  type JsonObject,
  type OptionSet,
  shown,
} from '../../protocol/index.ts'
import type { Mount, MountCall } from '../mount.ts'
import { withStream } from '../open-streams.ts'
import type { Operation } from '../operation.ts'
import { badRequest } from '../problem.ts'
import { eventStream } from './event-stream.ts'
import type { GraphRunInput } from './graph-input.ts'
import { beginRun, runEvents } from './run.ts'
import { RUN_INPUT, readRunInput } from './run-input.ts'

export interface AgUiOptions {
  /** The address of runs; an agent or graph of the host follows it, `/ag-ui/support`. Default: `/ag-ui`. */
  readonly path?: string
  /** Takes tools that clients declare. The agent has to use `withClientTools()`. Default: false, such runs are refused. */
  readonly clientTools?: boolean
  /** A client that leaves in mid-run: the run goes on, or is cancelled. Default: `continue`. */
  readonly onAbort?: 'continue' | 'cancel'
  /** The values of a run of a graph. Default: `{ messages: [message] }`. */
  readonly graphInput?: (run: GraphRunInput) => JsonObject
}

const OPTIONS: OptionSet<AgUiOptions> = {
  place: 'agUi()',
  options: { path: 'a text', clientTools: 'true or false', onAbort: null, graphInput: 'a function' },
  foreign: { basePath: 'path', tools: 'clientTools' },
}

/**
 * Agents and graphs of a host for AG-UI clients such as CopilotKit.
 *
 * @example
 * createHttp(host, { mounts: [agUi()] })
 */
export function agUi(options: AgUiOptions = {}): Mount {
  checkOptions(options, OPTIONS)
  const { path = '/ag-ui', onAbort = 'continue' } = options
  if (!/^(\/[\w.-]+)+$/.test(path))
    throw invalidOption('path', `must be a path such as "/ag-ui", not ${shown(path)}`)
  if (onAbort !== 'continue' && onAbort !== 'cancel')
    throw invalidOption('onAbort', `must be 'continue' or 'cancel', not ${shown(onAbort)}`)
  const handle = (call: MountCall): Promise<Response> => respond(call, options)
  return {
    name: 'ag-ui',
    routes: [
      { method: 'POST', path, handle },
      { method: 'POST', path: `${path}/{agent}`, handle },
    ],
    operations: [
      operation(path, 'agUiRunDefault', 'A run of the default agent'),
      operation(`${path}/{agent}`, 'agUiRun', 'A run of an agent or graph'),
    ],
  }
}

function operation(path: string, id: string, summary: string): Operation {
  const events = { description: 'Events of the run', types: ['text/event-stream'] }
  return { method: 'POST', path, id, summary, body: RUN_INPUT, responses: { 200: events } }
}

async function respond(call: MountCall, options: AgUiOptions): Promise<Response> {
  const { host, caller, params } = call
  const input = await readRunInput((await call.body()) as Json)
  if (input.tools.length > 0 && options.clientTools !== true)
    throw badRequest(
      'This server takes no tools from clients. Send the run without tools, or set agUi({ clientTools: true }) on the server.',
    )
  // An id without a name belongs to the default agent.
  const name = host.nameOf(params['agent'] === undefined ? '_' : `${params['agent']}:_`)
  const { tenant, actor } = caller
  const key = { tenant, actor, contextId: `${name}:${input.threadId}` }
  return withStream(call.openStream(), async (stream) => {
    const begun = await beginRun({ call, key, input, graphInput: options.graphInput ?? defaultGraphInput })
    const onClose = (isFinished: boolean): void => {
      // A server that closes its streams has left the client, not the client the run.
      if (options.onAbort !== 'cancel' || isFinished || !call.request.signal.aborted) return
      void begun.turn.cancel('The client has aborted the run.').catch(() => {})
    }
    return eventStream(runEvents(begun, stream), { stream, onClose })
  })
}

function defaultGraphInput({ message = '' }: GraphRunInput): JsonObject {
  return { messages: [{ role: 'user', content: message }] }
}
