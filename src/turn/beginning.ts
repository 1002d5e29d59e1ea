/** How a turn comes to be: from what was said, from answers, from expired requests, or because somebody asks it to go on. */
import { trimPoint } from '../journal/index.ts'
import {
  checkAsked,
  dataOf,
  expire,
  hasExpired,
  noProgress,
  openTurn,
  startTurn,
  type Trim,
  wrongKind,
} from '../loop/index.ts'
import { type Entry, textOf } from '../protocol/index.ts'
import { endTurn, settleRest } from './ending.ts'
import type { TurnRun } from './turn-run.ts'

/** Opens a turn or takes up the open one. False if there is no reason for one: then what came in is accounted for. */
export async function begin(run: TurnRun): Promise<boolean> {
  checkKind(run)
  if (run.session.open !== undefined) {
    await takeUp(run)
    return true
  }
  const trim = Number.isFinite(run.scope.definition.toolResultTurns) ? await trimOf(run) : {}
  const take = { start: (entry: Entry) => startFrom(run, entry, trim), queue: () => {} }
  const reason = await openTurn(run, take, trim)
  const { metadata } = run.scope
  if (run.session.open !== undefined && metadata !== undefined && run.session.metadata === undefined)
    run.draft.append('state', { metadata })
  if (reason === 'continued') await nudge(run)
  return reason !== 'none'
}

/** Results are trimmed between two turns and never inside of one, so that the prompts of a turn begin the same. */
async function trimOf({ scope, session }: TurnRun): Promise<Trim> {
  const { toolResultTurns: turns } = scope.definition
  const { trimmedUpTo } = session.window
  const upTo = trimPoint(await scope.view.window(), { turns, trimmedUpTo })
  return upTo === undefined ? {} : { trimmedUpTo: upTo }
}

/** What a graph has begun is for that graph to go on with: an agent declines and leaves it untouched. */
function checkKind({ session, scope }: TurnRun): void {
  if (session.graph === undefined) return
  const { graph } = session.graph
  throw wrongKind(
    scope.key.contextId,
    `${scope.key.contextId} is a conversation of the graph ${graph}, not of an agent. Run it with that graph, or use another contextId.`,
    { graph },
  )
}

/** A model that is to go on after its own words needs somebody to say so: no prompt ends with a reply (R9). */
async function nudge(run: TurnRun): Promise<void> {
  const messages = await run.scope.view.messages()
  if (run.open.calls.length === 0 && messages.at(-1)?.role === 'assistant')
    run.draft.append('note', { text: 'Go on.', from: 'runtime' })
}

async function takeUp(run: TurnRun): Promise<void> {
  const error = noProgress(run)
  if (error !== undefined) await endTurn(run, 'failed', { error })
}

function startFrom(run: TurnRun, entry: Entry, trim: Trim): void {
  const { message, ...asked } = dataOf(entry, 'input')
  checkAsked(asked)
  const takes = entry.key === undefined ? [] : [entry.key]
  const [request, ...others] = run.session.parked?.requests ?? []
  if (request?.kind === 'text' && others.length === 0 && !hasExpired(run, [request])) {
    startTurn(run, asked, trim)
    const { requestId } = request
    const posted = asked.origin === undefined ? {} : { origin: asked.origin }
    run.draft.append('request.end', { requestId, how: 'answered', value: textOf(message), ...posted }, takes)
    return
  }
  startTurn(run, asked, { takes, ...trim })
  expire(run)
  settleRest(run, 'Not run: the person said something else instead.')
}
