/**
 * All conversations that are killed, one entry each. To have something else killed, a graph or a server, add an entry
 * that plays it: everything else is found in its journals and in what it writes down.
 */
import { GRAPH_SCENARIOS } from '../graph/recovery-graphs.ts'
import { type GraphPlay, GraphProcess } from '../graph/recovery-world.ts'
import { PLAYS } from '../recovery/plays.ts'
import { Process, type Script } from '../recovery/world.ts'
import { LONG_PLAYS } from './long-plays.ts'
import type { Stage } from './stage.ts'

export interface Conversation {
  readonly name: string
  /**
   * Plays from wherever the journals of the stage's owner stand, to the end. After each death it is called again, in a
   * new process and with a new stage; when it returns nothing may be left to do.
   */
  readonly play: (stage: Stage) => Promise<unknown>
  /** The tools whose effects may come twice; of all others every second one is found. The journal is not believed here. */
  readonly repeatable: readonly string[]
}

/** What the tools of the plays are, that do no harm when they run again. */
const HARMLESS = ['look', 'work', 'book', 'write', 'list', 'take']

function conversationOf(play: Script): Conversation {
  return { name: play.name, play: (stage) => new Process(stage, play, stage).run(), repeatable: HARMLESS }
}

function graphOf(play: GraphPlay): Conversation {
  return {
    name: play.name,
    play: (stage) => new GraphProcess(stage, play, stage).run(),
    repeatable: HARMLESS,
  }
}

/**
 * Whose ends can be compared line by line. One that fails because nobody knows something reads otherwise from there on,
 * and one that waits for time to pass, when a new process needs more of it.
 */
const GRAPHS = GRAPH_SCENARIOS.filter(({ name }) => !/cannot live with not knowing|nobody answers/.test(name))

export const CONVERSATIONS: readonly Conversation[] = [
  ...[...PLAYS, ...LONG_PLAYS].map(conversationOf),
  ...GRAPHS.map(graphOf),
]

/** Wrong on purpose, to see that it is found; played only when asked for by name. */
export const BROKEN_CONVERSATIONS: readonly Conversation[] = [
  conversationOf({
    name: 'broken: a tool that says it may be run again, and may not',
    steps: [{ say: 'pay' }],
    replies: { pay: [{ calls: [{ tool: 'pay' }] }, 'Paid.'] },
    config: (process) => ({ tools: [process.tool('pay', { replay: 'safe' })] }),
  }),
]

export function conversationCalled(name: string): Conversation {
  const found = [...CONVERSATIONS, ...BROKEN_CONVERSATIONS].find((one) => one.name === name)
  if (found === undefined) throw new Error(`There is no conversation called ${name}.`)
  return found
}
