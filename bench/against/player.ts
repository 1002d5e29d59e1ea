/**
 * A process that plays turns of an agent when its parent requests a round, and answers with the time of a turn. Its runtime,
 * and the turn that it plays, are those of the checkout named on its command line.
 */
import { join } from 'node:path'
import type * as Holdfast from 'holdfast'
import type { Agent, Store } from 'holdfast'
import type * as Sqlite from 'holdfast/sqlite'
import type * as Kit from '../kit/agent.ts'
import { millisOf } from '../kit/measure.ts'

export type Setting = 'memory' | 'NORMAL' | 'FULL' | 'fifty'

/** One round: each conversation of the setting plays that many turns. */
export interface RoundRequest {
  readonly setting: Setting
  readonly turns: number
}

/** The time of one turn, in µs. */
export interface RoundTime {
  readonly wall: number
  readonly cpu: number
}

const [, , root = '.', folder = '.'] = process.argv
const { playAgentTurn, quickAgent } = await load<typeof Kit>('bench/kit/agent.ts')
const { memoryStore } = await load<typeof Holdfast>('dist/index.js')
const { sqliteStore } = await load<typeof Sqlite>('dist/store/sqlite/index.js')
const opened = new Map<Setting, readonly Agent[]>()

process.on('message', (request: RoundRequest) => {
  void playRound(request).then((time) => process.send?.(time))
})
process.send?.('ready')

async function load<Module>(file: string): Promise<Module> {
  return (await import(join(root, file))) as Module
}

async function playRound({ setting, turns }: RoundRequest): Promise<RoundTime> {
  const agents = opened.get(setting) ?? open(setting)
  const before = process.cpuUsage()
  const millis = await millisOf(1, () => Promise.all(agents.map((agent) => playTurns(agent, turns))))
  const { user, system } = process.cpuUsage(before)
  const played = turns * agents.length
  return { wall: (1000 * millis) / played, cpu: (user + system) / played }
}

async function playTurns(agent: Agent, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await playAgentTurn(agent)
}

function open(setting: Setting): readonly Agent[] {
  const store = openStore(setting)
  const agents = Array.from({ length: setting === 'fifty' ? 50 : 1 }, (_, at) =>
    quickAgent({ contextId: `agent-${at}`, store }),
  )
  opened.set(setting, agents)
  return agents
}

function openStore(setting: Setting): Store {
  if (setting === 'memory') return memoryStore()
  const synchronous = setting === 'FULL' ? 'FULL' : 'NORMAL'
  return sqliteStore(join(folder, `${setting}.db`), { synchronous })
}
