/**
 * A third loop beside turns and graphs, written with the rooms `loop` and `drive` alone. It needs no change in either of
 * them: a Conversation drives it, recovers it and publishes it like the others. It has no kind of its own: observers see
 * an agent, and it does not refuse the conversations of other loops.
 */
import { expect, it } from 'vitest'
import { processIdentity, systemClock, systemIds, systemTimer } from '../../src/base/index.ts'
import { Conversation } from '../../src/drive/index.ts'
import {
  accountFor,
  appendTurnEnd,
  type Batch,
  dataOf,
  type Ending,
  type LoopScope,
  type LoopSteps,
  openTurn,
  RunBase,
  runLoop,
  startTurn,
} from '../../src/loop/index.ts'
import { LOCAL_OWNER, type OutcomeReason, textOf } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

/** Counts the words of each message, one entry a word. */
class WordRun extends RunBase {
  readonly limits = {}
  protected readonly durationMs = undefined
  words: readonly string[] = []
}

function wordLoop(scope: LoopScope): AsyncGenerator<Batch, boolean> {
  return runLoop(() => stepsOf(new WordRun(scope)))
}

function stepsOf(run: WordRun): LoopSteps {
  return {
    run,
    begin: async () => {
      const start = (input: Parameters<typeof dataOf>[0]): void => {
        startTurn(run, {}, { takes: input.key === undefined ? [] : [input.key] })
        run.words = textOf(dataOf(input, 'input').message ?? '').split(' ')
      }
      return (await openTurn(run, { start, queue: () => {} })) !== 'none'
    },
    next: () => countWords(run),
    cancel: () => end(run, 'cancelled'),
    fail: (error) => end(run, 'failed', { error }),
  }
}

async function* countWords(run: WordRun): AsyncGenerator<Batch, void> {
  for (const [index, text] of run.words.entries()) {
    run.draft.append('note', { text: `${index + 1} ${text}`, from: 'words' })
    yield run.commit('continue')
  }
  end(run, 'stop')
}

function end(run: WordRun, outcome: OutcomeReason, ending: Ending = {}): undefined {
  accountFor(run, run.open.turn)
  appendTurnEnd(run, outcome, ending)
}

function conversationOn(store: Store): Conversation {
  const ids = systemIds
  return new Conversation({
    ...{ store, key, ids, clock: systemClock, timer: systemTimer },
    ...{ leaseMs: 30_000, heartbeatMs: 1000, autoSave: true },
    driver: `${processIdentity()}#${ids.next('words')}`,
    definition: { requestTtlMs: 60_000, maxClaims: 5, graceMs: 1000 },
    observed: { name: 'words', kind: 'agent' },
    run: wordLoop,
    onOutcome: () => {},
  })
}

const key = { ...LOCAL_OWNER, contextId: 'words' }

it('a loop of its own is driven, published and folded like the others', async () => {
  const store = memoryStore()
  const conversation = conversationOn(store)
  const input = { type: 'input', key: 'm1', data: { message: 'hold fast' } } as const
  const turn = conversation.ask({}, { keys: ['m1'], posts: () => [input] })
  const events: string[] = []
  for await (const event of turn) events.push(event.type)
  expect(events).toEqual(['input', 'claim', 'turn.start', 'note', 'note', 'turn.end'])
  expect((await turn.outcome).reason).toBe('stop')
  const notes = (await store.read(key)).filter(({ type }) => type === 'note')
  expect(notes.map(({ data }) => data['text'])).toEqual(['1 hold', '2 fast'])
  expect((await store.head(key))?.status).toBe('idle')
})
