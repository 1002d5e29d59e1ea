/** `holdfast show ID`: prints the turns of a conversation. */

import { bold, dim, joinLines, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { findContext, namedContext } from '../names.ts'
import { readAll } from '../read-exchanges.ts'
import { conversationLines, costText } from '../terminal/exchange-lines.ts'
import { counted } from '../terminal/text.ts'
import { type CommandContext, columnsOf, scopeOf, workspaceOf } from './context.ts'
import { whenText } from './sessions.ts'

export async function show(context: CommandContext): Promise<number> {
  const { args, out } = context
  const workspace = await workspaceOf(context)
  const store = workspace.openStore('read')
  try {
    const head = await findContext(store, args.words[0] ?? '', scopeOf(context, workspace))
    if (store === undefined) return EXIT.failed
    const { exchanges, session } = await readAll(store, head.key)
    const { contextId } = head.key
    const agent = namedContext(contextId, workspace.names)?.agent
    if (args.has('json')) {
      const { usage, turns, toolCalls, modelCalls } = session.totals
      const data = {
        contextId,
        agent: agent ?? null,
        status: head.status,
        totals: { turns, modelCalls, toolCalls, usage },
        turns: exchanges,
      }
      out.json(data, 2)
      return EXIT.done
    }
    const { usage, turns } = session.totals
    const facts = [
      counted(turns, 'turn'),
      `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
      ...(usage.costUsd === 0 ? [] : [costText(usage.costUsd)]),
      `last active ${whenText(new Date(head.at), new Date())}`,
      head.status,
    ]
    const look = { columns: columnsOf(out), footer: true }
    const blocks = conversationLines(exchanges, look).map((lines) => styled`\n${joinLines(lines)}\n`)
    out.write(styled`${bold(contextId)}\n${dim(facts.join(' · '))}\n`)
    for (const block of blocks) out.write(block)
    return EXIT.done
  } finally {
    await store?.close()
  }
}
