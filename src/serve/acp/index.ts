/** `holdfast/acp`: a host for editors that speak the Agent Client Protocol. */
export type { AcpServer, AcpSession, ServeAcpOptions } from './serve-acp.ts'
export { serveAcp } from './serve-acp.ts'
export type { AcpPrompt } from './session.ts'
