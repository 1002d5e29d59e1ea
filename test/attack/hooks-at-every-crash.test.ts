/** A process dies at every append of a turn with hooks everywhere: each hook still runs, and what it added counts once (R8). */
import { expect, it } from 'vitest'
import { Agent, type AgentConfig } from '../../src/agent/index.ts'
import { transcript } from '../../src/journal/index.ts'
import { type Entry, HOOK_NAMES } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { everywhere, type HookFunctions } from '../hook/kit.ts'
import { type Death, eagerTimer, livenessOf, Mortal } from '../recovery/mortal.ts'
import { calls, KEY, messageLine, probe } from '../turn/kit.ts'

interface Played {
  readonly told: readonly string[]
  readonly notes: readonly string[]
  readonly said: readonly string[]
  readonly outcome: unknown
  readonly appends: number
}

interface Scene {
  readonly script: (asked: number) => ScriptedStep
  readonly more?: HookFunctions
  readonly config?: Partial<AgentConfig>
}

const add = ({ add: say }: { add: (text: string) => void }) => say('A note.')
const ADDING: HookFunctions = {
  afterUserInput: add,
  beforeIteration: add,
  beforeLlm: add,
  afterLlm: add,
  beforeTools: add,
  afterTools: add,
  afterIteration: add,
  onComplete: add,
}

const BUSY = { error: { status: 503, message: 'Busy.' } } as const
/** What the model says depends on what it is shown, so that a call that is made again gets the same. */
const SCENES: Readonly<Record<string, Scene>> = {
  'two rounds': { script: (rounds) => (rounds < 2 ? calls('look', 'break') : 'Done'), more: ADDING },
  'a limit': { script: () => calls('look'), more: ADDING, config: { limits: { iterations: 2 } } },
  'too many calls': {
    script: () => calls('look', 'look'),
    more: ADDING,
    config: { limits: { toolCalls: 1 } },
  },
  'a refusal': { script: () => ({ error: { status: 400, message: 'No.' } }), more: ADDING },
  'a busy model': { script: () => BUSY, config: { settings: { retries: 2 } } },
  'a stop': {
    script: (rounds) => (rounds < 2 ? calls('look') : 'Done'),
    more: { ...ADDING, afterEachTool: ({ stop }) => stop('enough') },
  },
  'calls one after the other': {
    script: (rounds) => (rounds < 1 ? calls('alone', 'look', 'alone') : 'Done'),
    more: {
      ...ADDING,
      beforeEachTool: ({ pending, edit }) => edit({ ...(pending.args as object), n: 2 }),
      beforeTools: ({ pending, reject }) => reject(pending[1]?.callId ?? '', 'no'),
    },
  },
  'an edited prompt': {
    script: (rounds) => (rounds < 1 ? calls('look') : 'Done'),
    more: {
      beforeLlm: ({ prompt, edit, add: say }) => {
        edit({
          messages: prompt.messages
            .filter(({ role }) => role !== 'user')
            .concat({ role: 'user', content: 'Go!' }),
        })
        say('A note.')
      },
    },
  },
  ...Object.fromEntries(
    HOOK_NAMES.filter((hook) => !['onAgentReady', 'onLimit', 'onComplete'].includes(hook)).map((hook) => [
      `a stop in ${hook}`,
      {
        script: (rounds: number) => (rounds < 1 ? calls('look', 'break') : 'Done'),
        more: { ...ADDING, [hook]: ({ stop }: { stop: (why: string) => void }) => stop('enough') },
      },
    ]),
  ),
  ...Object.fromEntries(
    HOOK_NAMES.filter((hook) => hook !== 'onAgentReady').map((hook) => [
      `a throw in ${hook}`,
      {
        script: (rounds: number) => (rounds < 2 ? calls('break') : 'Done'),
        more: { ...ADDING, [hook]: () => Promise.reject(new Error('no')) },
        config: { limits: { iterations: 2 } },
      },
    ]),
  ),
}

async function play(scene: Scene, death?: Death): Promise<Played> {
  const clock = new ManualClock(1000)
  const mortals: Mortal[] = []
  const store = memoryStore({ clock, liveness: livenessOf(mortals) })
  const told: string[] = []
  const begin = (dying?: Death): [Agent, Mortal] => {
    const mortal = new Mortal(`p${mortals.length + 1}`, store, dying)
    mortals.push(mortal)
    const model = new ScriptedModel(
      ({ prompt }) => scene.script(prompt.filter(({ role }) => role === 'tool').length),
      { timer: eagerTimer },
    )
    const broken = probe('break', () => Promise.reject(new Error('broken')), { replay: 'safe' })
    const agent = new Agent({
      contextId: KEY.contextId,
      model,
      tools: [
        probe('look', () => 'seen', { replay: 'safe' }),
        probe('alone', () => 'seen', { replay: 'safe', exclusive: true }),
        broken,
      ],
      store: mortal.store,
      clock,
      timer: eagerTimer,
      ids: mortal.ids,
      on: everywhere(told, scene.more),
      ...scene.config,
    })
    return [agent, mortal]
  }
  const [agent, mortal] = begin(death)
  const ended = agent.executeTurn('Go').outcome.then(() => 'ended')
  if ((await Promise.race([ended, mortal.died.then(() => 'died')])) === 'died') {
    const [other] = begin()
    await other.start()
    await other.turn?.outcome
    // Nothing of it was durable: it is said again.
    if ((await store.read(KEY)).length === 0) await other.executeTurn('Go').outcome
  }
  const entries = await store.read(KEY)
  const end = entries.findLast(({ type }) => type === 'turn.end') as Entry
  return {
    told: told.map((line) => line.replaceAll(/p\d\.call_\d+/g, 'call')),
    notes: entries.filter(({ type }) => type === 'note').map(({ data }) => JSON.stringify(data['from'])),
    said: transcript(entries).map((message) => messageLine(message).replaceAll(/p\d\.call_\d+/g, 'call')),
    outcome: { outcome: end.data['outcome'], limit: end.data['limit'] },
    appends: mortal.counts.append,
  }
}

/** Before the append or after it, in turn; with `HOLDFAST_RUNS`, both. */
function deathsAt(turn: number): readonly ('before' | 'after')[] {
  if (process.env['HOLDFAST_RUNS'] !== undefined) return ['before', 'after']
  return [turn % 2 === 0 ? 'before' : 'after']
}

it.each(Object.keys(SCENES))('%s: a death at any append changes nothing of it', async (name) => {
  const scene = SCENES[name] as Scene
  const plain = await play(scene)
  expect(plain.appends).toBeGreaterThan(1)
  const problems: unknown[] = []
  for (let at = 1; at <= plain.appends; at++)
    for (const when of deathsAt(at + Object.keys(SCENES).indexOf(name))) {
      const { told, notes, said, outcome } = await play(scene, { of: 'append', at, when })
      const kinds = (lines: readonly string[]): string[] => [...new Set(lines)].sort()
      const wrong = {
        ...(JSON.stringify(outcome) === JSON.stringify(plain.outcome) ? {} : { outcome }),
        ...(notes.join() === plain.notes.join() ? {} : { notes }),
        ...(said.join('\n') === plain.said.join('\n') ? {} : { said }),
        ...(kinds(told).join() === kinds(plain.told).join() ? {} : { told }),
      }
      if (Object.keys(wrong).length > 0) problems.push({ at, when, ...wrong })
    }
  expect(problems).toEqual([])
})
