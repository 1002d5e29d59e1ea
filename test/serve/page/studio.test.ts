/** The parts of the page that need no browser: Markdown, forms, and the fold of events. */
import { describe, expect, test } from 'vitest'
import { type ConversationView, EMPTY, withEvents } from '../../../studio/src/conversation-view.ts'
import { draftOf, filled } from '../../../studio/src/form-draft.ts'
import { blocksOf } from '../../../studio/src/markdown-blocks.ts'
import { answerIn, questionIn, splitAtQuote } from '../../../studio/src/source.ts'
import { reasonText, visible } from '../../../studio/src/visible-text.ts'

describe('Markdown', () => {
  test.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert)',
    '[x](data:text/html,hi)',
    '[x](//evil.test)',
    '[x](https://user@evil.test)',
    '[x](vbscript:x)',
    '<a href="https://x.test">x</a>',
    '[x](https://[broken)',
  ])('%s becomes no link of its own', (text) => {
    const links = blocksOf(text).flatMap((block) =>
      block.type === 'paragraph' ? block.content.filter(({ type }) => type === 'link') : [],
    )
    expect(links.filter((each) => each.text === 'x')).toEqual([])
  })

  test('has paragraphs, lists, code, bold and links', () => {
    expect(
      blocksOf('# T\na **b** `c`\n\n- one\n- [two](http://x.test/)\n\n```js\n<b>\n```\n3. three'),
    ).toEqual([
      { type: 'heading', content: [{ type: 'text', text: 'T' }] },
      {
        type: 'paragraph',
        content: [
          { type: 'text', text: 'a ' },
          { type: 'bold', text: 'b' },
          { type: 'text', text: ' ' },
          { type: 'code', text: 'c' },
        ],
      },
      {
        type: 'list',
        isOrdered: false,
        start: 1,
        items: [[{ type: 'text', text: 'one' }], [{ type: 'link', text: 'two', href: 'http://x.test/' }]],
      },
      { type: 'code', text: '<b>' },
      { type: 'list', isOrdered: true, start: 3, items: [[{ type: 'text', text: 'three' }]] },
    ])
  })

  test('shows characters that hide or reorder', () => {
    expect(visible('a\u202Eb\u200Bc\u001B[2J\td\n')).toBe('a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩[2J\td\n')
    expect(reasonText({ error: 'ungrounded', message: 'Ask first.' })).toBe('Ask first.')
  })
})

describe('a form', () => {
  const schema = {
    type: 'object',
    required: ['kind', 'size', 'ok'],
    properties: {
      kind: { const: 'order' },
      size: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      ok: { type: 'boolean' },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, default: ['b'] },
      place: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
      any: {},
      self: { $ref: '#' },
    },
  }
  const fill = (draft: Parameters<typeof filled>[1]) =>
    filled(schema, draft, { root: schema, path: '', isRequired: true })

  test('gives defaults and constants, and leaves out what nobody touched', () => {
    const draft = { ...(draftOf(schema, schema) as object), size: '3' }
    expect(fill(draft)).toEqual({ value: { kind: 'order', size: 3, ok: false, tags: ['b'] }, errors: {} })
  })

  test('names each field that is missing or wrong', () => {
    const draft = { size: '1.5', place: { city: '' }, any: '{', tags: [''], ok: true }
    expect(fill(draft).errors).toEqual({
      size: 'Enter a whole number.',
      any: 'Enter valid JSON.',
      'place.city': 'This is required.',
      'tags.0': 'This is required.',
    })
    expect(fill({}).errors).toEqual({ size: 'This is required.' })
  })
})

describe('a research answer', () => {
  test('has its sources, and only those that are some', () => {
    expect(answerIn({ messages: [] })).toBeUndefined()
    expect(answerIn({ final_answer: 'Not found.', context: { sources: null } })).toEqual({
      text: 'Not found.',
      sources: [],
    })
    const source = { number: 1, kind: 'web', passageId: 'u#1', title: 'T', source: 'https://x', page: null }
    const { sources } = answerIn({ final_answer: 'A [1].', context: { sources: [source, 7, {}] } }) ?? {}
    expect(sources).toEqual([
      { number: 1, kind: 'web', passageId: 'u#1', title: 'T', source: 'https://x', quote: '' },
    ])
  })

  test('is the question of values that hold nothing else', () => {
    const messages = [{ role: 'user', content: 'How deep?' }]
    expect(questionIn({ messages })).toBe('How deep?')
    expect(questionIn({ messages, context: { top_k: null } })).toBe('How deep?')
    for (const values of [
      { messages, context: { question: 'x' } },
      { messages, other: 1 },
      { messages: [...messages, ...messages] },
      { messages: [{ role: 'assistant', content: 'x' }] },
      'x',
    ])
      expect(questionIn(values)).toBeUndefined()
  })

  test('finds a quote whatever its blanks and signs are', () => {
    expect(splitAtQuote('A (b\n c)* d.', '(b c)*')).toEqual(['A ', '(b\n c)*', ' d.'])
    expect(splitAtQuote('A b.', 'c')).toEqual(['A b.', '', ''])
    expect(splitAtQuote('A b.', ' ')).toEqual(['A b.', '', ''])
  })
})

describe('the view', () => {
  const entry = (seq: number, type: string, data: object) =>
    ({ type: 'entry', entry: { seq, turn: 1, at: 0, type, v: 1, data } }) as never
  const delta = (type: string, data: object) => ({ type: 'delta', event: { type, turn: 1, data } }) as never
  const lines = ({ items }: ConversationView) =>
    items.map((item) => (item.type === 'call' ? `${item.name} ${item.status}` : item.type))

  test('holds a reply until its entry has come, and no delta after that', () => {
    const begun = withEvents(EMPTY, [
      entry(1, 'input', { message: 'Hi' }),
      entry(2, 'turn.start', {}),
      entry(3, 'model.start', {}),
      delta('text.delta', { text: 'Hel' }),
      delta('text.delta', { text: 'lo' }),
    ])
    expect([begun.live?.text, begun.isRunning]).toEqual(['Hello', true])
    const again = withEvents(begun, [{ type: 'connected' }, { type: 'text', turn: 1, text: 'Hello w' }])
    expect(again.live?.text).toBe('Hello w')
    const ended = withEvents(again, [
      entry(4, 'model.end', {
        content: [
          { type: 'text', text: 'Hello w' },
          { type: 'tool-call', callId: 'c', tool: 'look', args: {} },
        ],
      }),
      delta('call.delta', { tool: 'look', text: '{}' }),
    ])
    expect([ended.live, lines(ended)]).toEqual([undefined, ['user', 'reply', 'look requested']])
    const settled = withEvents(ended, [
      entry(5, 'tool.start', { callId: 'c', tool: 'look', args: { a: 1 } }),
      entry(6, 'tool.end', { callId: 'c', status: 'unknown', output: 'died' }),
      entry(7, 'turn.end', { outcome: 'failed', error: { message: 'It broke.' } }),
    ])
    expect(lines(settled)).toEqual(['user', 'reply', 'look unknown', 'notice'])
    expect(settled.items.at(-1)).toMatchObject({ tone: 'error', text: 'It broke.', canContinue: true })
    expect([settled.isRunning, settled.ended, settled.entries.length]).toEqual([false, 1, 7])
  })
})
