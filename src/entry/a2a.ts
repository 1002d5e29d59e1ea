/** `holdfast/a2a`: a host over A2A, and agents of others as tools and nodes. */
export type {
  ReceivedFile,
  RemoteAgentInput,
  RemoteAgentOptions,
  RemoteFile,
  RemoteMessage,
  RemoteNodeOptions,
} from '../remote/index.ts'
export { remoteAgent, remoteNode } from '../remote/index.ts'
export type { A2aAgent, A2aOptions, A2aSkill, PushFailure, PushOptions } from '../serve/a2a/index.ts'
export { a2a } from '../serve/a2a/index.ts'
