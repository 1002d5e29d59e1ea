import type { Artifact } from '@a2a-js/sdk'
import { expect, test } from 'vitest'
import { ReceivedArtifacts, TooMuchReceived } from '../../src/remote/remote-parts.ts'

const MB = 1024 * 1024

function artifact(text: string): Artifact {
  const part = {
    content: { $case: 'text', value: text } as const,
    metadata: undefined,
    filename: '',
    mediaType: '',
  }
  return { artifactId: 'a', name: '', description: '', parts: [part], metadata: undefined, extensions: [] }
}

test('an artifact that is replaced counts once, and its chunks each', () => {
  const received = new ReceivedArtifacts()
  for (let time = 0; time < 5; time++) received.add(artifact('x'.repeat(10 * MB)), false)
  expect(received.texts.map(({ length }) => length)).toEqual([10 * MB])
  for (let time = 0; time < 2; time++) received.add(artifact('y'.repeat(10 * MB)), true)
  expect(() => received.add(artifact('z'.repeat(10 * MB)), true)).toThrow(TooMuchReceived)
})
