/** `holdfast mcp`: an agent as an MCP server on standard input and output. */
import { serveAgent } from 'holdfast/mcp'
import { EXIT } from '../exit-code.ts'
import { agentFor, readyAgent } from '../open-agent.ts'
import { wrongUsage } from '../refusal.ts'
import { type CommandContext, configOf, jsonOutput, workspaceOf } from './context.ts'

export async function mcp(context: CommandContext): Promise<number> {
  const { args, env, stdin, out, foreign, version } = context
  if (stdin.isTTY)
    throw wrongUsage(
      'mcp speaks JSON with the program that starts it. Put "holdfast mcp" into the config of an MCP client.',
    )
  const workspace = await workspaceOf(context, configOf(context))
  const ready = await readyAgent(workspace, { agent: args.value('agent'), model: args.value('model'), env })
  const store = workspace.openStore('create')
  try {
    const server = await serveAgent({
      name: ready.name,
      version,
      open: (conversation) => agentFor(ready, conversation, { store }),
      input: stdin,
      output: jsonOutput(out),
      onError: (error) => foreign.print(error.message),
    })
    const end = (): void => void server.close()
    process.once('SIGTERM', end).once('SIGINT', end)
    await server.closed
    process.off('SIGTERM', end).off('SIGINT', end)
    return EXIT.done
  } finally {
    await Promise.all([store.close(), workspace.mcp?.close()])
  }
}
