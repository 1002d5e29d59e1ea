/** Agents of others, called by A2A. */
export type {
  ReceivedFile,
  RemoteAgentInput,
  RemoteAgentOptions,
  RemoteNodeOptions,
} from './remote-agent.ts'
export { remoteAgent, remoteNode } from './remote-agent.ts'
export type { RemoteFile, RemoteMessage } from './remote-message.ts'
