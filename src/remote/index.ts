/** Agents of others, called by A2A. */
export type { RemoteAgentOptions, RemoteNodeOptions } from './remote-agent.ts'
export { remoteAgent, remoteNode } from './remote-agent.ts'
