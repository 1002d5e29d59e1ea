/** What a turn takes on disk. */
import { statSync } from 'node:fs'
import { transcript } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { spreadOf } from '../kit/measure.ts'
import type { Case, Row } from '../kit/result.ts'
import { newTalk, playTurn, type Shape } from '../kit/turn.ts'

export const bytes: Case = {
  name: 'bytes',
  title: 'bytes stored a turn, against the JSON of what was said',
  measured:
    'the size of the file after closing (all of the log folded in), less that of an empty one, per turn; all tables and indexes, free space in pages included. Said: the UTF-8 length of JSON.stringify of each entry’s data, ten entries a turn, nothing of the envelope. The last row takes only the messages of the transcript as said.',
  notMeasured: 'snapshots (a few a conversation), blobs, and the write-ahead log while the file is open.',
  run: async (lab) => {
    const empty = await fileOf(lab.path('empty.db'), { turns: 0 })
    const turns = lab.short ? 500 : 2000
    const usual = await fileOf(lab.path('usual.db'), { turns })
    const wordy = await fileOf(lab.path('wordy.db'), { turns, rows: 12 })
    const row = (what: string, file: File, said: number): Row => {
      const stored = (file.size - empty.size) / turns
      return {
        what,
        unit: 'bytes a turn',
        baseline: { name: 'said', spread: spreadOf([said / turns]) },
        subject: { name: 'stored', spread: spreadOf([stored]) },
        ratio: spreadOf([stored / (said / turns)]),
      }
    }
    return [
      { ...row('entries of up to 0.6 KB', usual, usual.data), budget: { atMost: 3 }, exact: true },
      { ...row('tool results of 1.4 KB', wordy, wordy.data), budget: { atMost: 3 }, exact: true },
      row('against messages only', usual, usual.messages),
    ]
  },
}

interface File {
  readonly size: number
  readonly data: number
  readonly messages: number
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
