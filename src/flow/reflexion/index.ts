/** Reflexion: draft, search, revise. */
export type { Reflection, ReflexionOptions, ReflexionResults, Search, Searched } from './reflexion.ts'
export { reflexion } from './reflexion.ts'
