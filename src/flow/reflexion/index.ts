/** Reflexion: draft, search, revise. */
export type {
  Reflection,
  ReflexionOptions,
  ReflexionResults,
  ReflexionSearch,
  Searched,
} from './reflexion.ts'
export { reflexion } from './reflexion.ts'
