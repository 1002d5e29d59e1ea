/** Web search by SearXNG, Brave and Tavily, with the pages of the results read through the address guard. */
export { type BraveOptions, brave } from './brave.ts'
export { type SearxngOptions, searxng } from './searxng.ts'
export { type TavilyOptions, tavily } from './tavily.ts'
export type { WebSearchOptions } from './web-search.ts'
