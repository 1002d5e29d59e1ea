/** A tool that cannot know whether its effect happened. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemTimer } from '../base/index.ts'
import { fakeToolContext } from '../testing/tool-context.ts'
import { defineTool } from './define-tool.ts'
import { runCall } from './run-call.ts'
import type { Tool } from './tool.ts'
import { UnknownOutcome } from './tool-errors.ts'

function ends(run: () => never, more: Partial<Pick<Tool, 'replay'>> = {}): Promise<unknown> {
  const tool = defineTool({ name: 'act', description: 'Acts', input: z.object({}), ...more, run })
  return runCall({ tool, input: {}, context: fakeToolContext(), timer: systemTimer })
}

describe('a call whose effect was lost on the way', () => {
  const lost = () => {
    throw new UnknownOutcome('The server closed the connection.', 'connection-lost')
  }

  it('is unknown, because it may have happened', async () => {
    expect(await ends(lost)).toEqual({
      kind: 'settled',
      status: 'unknown',
      output: {
        error:
          'The server closed the connection. It may or may not have happened. Find out before you call it again.',
        code: 'connection-lost',
      },
    })
  })

  it('is an error if it is safe to call it again', async () => {
    expect(await ends(lost, { replay: 'safe' })).toMatchObject({
      status: 'error',
      output: { code: 'connection-lost' },
    })
  })
})
