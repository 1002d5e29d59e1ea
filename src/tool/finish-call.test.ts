/** Results of tools, on time or late, hold no secrets. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from './define-tool.ts'
import { finishReturn } from './finish-call.ts'
import { Redactor } from './redact.ts'
import { toolResult } from './result.ts'

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
