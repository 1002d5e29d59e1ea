/** The table of entry types. A type that is missing here is undecided. */
import { describe, expect, it } from 'vitest'
import { ENTRY_KINDS, ENTRY_TABLE, isInboxType } from './entry-table.ts'

const inbox = ['input', 'answer', 'cancel', 'late-result']
const noProgress = [
  ...['claim', 'release', 'model.start', 'tool.start', 'warning'],
  ...['take', 'note', 'phase', 'tool.late', 'usage', 'base', 'artifact', 'active', 'grants', 'state'],
  ...['graph.start', 'graph.channels', 'graph.queue', 'graph.step', 'effect.start'],
]
const progress = [
  ...['turn.start', 'model.end', 'tool.end', 'request.start', 'request.end'],
  ...['turn.end', 'compact', 'clear', 'fork', 'import', 'node.end', 'effect.end'],
]

describe('entry types', () => {
  it('are these, of format 1 but for those that have changed', () => {
    expect(Object.keys(ENTRY_TABLE).sort()).toEqual([...inbox, ...noProgress, ...progress].sort())
    const changed = Object.entries(ENTRY_TABLE).filter(([, { v }]) => v > 1)
    expect(changed.map(([type, { v }]) => [type, v])).toEqual([
      ['claim', 2],
      ['phase', 2],
      ['model.end', 2],
      ['graph.start', 2],
      ['graph.queue', 2],
    ])
  })

  it.each(inbox)('%s is for the inbox, and no progress', (type) => {
    expect([isInboxType(type), ENTRY_KINDS.get(type)?.progress ?? false]).toEqual([true, false])
  })

  it.each([...noProgress, 'x.future', 'constructor'])(
    '%s may come of an attempt that leads nowhere (R7)',
    (type) => {
      expect([isInboxType(type), ENTRY_KINDS.get(type)?.progress ?? false]).toEqual([false, false])
    },
  )

  it.each(progress)('%s shows that a claim led somewhere', (type) => {
    expect([isInboxType(type), ENTRY_KINDS.get(type)?.progress ?? false]).toEqual([false, true])
  })
})
