/** One turn right after another where nothing is saved by itself: what is held back is neither lost nor in the way. */
import { expect, it } from 'vitest'
import { bench, calls, probe } from '../turn/kit.ts'
import { soon } from './kit.ts'

it.each(Array.from({ length: 40 }, (_, i) => i))(
  'a turn that is asked for %i moments after the end of another is heard',
  async (moments) => {
    const { agent } = bench({ script: [calls('look'), 'A', 'B'], tools: [probe('look')], autoSave: false })
    await agent.executeTurn('One').outcome
    for (let i = 0; i < moments; i++) await Promise.resolve()
    expect(await soon(agent.executeTurn('Two').outcome)).toMatchObject({ reason: 'stop', text: 'B' })
    expect(await agent.getMessages()).toHaveLength(6)
  },
)
