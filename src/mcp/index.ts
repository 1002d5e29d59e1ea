/** `holdfast/mcp`: tools of MCP servers for an agent, and an agent as an MCP server. */
export type { ToolOrigin } from '../tool/index.ts'
