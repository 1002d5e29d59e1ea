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

test('a reply that fails in the middle ends as it is, and a reply without a model call is one of its turn', () => {
  const parts = new ConversationParts()
  const taken = [
    entry(4, 'model.start', {}),
    delta('reasoning.delta', 'I'),
    delta('text.delta', 'Hel'),
    entry(5, 'model.end', { content: [], error: { code: 'unavailable' } }),
    entry(6, 'model.start', {}),
    entry(7, 'model.end', { content: [{ type: 'text', text: 'Hello.' }] }),
    { type: 'text', turn: 1, text: 'Of the state.' } as const,
    entry(8, 'turn.end', {}),
  ].flatMap((event) => parts.take(event))
  const lines = taken.map((part) => [part.type, 'id' in part ? part.id : '', 'text' in part ? part.text : ''])
  expect(lines.map((line) => line.join(' ').trim())).toEqual([
    'reasoning r4 I',
    'text m4 Hel',
    'reasoning.end r4',
    'text.end m4',
    'text m6 Hello.',
    'text.end m6',
    'text mturn1 Of the state.',
    'text.end mturn1',
    'turn.end',
  ])
})
