/** The journal's meaning: fold, transcript, window, fork and prune. Pure functions first; those with a store take it as an argument. */
export { fold, messageCount } from './fold.ts'
export { clearContext, forkContext, pruneContext } from './history.ts'
export { loadSession, saveSession } from './load.ts'
export type { Call, OpenTurn, Request, Session, Totals } from './session.ts'
export { newSession, positionOf, SESSION_FORMAT } from './session.ts'
export { transcript } from './transcript.ts'
export type { WindowOptions } from './window.ts'
export { readWindow, windowSize } from './window.ts'
