/** The table of entry types. A type that is missing here is one that nobody decided about. */
import { describe, expect, it } from 'vitest'
import { ENTRY_FORMAT, isInboxType, isProgress } from './entry.ts'

const inbox = ['input', 'answer', 'cancel', 'late-result']
const noProgress = ['claim', 'release', 'model.start', 'tool.start', 'warning']
const progress = [
  ...[
    'turn.start',
    'take',
    'note',
    'phase',
    'model.end',
    'tool.end',
    'tool.late',
    'request.start',
    'request.end',
  ],
  ...['turn.end', 'compact', 'clear', 'fork', 'base'],
]

describe('entry types', () => {
  it('are these, all of format 1', () => {
    expect(Object.keys(ENTRY_FORMAT).sort()).toEqual([...inbox, ...noProgress, ...progress].sort())
    expect(new Set(Object.values(ENTRY_FORMAT))).toEqual(new Set([1]))
  })

  it.each(inbox)('%s is for the inbox, and no progress', (type) => {
    expect([isInboxType(type), isProgress(type)]).toEqual([true, false])
  })

  it.each(noProgress)('%s says only what is about to be tried (R7)', (type) => {
    expect([isInboxType(type), isProgress(type)]).toEqual([false, false])
  })

  it.each([...progress, 'x.future', 'constructor'])('%s shows that a claim led somewhere', (type) => {
    expect([isInboxType(type), isProgress(type)]).toEqual([false, true])
  })
})
