/** A function that gets nothing, or something else than its arguments, says which ones it takes. */
import { describe, expect, it } from 'vitest'
import * as journal from '../../src/entry/journal.ts'
import * as operate from '../../src/entry/operate.ts'
import { memoryStore, promptFile } from '../../src/index.ts'

const key = { tenant: 'local', actor: 'local', contextId: 'c' }
const store = memoryStore()
const WRONG = [undefined, null, 'x', {}]
type Call = (...args: readonly unknown[]) => unknown

const OF_A_STORE: readonly (readonly [name: string, call: Call, rest: readonly unknown[]])[] = [
  ['listStuck', operate.listStuck as Call, []],
  ['settleCall', operate.settleCall as Call, [key, { callId: 'a', status: 'ok', output: 1 }]],
  ['takeOver', operate.takeOver as Call, [key]],
  ['listGrants', operate.listGrants as Call, [key]],
  ['revokeGrants', operate.revokeGrants as Call, [key]],
  ['viewsOf', operate.viewsOf as Call, []],
  ['clearContext', operate.clearContext as Call, [key]],
  ['pruneContext', operate.pruneContext as Call, [key, { keepTurns: 1 }]],
  ['recreateContext', operate.recreateContext as Call, [key]],
  ['forkContext', operate.forkContext as Call, [key, { contextId: 'd' }]],
  ['loadSession', journal.loadSession as Call, [key]],
]

describe('a function of a store', () => {
  it.each(OF_A_STORE)('%s() refuses what is none', async (name, call, rest) => {
    for (const wrong of WRONG)
      await expect(async () => call(wrong, ...rest)).rejects.toMatchObject({
        code: 'invalid-option',
        message: expect.stringContaining(`${name}() needs a store, such as sqliteStore('x.db')`) as string,
      })
  })

  it.each(OF_A_STORE.filter(([, , rest]) => rest.length > 0))(
    '%s() refuses what is no key',
    async (_, call, [, ...rest]) => {
      for (const wrong of WRONG)
        await expect(async () => call(store, wrong, ...rest)).rejects.toMatchObject({
          code: expect.stringMatching(/^invalid-(key|option)$/) as string,
        })
    },
  )
})

it.each([
  [undefined, 'settleCall() takes options as an object, not undefined'],
  [{ id: 'a' }, 'Write callId instead'],
  [{ callId: 'a', status: 'done', output: 1 }, 'status must be ok, error or not-run, not "done"'],
  [{ callId: 'a', status: 'ok' }, 'settleCall() needs `output`'],
])('settleCall() refuses %j', async (call, why) => {
  await expect(operate.settleCall(store, key, call as never)).rejects.toThrow(why)
})

it('transcript() and promptFile() refuse what they cannot read', () => {
  for (const wrong of [undefined, null, 7]) {
    expect(() => journal.transcript(wrong as never)).toThrow('transcript() takes entries')
    expect(() => promptFile(wrong as never)).toThrow('promptFile() needs the path of a file first')
  }
})
