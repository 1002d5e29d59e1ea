/** The size of a turn on disk. */
import { statSync } from 'node:fs'
import { transcript } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { BYTES } from '../kit/budgets.ts'
import { spreadOf } from '../kit/measure.ts'
import type { Case, Row } from '../kit/result.ts'
import { newTalk, playTurn, type Shape } from '../kit/turn.ts'

export const bytes: Case = {
  name: 'bytes',
  title: 'bytes stored a turn, against the JSON of what was said',
  measured:
    'the size of the file after closing (all of the log folded in), less that of an empty one, per turn; all tables and indexes, free space in pages included. Said: the UTF-8 length of JSON.stringify of each entry’s data, ten entries a turn, nothing of the envelope. The third row takes only the messages of the transcript as said. The last one is what one conversation writes into the write-ahead log, whole pages in every commit.',
  notMeasured: 'snapshots (a few a conversation), and blobs.',
  run: async (lab) => {
    const empty = await fileOf(lab.path('empty.db'), { turns: 0 })
    const turns = lab.short ? 500 : 2000
    const usual = await fileOf(lab.path('usual.db'), { turns })
    const wordy = await fileOf(lab.path('wordy.db'), { turns, rows: 12 })
    const logged = await loggedOf(lab.path('log.db'))
    const row = (what: string, file: File, said: number): Row => {
      const stored = (file.size - empty.size) / turns
      return rowOf(what, said / turns, ['stored', stored])
    }
    return [
      { ...row('entries of up to 0.6 KB', usual, usual.data), budget: BYTES, exact: true },
      { ...row('tool results of 1.4 KB', wordy, wordy.data), budget: BYTES, exact: true },
      row('against messages only', usual, usual.messages),
      rowOf('on the way through the log', usual.data / turns, ['logged', logged]),
    ]
  },
}

function rowOf(what: string, said: number, [name, amount]: readonly [string, number]): Row {
  return {
    what,
    unit: 'bytes a turn',
    baseline: { name: 'said', spread: spreadOf([said]) },
    subject: { name, spread: spreadOf([amount]) },
    ratio: spreadOf([amount / said]),
  }
}

interface File {
  readonly size: number
  readonly data: number
  readonly messages: number
}

/** From a log that is not yet full to one that still is not, because a full one begins anew. */
async function loggedOf(path: string): Promise<number> {
  const [before, turns] = [50, 100]
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  const talk = newTalk('talk')
  const play = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await playTurn(store, talk)
    return statSync(`${path}-wal`).size
  }
  const start = await play(before)
  const end = await play(turns)
  await store.close()
  return (end - start) / turns
}

async function fileOf(path: string, { turns, ...shape }: Shape & { turns: number }): Promise<File> {
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  const talk = newTalk('talk')
  for (let turn = 0; turn < turns; turn++) await playTurn(store, talk, shape)
  const entries = await store.read(talk.key, { limit: 100_000 })
  await store.close()
  const data = entries.reduce((sum, entry) => sum + Buffer.byteLength(JSON.stringify(entry.data)), 0)
  return { size: statSync(path).size, data, messages: Buffer.byteLength(JSON.stringify(transcript(entries))) }
}
