/** A small file with one of everything, and a survey of all that a reader can ask of it. */
import { forkContext, loadSession, pruneContext, saveSession } from '../../src/journal/index.ts'
import { type ContextKey, HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { keyOf, newId, OWNER, post, turn } from './talk.ts'

export const LONG: string = 'a rather long text that is cut out and kept as a blob '.repeat(1300)
const NAMES = [
  'plain',
  'plain/child',
  'pruned',
  'fork',
  'blobs',
  'waiting',
  'erased',
  'older fork'.replace(' ', '-'),
]
export const KEYS: readonly ContextKey[] = NAMES.map(keyOf)

/** Plain turns, a child, a base, forks before and after it, blobs, a pending inbox, a snapshot, a tombstone. */
export async function fill(store: Store, size = 6): Promise<{ blob: string }> {
  const notes = (name: string) =>
    Array.from({ length: 4 }, (_, i) => `${name} note ${i} ${'words '.repeat(20)}`)
  for (let number = 1; number <= size; number++) {
    await turn(store, keyOf('plain'), { number, notes: notes(`plain ${number}`) })
    await turn(store, keyOf('pruned'), { number, notes: notes(`pruned ${number}`) })
    if (number === 2) await forkContext(store, keyOf('pruned'), { contextId: 'older-fork' })
  }
  const child = { type: 'input', key: 'first', data: { message: 'hello child' } } as const
  await store.append({ key: keyOf('plain/child'), id: newId(), since: 0, inbox: [child], parent: 'plain' })
  await pruneContext(store, keyOf('pruned'), { keepTurns: 2 })
  await forkContext(store, keyOf('pruned'), { contextId: 'fork' })
  await turn(store, keyOf('fork'), { number: size + 1, notes: notes('fork') })
  // Rows of the derived indexes are stored by the dozen; of these the file is to have them whatever its size.
  for (const name of ['plain', 'fork']) await store.rebuild(keyOf(name))
  await turn(store, keyOf('blobs'), { number: 1, notes: ['short', LONG, `${LONG} again`] })
  const blob = await store.putBlob(OWNER, Buffer.from('bytes of their own '.repeat(300)))
  for (let i = 0; i < 3; i++) await post(store, keyOf('waiting'), `still waiting ${i}`)
  await turn(store, keyOf('erased'), { number: 1, notes: ['forget me'] })
  await store.erase(keyOf('erased'))
  const session = await loadSession(store, keyOf('plain'))
  await saveSession(store, keyOf('plain'), { session, since: -1000 })
  return { blob }
}

/** Every answer by the question: as JSON, or the code of the error. */
export async function survey(store: Store, blob: string): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  const ask = async (question: string, run: () => Promise<unknown>) => {
    answers.set(question, await answerOf(run))
  }
  for (const key of KEYS) {
    const name = key.contextId
    await ask(`${name} head`, () => store.head(key))
    await ask(`${name} read`, () => store.read(key))
    await ask(`${name} newest`, () => store.read(key, { order: 'newest', limit: 7 }))
    await ask(`${name} turn`, () => store.read(key, { turn: 2 }))
    await ask(`${name} inbox`, () => store.inbox(key))
    await ask(`${name} base`, () => store.base(key))
    await ask(`${name} session`, () => loadSession(store, key))
    await ask(`${name} turns`, () => store.lookup(key, { index: 'turn' }))
    await ask(`${name} outcome`, () => store.lookup(key, { index: 'outcome', key: '000000000002' }))
  }
  await ask('list', () => store.list({ owner: OWNER }))
  await ask('due', () => store.due())
  await ask('blob', async () => Buffer.from((await store.getBlob(OWNER, blob)) ?? []).toString())
  return answers
}

async function answerOf(run: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await run()) ?? 'undefined'
  } catch (error) {
    if (HoldfastError.is(error)) return `! ${error.code}`
    throw error
  }
}
