import { expect, test } from 'vitest'
import type { HostEvent } from '../../src/host/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { ConversationParts } from '../../src/serve/conversation-parts.ts'

const entry = (seq: number, type: string, data: object): HostEvent => ({
  type: 'entry',
  entry: { seq, type, turn: 1, at: 0, data } as unknown as Entry,
})
const delta = (type: string, text: string): HostEvent =>
  ({ type: 'delta', event: { type, turn: 1, data: { text } } }) as unknown as HostEvent

test('a reader that comes in the middle of a reply gets its reasoning once, and its text once', () => {
  const parts = new ConversationParts()
  const content = [
    { type: 'reasoning', text: 'I think so.' },
    { type: 'text', text: 'Hello.' },
  ]
  const taken = [
    entry(4, 'model.start', {}),
    { type: 'text', turn: 1, text: '', reasoning: 'I think' } as const,
    delta('reasoning.delta', ' so.'),
    delta('text.delta', 'Hello.'),
    entry(5, 'model.end', { content }),
  ].flatMap((event) => parts.take(event))
  expect(taken).toEqual([
    { type: 'reasoning', id: 'r4', text: 'I think' },
    { type: 'reasoning', id: 'r4', text: ' so.' },
    { type: 'text', id: 'm4', text: 'Hello.' },
    { type: 'reasoning.end', id: 'r4' },
    { type: 'text.end', id: 'm4' },
  ])
})
