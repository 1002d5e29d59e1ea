import type { Artifact, Part } from '@a2a-js/sdk'
import { expect, test } from 'vitest'
import { ReceivedArtifacts, TooMuchReceived } from '../../src/remote/remote-parts.ts'

const MB = 1024 * 1024

function artifact(...parts: readonly Part[]): Artifact {
  return {
    artifactId: 'a',
    name: '',
    description: '',
    parts: [...parts],
    metadata: undefined,
    extensions: [],
  }
}

function text(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

function raw(value: string, filename = '', mediaType = ''): Part {
  return { content: { $case: 'raw', value: Buffer.from(value) }, metadata: undefined, filename, mediaType }
}

test('an artifact that is replaced counts once, and its chunks each', () => {
  const received = new ReceivedArtifacts()
  for (let time = 0; time < 5; time++) received.add(artifact(text('x'.repeat(10 * MB))), false)
  expect(received.texts.map(({ length }) => length)).toEqual([10 * MB])
  for (let time = 0; time < 2; time++) received.add(artifact(text('y'.repeat(10 * MB))), true)
  expect(() => received.add(artifact(text('z'.repeat(10 * MB))), true)).toThrow(TooMuchReceived)
})

test('files without a name stay apart, in order; chunks of one name are one file', () => {
  const received = new ReceivedArtifacts()
  received.add(artifact(raw('a', '', 'image/png'), raw('one', 'x.txt'), raw('b', '', 'image/png')), false)
  received.add(artifact(raw(' two', 'x.txt'), raw('c', '', 'image/jpeg')), true)
  expect(received.files).toEqual([
    { mediaType: 'image/png', content: Buffer.from('a') },
    { name: 'x.txt', content: Buffer.from('one two') },
    { mediaType: 'image/png', content: Buffer.from('b') },
    { mediaType: 'image/jpeg', content: Buffer.from('c') },
  ])
})
