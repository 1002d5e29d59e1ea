/** Loads the official packages when they are needed, and names the command if one is missing. Their types have no other door. */
import type * as clientModule from '@modelcontextprotocol/client'
import type * as serverModule from '@modelcontextprotocol/server'
import type * as stdioModule from '@modelcontextprotocol/server/stdio'
import { optionalPackage } from '../protocol/index.ts'

export type ClientSdk = typeof clientModule
export type Client = clientModule.Client
export type Transport = clientModule.Transport
export type JsonRpcMessage = clientModule.JSONRPCMessage
export type CallToolResult = clientModule.CallToolResult
export type ContentBlock = clientModule.ContentBlock
export type ListedTool = clientModule.Tool
export type PriorDiscovery = clientModule.PriorDiscovery

export type AgentServerSdk = typeof serverModule & typeof stdioModule
export type McpServer = serverModule.McpServer
export type ServerContext = serverModule.ServerContext

export async function clientSdk(): Promise<ClientSdk> {
  return optionalPackage('@modelcontextprotocol/client', 'MCP', () => import('@modelcontextprotocol/client'))
}

/** The variables that a server gets of this process: PATH, HOME and a few others. */
export async function defaultEnvironment(): Promise<Readonly<Record<string, string>>> {
  const { getDefaultEnvironment } = await optionalPackage(
    '@modelcontextprotocol/client',
    'MCP',
    () => import('@modelcontextprotocol/client/stdio'),
  )
  return getDefaultEnvironment()
}

export async function serverSdk(): Promise<AgentServerSdk> {
  const [server, stdio] = await Promise.all([
    optionalPackage('@modelcontextprotocol/server', 'MCP', () => import('@modelcontextprotocol/server')),
    optionalPackage(
      '@modelcontextprotocol/server',
      'MCP',
      () => import('@modelcontextprotocol/server/stdio'),
    ),
  ])
  return { ...server, ...stdio }
}
