/** `holdfast show ID`: prints the turns of a conversation. */

import { bold, dim, joinLines, styled } from 'holdfast/terminal'
import { namedContext } from '../names.ts'
import { readAll } from '../read-exchanges.ts'
import { conversationLines, costText } from '../terminal/exchange-lines.ts'
import { counted } from '../terminal/text.ts'
import { type CommandContext, columnsOf, showConversation } from './context.ts'
import { whenText } from './sessions.ts'

export function show(context: CommandContext): Promise<number> {
  const { args, out } = context
  return showConversation(context, async ({ workspace, store, head }) => {
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
      return out.json(data, 2)
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
  })
}
