/** `holdfast/acp`: a host for editors that speak the Agent Client Protocol. */

export type { AcpPrompt } from './graph-prompt.ts'
export type { AcpMode, AcpModes } from './modes.ts'
export { acpModes } from './modes.ts'
export type { AcpServer, AcpSession, ServeAcpOptions } from './serve-acp.ts'
export { serveAcp } from './serve-acp.ts'
