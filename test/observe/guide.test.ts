/** The samples of the guide are those of a real run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { filesIn, newFolder } from './log-kit.ts'

it('shows the lines and the session file of a run', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 15, 10, 30))
  const folder = newFolder()
  const replies = [{ calls: [{ tool: 'order', args: { bags: 2 } }] }, 'Two bags are on their way.']
  const agent = new Agent({
    name: 'clerk',
    contextId: 'site-7',
    clock,
    store: memoryStore({ clock }),
    log: { folder },
    sessions: { folder },
    model: new ScriptedModel(({ call }) => {
      clock.advance(900)
      return replies[call - 1] ?? ''
    }),
    tools: [
      defineTool({
        name: 'order',
        description: 'Orders bags of cement.',
        input: z.object({ bags: z.number() }),
        run: ({ bags }) => {
          clock.advance(1400)
          return { ordered: bags }
        },
      }),
    ],
  })
  await agent.input('Please order two bags of cement.')
  await agent.shutdown()
  const guide = readFileSync('docs/guide/logs.md', 'utf8')
  const sample = (mark: string): string => guide.split(`<!-- ${mark} -->`)[1]?.split(/```\w*\n/)[1] ?? ''
  const [log = '', yaml = ''] = filesIn(folder).toSorted((a) => (a.endsWith('.log') ? -1 : 1))
  expect(sample('log')).toBe(readFileSync(join(folder, log), 'utf8'))
  const text = readFileSync(join(folder, yaml), 'utf8')
  expect(sample('session')).toBe(text.replace(/(messages: '\[\{.*?\},).*/, "$1…]'"))
  expect(yaml).toBe('clerk_2026-11-15T10-30-00.yaml')
})
