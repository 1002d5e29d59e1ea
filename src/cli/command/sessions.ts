/** `holdfast sessions`: lists conversations. */
import type { Head } from 'holdfast/store'
import { joinLines, type Styled, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { listContexts, namedContext } from '../names.ts'
import { tableLines } from '../terminal/table.ts'
import { type CommandContext, columnsOf, workspaceOf } from './context.ts'

export async function sessions(context: CommandContext): Promise<number> {
  const { args, out, err } = context
  const workspace = await workspaceOf(context)
  const agents = workspace.names
  const agent = args.value('agent')
  const prefix = agent === undefined ? undefined : `${workspace.namesFrom(agent)[0]}:`
  const store = workspace.openStore('read')
  try {
    const heads = store === undefined ? [] : await listContexts(store, prefix)
    if (args.has('json'))
      out.json(
        heads.map((head) => sessionData(head, agents)),
        2,
      )
    else if (heads.length === 0) err.write(styled`No conversations yet. holdfast chat begins one.\n`)
    else out.write(styled`${joinLines(sessionLines(heads, { agents, columns: columnsOf(out) }))}\n`)
  } finally {
    await store?.close()
  }
  return EXIT.done
}

function sessionData(head: Head, agents: readonly string[]): object {
  const named = namedContext(head.key.contextId, agents)
  return {
    id: named?.id ?? head.key.contextId,
    agent: named?.agent ?? null,
    contextId: head.key.contextId,
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

function statusText({ status, outcome }: Head): string {
  return status === 'idle' && outcome !== undefined && outcome !== 'stop' ? outcome : status
}

/** The time if it is today, else the day. */
export function whenText(at: Date, now: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}
