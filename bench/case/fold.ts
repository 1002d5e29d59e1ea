/** The cost of keeping a session up to date. */
import { fold as foldEntries, type Session, transcript } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { growTalk } from '../kit/grow.ts'
import { interleave, millisOf, spreadOf } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

const TURNS = 1000

export const fold: Case = {
  name: 'fold',
  title: 'folding entries into a session',
  measured:
    'fold over 10,000 entries that are in memory: in one call, as a reader does, and a call for each commit and for each entry, as a driver does; each call copies the session it starts from. The transcript of the same entries, for comparison.',
  notMeasured: 'reading and parsing the entries.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('fold.db'), { synchronous: 'NORMAL' })
    const talk = newTalk('talk')
    await growTalk(store, talk, { turns: TURNS })
    const entries = await store.read(talk.key, { limit: 100_000 })
    await store.close()
    const commits = Array.from({ length: entries.length / 5 }, (_, i) => entries.slice(i * 5, i * 5 + 5))
    const nanos = async (run: () => unknown) => (1e6 * (await millisOf(1, run))) / entries.length
    const { whole, byCommit, byEntry, messages } = await interleave(
      { rounds: 11, seconds: lab.seconds },
      {
        whole: () => nanos(() => foldEntries(entries)),
        byCommit: () =>
          nanos(() => commits.reduce<Session>((at, part) => foldEntries(part, at), foldEntries([]))),
        byEntry: () =>
          nanos(() => entries.reduce<Session>((at, entry) => foldEntries([entry], at), foldEntries([]))),
        messages: () => nanos(() => transcript(entries)),
      },
    )
    const perSecond = whole.map((nanoseconds) => 1e9 / nanoseconds)
    const unit = 'ns an entry'
    const baseline = ['one call', whole] as const
    return [
      { what: 'in one call', unit: 'entries/s', subject: { name: 'fold', spread: spreadOf(perSecond) } },
      compare({ what: 'a call for every five entries', unit, baseline, subject: ['fold', byCommit] }),
      compare({ what: 'a call for every entry', unit, baseline, subject: ['fold', byEntry] }),
      compare({ what: 'transcript in one call', unit, baseline, subject: ['transcript', messages] }),
    ]
  },
}
