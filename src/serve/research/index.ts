/** `holdfast/research/http`: the research assistant of a host on the HTTP server. */
export type { ResearchHttpOptions } from './mount.ts'
export { researchHttp } from './mount.ts'
