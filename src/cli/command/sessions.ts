/** `holdfast sessions`: which conversations there are. */
import type { Head } from 'holdfast'
import { EXIT } from '../exit-code.ts'
import { listContexts, namedContext } from '../names.ts'
import type { Style } from '../terminal/style.ts'
import { tableLines } from '../terminal/table.ts'
import { type CommandContext, columnsOf, workspaceOf } from './context.ts'

export async function sessions(context: CommandContext): Promise<number> {
  const { given, stdout, style, stderr } = context
  const workspace = await workspaceOf(context)
  const agents = Object.keys(workspace.agents)
  const wanted = given.value('agent')
  const prefix = wanted === undefined ? undefined : `${workspace.agent(wanted).name}:`
  const store = workspace.openStore('read')
  try {
    const heads = store === undefined ? [] : await listContexts(store, prefix)
    if (given.has('json'))
      stdout.write(
        `${JSON.stringify(
          heads.map((head) => sessionData(head, agents)),
          undefined,
          2,
        )}\n`,
      )
    else if (heads.length === 0) stderr.write('No conversations yet. holdfast chat begins one.\n')
    else stdout.write(`${sessionLines(heads, { agents, style, columns: columnsOf(context) }).join('\n')}\n`)
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
  readonly style: Style
  readonly columns: number
  /** Marked as the one that is open. */
  readonly current?: string
}

export function sessionLines(heads: readonly Head[], look: SessionLook): string[] {
  const { agents, style, columns, current } = look
  const now = new Date()
  const rows = heads.map((head) => {
    const { agent = '-', id } = namedContext(head.key.contextId, agents) ?? { id: head.key.contextId }
    const mark = head.key.contextId === current ? '* ' : ''
    return [`${mark}${id}`, agent, String(head.turn), whenText(new Date(head.at), now), statusText(head)]
  })
  const [title = '', ...lines] = tableLines([['ID', 'AGENT', 'TURNS', 'ACTIVE', 'STATUS'], ...rows], columns)
  return [style.dim(title), ...lines]
}

function statusText({ status, outcome }: Head): string {
  return status === 'idle' && outcome !== undefined && outcome !== 'stop' ? outcome : status
}

/** The time today, else the day. */
export function whenText(at: Date, now: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}
