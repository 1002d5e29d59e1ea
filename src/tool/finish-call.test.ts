/** Results of tools, on time or late: no secrets are in them, and no question is lost in one. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ManualClock } from '../testing/index.ts'
import { fakeToolContext } from '../testing/tool-context.ts'
import { defineTool } from './define-tool.ts'
import { finishReturn } from './finish-call.ts'
import { Redactor } from './redact.ts'
import { ask, toolResult } from './result.ts'
import { runCall } from './run-call.ts'

const tool = defineTool({ name: 'act', description: 'Acts', input: z.object({}), run: () => 'done' })

it('redacts the sightings of a result, but for the names of their entities', async () => {
  const secrets = Redactor.of([{ value: 'hunter22' }, { value: 'document' }])
  const seen = [{ entity: 'document', id: 'd-1', label: 'of hunter22' }]
  expect(await finishReturn({ tool, secrets }, toolResult('hunter22', 'hunter22', { seen }))).toEqual({
    status: 'ok',
    output: '[redacted]',
    display: '[redacted]',
    seen: [{ entity: 'document', id: 'd-1', label: 'of [redacted]' }],
  })
})

describe('a question that is not returned by itself asks nobody, and fails the call', () => {
  const question = ask({ kind: 'text', prompt: 'When?' })

  it.each([
    ['a list', [question], '`[0]`'],
    ['an object', { rows: [{ when: question }] }, '`rows[0].when`'],
    ['a result for people', toolResult(question, 'x'), 'it'],
  ])('inside of %s', async (_, returned, where) => {
    const error = expect.stringContaining(`in its result, ${where} is a question of ask()`) as string
    const failed = { status: 'error', output: { code: 'invalid-question', error } }
    expect(await finishReturn({ tool }, returned)).toEqual(failed)
    const checked = { ...tool, output: z.unknown().transform(() => 'lost') }
    expect(await finishReturn({ tool: checked }, returned)).toEqual(failed)
  })

  it('yielded', async () => {
    let isClosed = false
    const run = async function* (): AsyncGenerator<never> {
      try {
        await Promise.resolve()
        yield question as never
      } finally {
        isClosed = true
      }
    }
    const timer = new ManualClock()
    const end = await runCall({ tool: { ...tool, run }, input: {}, context: fakeToolContext(), timer })
    const error = 'A question was yielded, and nobody is asked by that. Return it: return ask({ … }).'
    expect(end).toMatchObject({ kind: 'settled', status: 'error', output: { error } })
    expect(isClosed).toBe(true)
  })
})
