/** `holdfast/mcp`: tools of MCP servers for an agent, and an agent as an MCP server. */
export type {
  HttpServerConfig,
  HttpType,
  McpServerConfig,
  McpServerOptions,
  McpServersOption,
  StdioServerConfig,
} from './config.ts'
export type { ConnectMcpOptions, McpServers } from './connect-mcp.ts'
export { connectMcp } from './connect-mcp.ts'
export type { AgentServer, ServeAgentOptions } from './serve-agent.ts'
export { serveAgent } from './serve-agent.ts'
export type { ServedAgent, ServedOutcome, ServedTurn } from './served-agent.ts'
export type { McpProblem, McpServerStatus, ServerState } from './status.ts'
