/** `holdfast sessions`: lists conversations. */
import type { Store } from 'holdfast'
import type { Head } from 'holdfast/store'
import { joinLines, type Styled, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { listContexts, namedContext, otherOwners, ownerFrom, ownerOptions } from '../names.ts'
import { tableLines } from '../terminal/table.ts'
import { type CommandContext, columnsOf, workspaceOf } from './context.ts'

export async function sessions(context: CommandContext): Promise<number> {
  const { args, out, err } = context
  const workspace = await workspaceOf(context)
  const agents = workspace.names
  const agent = args.value('agent')
  const prefix = agent === undefined ? undefined : `${workspace.namesFrom(agent)[0]}:`
  const owner = ownerFrom(args)
  const store = workspace.openStore('read')
  try {
    const of = { ...(prefix === undefined ? {} : { prefix }), ...(owner === undefined ? {} : { owner }) }
    const heads = store === undefined ? [] : await listContexts(store, of)
    if (args.has('json'))
      out.json(
        heads.map((head) => sessionData(head, agents)),
        2,
      )
    else if (heads.length > 0)
      out.write(styled`${joinLines(sessionLines(heads, { agents, columns: columnsOf(out) }))}\n`)
    else if (owner === undefined) err.write(styled`No conversations yet. holdfast chat begins one.\n`)
    else err.write(styled`${owner.tenant}/${owner.actor} has no conversations.\n`)
    if (store !== undefined && owner === undefined && !args.has('json')) await announceOthers(context, store)
  } finally {
    await store?.close()
  }
  return EXIT.done
}

const MOST_NAMED = 5

/** Conversations of callers of a server have other owners. */
async function announceOthers({ err }: CommandContext, store: Store): Promise<void> {
  const owners = await otherOwners(store)
  const [first] = owners
  if (first === undefined) return
  const names = owners.slice(0, MOST_NAMED).map(({ tenant, actor }) => `${tenant}/${actor}`)
  const left = owners.length - names.length
  const shown = `${names.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
  err.write(
    styled`Other owners have conversations: ${shown}. To list them: holdfast sessions ${ownerOptions(first)}\n`,
  )
}

function sessionData(head: Head, agents: readonly string[]): object {
  const named = namedContext(head.key.contextId, agents)
  return {
    id: named?.id ?? head.key.contextId,
    agent: named?.agent ?? null,
    contextId: head.key.contextId,
    tenant: head.key.tenant,
    actor: head.key.actor,
    turns: head.turn,
    status: head.status,
    outcome: head.outcome ?? null,
    createdAt: new Date(head.createdAt).toISOString(),
    lastActivity: new Date(head.at).toISOString(),
  }
}

export interface SessionLook {
  readonly agents: readonly string[]
  readonly columns: number
  /** The open conversation, which is marked. */
  readonly current?: string
}

export function sessionLines(heads: readonly Head[], look: SessionLook): Styled[] {
  const { agents, columns, current } = look
  const now = new Date()
  const rows = heads.map((head) => {
    const { agent = '-', id } = namedContext(head.key.contextId, agents) ?? { id: head.key.contextId }
    const mark = head.key.contextId === current ? '* ' : ''
    return [`${mark}${id}`, agent, String(head.turn), whenText(new Date(head.at), now), statusText(head)]
  })
  return tableLines([['ID', 'AGENT', 'TURNS', 'ACTIVE', 'STATUS'], ...rows], columns)
}

/** `running` in a head says that a turn is open: its process may be gone. */
function statusText({ status, outcome }: Head): string {
  if (status === 'running') return 'open'
  return status === 'idle' && outcome !== undefined && outcome !== 'stop' ? outcome : status
}

/** The time if it is today, else the day. */
export function whenText(at: Date, now: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}
