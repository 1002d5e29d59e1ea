/** Shared by the tests of MCP: servers that end with the test, and a call up to its settlement. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemTimer } from '../../src/base/index.ts'
import { type ConnectMcpOptions, connectMcp, type McpServers } from '../../src/mcp/index.ts'
import { fakeToolContext } from '../../src/testing/index.ts'
import { type CallEnd, prepareCall, runCall, type ToolContext } from '../../src/tool/index.ts'

/** Closes the value after the test. Not by `afterEach`: files share this module, and it would hold for the first one. */
export function closed<T>(value: T, close: (value: T) => unknown): T {
  onTestFinished(async () => {
    await close(value)
  })
  return value
}

export async function connected(
  servers: ConnectMcpOptions['servers'],
  more: Partial<ConnectMcpOptions> = {},
): Promise<McpServers> {
  return closed(await connectMcp({ servers, ...more }), (mcp) => mcp.close())
}

export function folder(): string {
  return closed(mkdtempSync(join(tmpdir(), 'holdfast-mcp-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  )
}

/** A fixture as a process. */
export function script(name: string, ...args: readonly string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: [resolve('test/mcp/fixture', name), ...args] }
}

/** A server from npm as a process. */
export function packaged(name: string, ...args: readonly string[]): { command: string; args: string[] } {
  const path = resolve(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)
  return { command: process.execPath, args: [path, ...args] }
}

/** The end of one call, as the turn would store it; arguments that do not fit are rejected. */
export async function call(
  mcp: McpServers,
  name: string,
  { args = {}, ...context }: Partial<ToolContext> & { readonly args?: object } = {},
): Promise<CallEnd | { readonly status: string; readonly output: unknown }> {
  const tools = await mcp.tools()
  const prepared = await prepareCall({ callId: 'call_1', tool: name, args: args as never }, tools)
  if (!prepared.ok) return prepared.settled
  const { tool, input } = prepared
  return runCall({ tool, input, context: fakeToolContext(context), timer: systemTimer })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
