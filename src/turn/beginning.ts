/** Begins an agent's turn: from an input, an answer, an expired request, or a request to continue. */
import { trimPoint } from '../journal/index.ts'
import {
  checkRequestFields,
  dataOf,
  expire,
  hasExpired,
  noProgress,
  openTurn,
  type StartFields,
  startTurn,
  wrongKind,
} from '../loop/index.ts'
import { defined, type Entry, textOf } from '../protocol/index.ts'
import { endTurn, settleRest } from './ending.ts'
import type { TurnRun } from './turn-run.ts'

/** Opens a turn or takes over the open one. False without a reason for one: then the inbox is accounted for. */
export async function begin(run: TurnRun): Promise<boolean> {
  checkKind(run)
  if (run.session.open !== undefined) {
    await takeOver(run)
    return true
  }
  const { toolResultTurns, promptVersion: prompt } = run.scope.definition
  const own = { ...defined({ prompt }), ...(Number.isFinite(toolResultTurns) ? await trimOf(run) : {}) }
  const take = { start: (entry: Entry) => startFrom(run, entry, own), queue: () => {} }
  const reason = await openTurn(run, take, own)
  const { metadata } = run.scope
  if (run.session.open !== undefined && metadata !== undefined && run.session.metadata === undefined)
    run.draft.append('state', { metadata })
  if (reason === 'continued') await nudge(run)
  return reason !== 'none'
}

/** Tool results are trimmed only between two turns, so that the prompts of one turn share their beginning. */
async function trimOf({ scope, session }: TurnRun): Promise<StartFields> {
  const { toolResultTurns: turns } = scope.definition
  const { trimmedUpTo } = session.window
  const upTo = trimPoint(await scope.view.window(), { turns, trimmedUpTo })
  return upTo === undefined ? {} : { trimmedUpTo: upTo }
}

/** Refuses a conversation that a graph has begun, and leaves it untouched. */
function checkKind({ session, scope }: TurnRun): void {
  if (session.graph === undefined) return
  const { graph } = session.graph
  throw wrongKind(
    scope.key.contextId,
    `${scope.key.contextId} is a conversation of the graph ${graph}, not of an agent. Run it with that graph, or use another contextId.`,
    { graph },
  )
}

/** A prompt must not end with a reply (R9): a continued turn gets a note to go on. */
async function nudge(run: TurnRun): Promise<void> {
  const messages = await run.scope.view.messages()
  if (run.open.calls.length === 0 && messages.at(-1)?.role === 'assistant')
    run.draft.append('note', { text: 'Go on.', from: 'runtime' })
}

async function takeOver(run: TurnRun): Promise<void> {
  const error = noProgress(run)
  if (error !== undefined) await endTurn(run, 'failed', { error })
}

function startFrom(run: TurnRun, entry: Entry, own: StartFields): void {
  const { message, ...fields } = dataOf(entry, 'input')
  checkRequestFields(fields)
  const takes = entry.key === undefined ? [] : [entry.key]
  const [request, ...others] = run.session.parked?.requests ?? []
  if (request?.kind === 'text' && others.length === 0 && !hasExpired(run, [request])) {
    startTurn(run, fields, { ...own, ...defined({ key: entry.key }) })
    const { requestId } = request
    const posted = fields.origin === undefined ? {} : { origin: fields.origin }
    run.draft.append('request.end', { requestId, how: 'answered', value: textOf(message), ...posted }, takes)
    return
  }
  startTurn(run, fields, { takes, ...own })
  expire(run)
  settleRest(run, 'Not run: the person said something else instead.')
}
