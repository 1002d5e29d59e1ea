/** Begins an agent's turn: from an input, an answer, an expired request, or a request to continue. */
import { chain, type MaybePromise } from '../base/index.ts'
import { trimPoint } from '../journal/index.ts'
import {
  checkRequestFields,
  dataOf,
  expire,
  isExpiredAt,
  noProgress,
  openTurn,
  type StartFields,
  startTurn,
  wrongKind,
} from '../loop/index.ts'
import { GO_ON } from '../model/index.ts'
import { defined, type Entry, textOf, type UserContent } from '../protocol/index.ts'
import { endTurn, settleRest } from './ending.ts'
import { giveReply } from './given-reply.ts'
import type { TurnRun } from './turn-run.ts'

/** Opens a turn or takes over the open one. Returns false if there is nothing to begin, with the inbox accounted for. */
export function begin(run: TurnRun): MaybePromise<boolean> {
  checkKind(run)
  if (run.session.open !== undefined) return chain(takeOver(run), () => true)
  const { toolResultTurns, promptVersion: prompt } = run.scope.definition
  const own = defined({ prompt })
  if (!Number.isFinite(toolResultTurns)) return open(run, own)
  return chain(trimOf(run), (trim) => open(run, { ...own, ...trim }))
}

function open(run: TurnRun, own: StartFields): MaybePromise<boolean> {
  const take = { start: (entry: Entry) => startFrom(run, entry, own), queue: () => {} }
  return chain(openTurn(run, take, own), (reason) => {
    const { metadata } = run.scope
    if (run.session.open !== undefined && metadata !== undefined && run.session.metadata === undefined)
      run.draft.append('state', { metadata })
    const { nodeTurn } = run.scope.definition
    if (reason !== 'continued') return reason !== 'none'
    return chain(nodeTurn?.kind === 'round' ? giveReply(run, nodeTurn.reply) : nudge(run), () => true)
  })
}

/** Tool results are trimmed only between two turns, so that the prompts of one turn share their beginning. */
function trimOf({ scope, session }: TurnRun): MaybePromise<StartFields> {
  const { toolResultTurns: turns } = scope.definition
  const { trimmedUpTo } = session.window
  return chain(scope.view.window(), (entries) => {
    const upTo = trimPoint(entries, { turns, trimmedUpTo })
    return upTo === undefined ? {} : { trimmedUpTo: upTo }
  })
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
function nudge(run: TurnRun): MaybePromise<void> {
  return chain(run.scope.view.messages(), (messages) => {
    if (run.open.calls.length === 0 && messages.at(-1)?.role === 'assistant')
      run.draft.append('note', { text: GO_ON, from: 'runtime' })
  })
}

function takeOver(run: TurnRun): MaybePromise<void> {
  const error = noProgress(run)
  if (error !== undefined) return endTurn(run, 'failed', { error })
}

function startFrom(run: TurnRun, entry: Entry, own: StartFields): void {
  const { message, ...fields } = dataOf(entry, 'input')
  checkRequestFields(fields)
  const takes = entry.key === undefined ? [] : [entry.key]
  const [request, ...others] = run.session.parked?.requests ?? []
  const isAsked = request?.kind === 'text' && others.length === 0 && !isExpiredAt(entry.at, request)
  // An answer is a text: other parts would be lost with it.
  if (isAsked && isText(message)) {
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

function isText(message: UserContent): boolean {
  if (Array.isArray(message) && message.some(({ type }) => type !== 'text')) return false
  return textOf(message).trim() !== ''
}
