/** Loads a config file and checks all of it, before anything is written anywhere. */
import { pathToFileURL } from 'node:url'
import { Agent, memoryStore, type Tool } from 'holdfast'
import { toolsFrom } from 'holdfast/tool'
import { COMMAND_NAMES } from '../names.ts'
import { didYouMean } from '../nearest.ts'
import { unusable } from '../refusal.ts'
import { configError, shownPath } from './config-errors.ts'
import type { AgentDefinition, HoldfastConfig, ResearchConfig, ServeConfig } from './define-config.ts'

const OPTIONS: readonly string[] = [
  'agents',
  'default',
  'store',
  'serve',
  'research',
] satisfies (keyof HoldfastConfig)[]
const AGENT_NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u
const EXAMPLE = "export default defineConfig({ agents: { helper: { model: 'reflex' } } })"

/** The config with `default` filled in. Throws a refusal that names the file, and the line if it is known. */
export async function loadConfig(path: string): Promise<HoldfastConfig & { readonly default: string }> {
  let config: HoldfastConfig
  try {
    config = shapeOf(path, (await import(pathToFileURL(path).href)) as Record<string, unknown>)
  } catch (error) {
    throw configError(path, error)
  }
  for (const [name, agent] of Object.entries(config.agents)) await checkAgent(path, name, agent)
  const names = Object.keys(config.agents)
  const chosen = config.default ?? names[0] ?? ''
  if (!names.includes(chosen))
    throw unusable(
      `${shownPath(path)}: default is ${JSON.stringify(chosen)}, and there is no such agent.${didYouMean(chosen, names)}`,
    )
  return { ...config, default: chosen }
}

/** The default export, or named exports: `agents`, or an agent each. */
function shapeOf(path: string, loaded: Record<string, unknown>): HoldfastConfig {
  const { default: main, ...named } = loaded
  const config = main === undefined ? fromNames(named) : main
  if (!isObject(config)) throw unusable(`${shownPath(path)} exports no config. Write ${EXAMPLE}`)
  for (const option of Object.keys(config))
    if (!OPTIONS.includes(option))
      throw unusable(
        `${shownPath(path)}: the config has no ${JSON.stringify(option)}.${didYouMean(option, OPTIONS) || ` Known are ${OPTIONS.join(', ')}.`} Agents go into \`agents\`.`,
      )
  const { agents, store, serve, research, default: chosen } = config
  if (!isObject(agents) || Object.keys(agents).length === 0)
    throw unusable(`${shownPath(path)} names no agents. Write ${EXAMPLE}`)
  if (chosen !== undefined && typeof chosen !== 'string')
    throw unusable(`${shownPath(path)}: default must be the name of an agent.`)
  if (store !== undefined && typeof store !== 'function' && !isObject(store))
    throw unusable(
      `${shownPath(path)}: store must be a store, such as sqliteStore('my.db'), or a function that opens one.`,
    )
  if (serve !== undefined) checkServe(path, serve)
  if (research !== undefined) checkResearch(path, research)
  return config as unknown as HoldfastConfig
}

const SERVE_OPTIONS: readonly string[] = [
  'authenticate',
  'cors',
  'maxBodyBytes',
  'requestsPerMinute',
  'authFailuresPerMinute',
  'authTimeoutMs',
  'proxies',
  'maxStreams',
  'maxStreamsEach',
  'heartbeatMs',
  'page',
  'mounts',
  'a2a',
  'graphs',
  'flows',
  'trust',
  'onRefusal',
  'allow',
  'onRequest',
  'ttlMs',
  'maxOpen',
  'maxTurns',
  'maxWaiting',
  'idleMs',
] satisfies (keyof ServeConfig)[]

function checkServe(path: string, serve: unknown): void {
  if (!isObject(serve))
    throw unusable(`${shownPath(path)}: serve must be an object, such as { authenticate: apiKeyAuth([…]) }.`)
  checkNames(path, 'serve', { given: serve, known: SERVE_OPTIONS })
  const { graphs = {}, flows = {}, ttlMs = {}, mounts = [] } = serve
  for (const [option, value] of Object.entries({ graphs, flows, ttlMs }))
    if (!isObject(value)) throw unusable(`${shownPath(path)}: serve.${option} must be an object of names.`)
  // createHttp() says more about one that is none.
  if (!Array.isArray(mounts) || !(mounts as readonly unknown[]).every(isObject))
    throw unusable(`${shownPath(path)}: serve.mounts must be a list of protocols, such as [openai()].`)
}

const RESEARCH_OPTIONS: readonly string[] = [
  'corpus',
  'web',
  'agents',
  'topK',
  'minScore',
  'limits',
] satisfies (keyof ResearchConfig)[]

function checkResearch(path: string, research: unknown): void {
  if (!isObject(research))
    throw unusable(`${shownPath(path)}: research must be an object, such as { corpus: () => … }.`)
  checkNames(path, 'research', { given: research, known: RESEARCH_OPTIONS })
  const { corpus = {}, web = {} } = research
  if (typeof corpus !== 'function' && !isObject(corpus))
    throw unusable(`${shownPath(path)}: research.corpus must be a corpus, or a function that opens one.`)
  if (!isObject(web))
    throw unusable(`${shownPath(path)}: research.web must be an object, such as { searxng: searxng() }.`)
}

function checkNames(
  path: string,
  part: string,
  { given, known }: { readonly given: object; readonly known: readonly string[] },
): void {
  for (const option of Object.keys(given))
    if (!known.includes(option))
      throw unusable(
        `${shownPath(path)}: ${part} has no ${JSON.stringify(option)}.${didYouMean(option, known) || ` Known are ${known.join(', ')}.`}`,
      )
}

function fromNames(named: Record<string, unknown>): unknown {
  if (named['agents'] !== undefined) return named
  const { store, ...agents } = named
  return Object.keys(agents).length === 0 ? undefined : { agents, ...(store === undefined ? {} : { store }) }
}

async function checkAgent(path: string, name: string, agent: unknown): Promise<void> {
  if (COMMAND_NAMES.includes(name))
    throw unusable(
      `${shownPath(path)}: ${JSON.stringify(name)} cannot be the name of an agent: holdfast ${name} keeps its conversations under it. Choose another.`,
    )
  if (!AGENT_NAME.test(name))
    throw unusable(
      `${shownPath(path)}: ${JSON.stringify(name)} cannot be the name of an agent. Use letters, digits, "_", "." and "-".`,
    )
  if (!isObject(agent))
    throw unusable(`${shownPath(path)}: the agent ${name} must be an object with model, tools and so on.`)
  for (const option of ['contextId', 'store', 'owner', 'name', 'parent'])
    if (agent[option] !== undefined)
      throw unusable(`${shownPath(path)}: leave ${option} out of the agent ${name}; the terminal decides it.`)
  try {
    // The constructor checks every option.
    const { trust: _, ...config } = agent as AgentDefinition
    void new Agent({ ...config, name, contextId: 'check', store: memoryStore() })
    const { tools = [] } = config
    if (typeof tools !== 'function') await Promise.all(toolsFrom(tools).map(checkSchema))
  } catch (error) {
    throw configError(path, error, `agent ${name}: `)
  }
}

/** Uses the schema once: only that reveals an unusable one. */
async function checkSchema({ name, input }: Tool): Promise<void> {
  try {
    await input['~standard'].validate({})
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`The schema of the tool ${JSON.stringify(name)} cannot be used: ${why}`, { cause: error })
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
