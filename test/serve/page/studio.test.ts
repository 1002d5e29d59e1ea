/** The parts of the page that need no browser: Markdown, forms, and the fold of events. */
import { describe, expect, test } from 'vitest'
import { problemText } from '../../../studio/src/call-outcome.ts'
import { type ConversationView, EMPTY, titleOf, withEvents } from '../../../studio/src/conversation-view.ts'
import { draftOf, errorAt, fieldOf, filled, type Schema } from '../../../studio/src/form-draft.ts'
import { blocksOf, type List } from '../../../studio/src/markdown-blocks.ts'
import { isAboutCall, subjectOf } from '../../../studio/src/request-subject.ts'
import { answerIn, sectionOf, splitAtQuote } from '../../../studio/src/source.ts'
import { messageIn } from '../../../studio/src/values-text.ts'
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

  test('has tables and quotes, and no table without its rule', () => {
    const text = (cell: string) => (cell === '' ? [] : [{ type: 'text', text: cell }])
    expect(
      blocksOf('Look:\n| a | **b** |\n|:--|---|\n| 1 | x \\| y |\n|  | 2 |\nafter\n\n> one\n> two'),
    ).toEqual([
      { type: 'paragraph', content: text('Look:') },
      {
        type: 'table',
        rows: [
          [text('a'), [{ type: 'bold', text: 'b' }]],
          [text('1'), text('x | y')],
          [[], text('2')],
        ],
      },
      { type: 'paragraph', content: text('after') },
      { type: 'quote', content: text('one\ntwo') },
    ])
    expect(blocksOf('a | b\nc | d')).toEqual([{ type: 'paragraph', content: text('a | b\nc | d') }])
    // A rule that is none ends the reading at once.
    expect(blocksOf(`a|b\n${'|-'.repeat(5000)}x`)).toHaveLength(1)
    expect(blocksOf(`a|b\n${'|-'.repeat(400)}x`)).toHaveLength(1)
  })

  test('links an address without the sign after it, and with its brackets', () => {
    const hrefs = (text: string) =>
      blocksOf(text).flatMap((block) =>
        block.type === 'paragraph'
          ? block.content.flatMap((each) => ('href' in each ? [each.href] : []))
          : [],
      )
    expect(hrefs('See https://x.test/a. Or (https://x.test/b), https://x.test/?q=1!')).toEqual([
      'https://x.test/a',
      'https://x.test/b',
      'https://x.test/?q=1',
    ])
    const wiki = 'https://x.test/A_(b)'
    expect(hrefs(`${wiki} (${wiki}) [label](${wiki}) [label](${wiki}).`)).toEqual([wiki, wiki, wiki, wiki])
  })

  test('keeps the indented lines and code of an item', () => {
    const text = (line: string) => ({ type: 'text', text: line })
    expect(
      blocksOf('1. one\n   goes on\n\n   and on\n    ```sh\n    npm i\n      x\n    ```\n2. two\nafter'),
    ).toEqual([
      {
        type: 'list',
        isOrdered: true,
        start: 1,
        items: [[text('one'), text('\n'), text('goes on'), text('\n'), text('and on')]],
      },
      { type: 'code', text: 'npm i\n  x' },
      { type: 'list', isOrdered: true, start: 2, items: [[text('two')]] },
      { type: 'paragraph', content: [text('after')] },
    ])
  })

  describe('lists', () => {
    /** A list as nested arrays of texts; an ordered one begins with its number. */
    type Shape = readonly (string | number | Shape)[]
    const shapeOf = ({ isOrdered, start, items }: List): Shape => [
      ...(isOrdered ? [start] : []),
      ...items.flat().map((part) => (part.type === 'list' ? shapeOf(part) : part.text)),
    ]
    const shapes = (text: string) =>
      blocksOf(text).map((block) => (block.type === 'list' ? shapeOf(block) : block.type))

    test.each([
      ['- a\n  - b\n    - c\n  - d\n- e', [['a', ['b', ['c'], 'd'], 'e']]],
      ['1. a\n   - b\n   - c\n2. d\n   1. e', [[1, 'a', ['b', 'c'], 'd', [1, 'e']]]],
      // Two blanks below a number, four, and tabs.
      ['1. a\n  - b\n2. c', [[1, 'a', ['b'], 'c']]],
      ['* a\n    * b\n        * c\n* d', [['a', ['b', ['c']], 'd']]],
      ['- a\n\t- b\n\t\t- c\n- d', [['a', ['b', ['c']], 'd']]],
      // Another kind of list below the same item.
      ['- a\n  - b\n  1. c', [['a', ['b'], [1, 'c']]]],
      ['- a\n\n  - b\n\n- c', [['a', ['b'], 'c']]],
      // Back to a level that none had.
      ['- a\n    - b\n   - c\n- d', [['a', ['b', 'c'], 'd']]],
      ['  - a\n- b\n - c', [['a', 'b', 'c']]],
      ['- a\n1. b', [['a'], [1, 'b']]],
      ['- a\n\ntext\n\n  - b', [['a'], 'paragraph', ['b']]],
    ])('%j are nested', (text, expected) => {
      expect(shapes(text)).toEqual(expected)
    })

    test('an indented line goes on with the item that it is below', () => {
      expect(shapes('- a\n  - b\n    more b\n  more a\n  - c')).toEqual([
        ['a', ['b', '\n', 'more b'], 'more a', ['c']],
      ])
    })

    test('have six levels at most, and no text is lost', () => {
      const deep = Array.from({ length: 10 }, (_, level) => `${'  '.repeat(level)}- ${level}`).join('\n')
      expect(shapes(deep)).toEqual([['0', ['1', ['2', ['3', ['4', ['5', '6', '7', '8', '9']]]]]]])
      expect(shapes(`- a\n${' '.repeat(500)}- b`)).toEqual([['a', '\n', '- b']])
    })

    test('are read in one pass', () => {
      expect(blocksOf('- a\n  - b\n    - c\n'.repeat(30_000))).toHaveLength(1)
      expect(blocksOf('- a\n1. b\n'.repeat(30_000))).toHaveLength(60_000)
    })
  })

  test('is read in one pass, however many quotes, codes and tables it has', () => {
    expect(blocksOf('> a\nb\n'.repeat(30_000))).toHaveLength(60_000)
    expect(blocksOf('```\n```\n'.repeat(30_000))).toHaveLength(30_000)
    expect(blocksOf('|a|\n|-|\nb\n'.repeat(30_000))).toHaveLength(60_000)
  })

  test('keeps the joiners of emoji and of scripts that need them, and shows every other invisible character', () => {
    const kept = '👩‍💻 ❤️ 1️⃣ می‌خواهم क्‍ष'
    expect(visible(kept)).toBe(kept)
    expect(visible('a\u200Db \u200C. \u3164 \u115F x\uFE00\u{E0100} 👍\u{E0101}')).toBe(
      'a⟨U+200D⟩b ⟨U+200C⟩. ⟨U+3164⟩ ⟨U+115F⟩ x⟨U+FE00⟩⟨U+E0100⟩ 👍⟨U+E0101⟩',
    )
  })

  test('shows characters that hide or reorder', () => {
    expect(visible('a\u202Eb\u200Bc\u001B[2J\td\n')).toBe('a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩[2J\td\n')
    expect(reasonText({ error: 'ungrounded', message: 'Ask first.' })).toBe('Ask first.')
  })
})

describe('a form', () => {
  const schema = {
    type: 'object',
    required: ['kind', 'size', 'ok', 'name'],
    properties: {
      name: { type: 'string' },
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
    const draft = { ...(draftOf(schema, schema) as object), size: '3', name: 'n' }
    expect(fill(draft)).toEqual({
      value: { name: 'n', kind: 'order', size: 3, ok: false, tags: ['b'] },
      errors: {},
    })
  })

  test('names each field that is missing or wrong', () => {
    const draft = { name: 'n', size: '1.5', place: { city: '' }, any: '{', tags: [''], ok: true }
    expect(fill(draft).errors).toEqual({
      size: 'Enter a whole number.',
      any: 'Enter valid JSON.',
      'place.city': 'This is required.',
      'tags.0': 'This is required.',
    })
    expect(fill({}).errors).toEqual({ name: 'This is required.' })
  })

  test('gives null for a required field that is left empty, where null is allowed', () => {
    const tree = {
      type: 'object',
      required: ['name', 'left', 'right', 'note', 'open'],
      properties: {
        name: { type: 'string' },
        left: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
        right: { anyOf: [{ type: 'null' }, { $ref: '#' }] },
        note: { type: ['string', 'null'] },
        open: { type: ['boolean', 'null'] },
      },
    }
    const draft = draftOf(tree, tree)
    expect(draft).toEqual({ name: '', left: undefined, right: undefined, note: '', open: undefined })
    const value = { name: 'leaf', left: null, right: null, note: null, open: null }
    expect(
      filled(tree, { ...(draft as object), name: 'leaf' }, { root: tree, path: '', isRequired: true }),
    ).toEqual({
      value,
      errors: {},
    })
  })

  test.each([
    [{ type: 'integer' }, '9007199254740991', { value: 9007199254740991 }],
    [{ type: 'integer' }, '9007199254740993', { errors: { '': 'This number has too many digits.' } }],
  ])('of %j makes of %s the value that was meant, or none', (leaf, text, made) => {
    expect(filled(leaf, text, { root: leaf, path: '', isRequired: true })).toEqual({ errors: {}, ...made })
  })

  test('has the titles of constants as labels', () => {
    const oneOf = [{ const: 'a', title: 'Alpha' }, { const: 'b' }]
    expect(fieldOf({ oneOf }, {})).toMatchObject({ options: ['a', 'b'], labels: ['Alpha', undefined] })
  })

  test('of a schema with a broken reference asks for JSON, and names of objects are names', () => {
    const odd = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"$ref": "#/50%"}}') as object
    const broken = { type: 'object', required: ['__proto__', 'constructor'], properties: odd } as Schema
    expect(fieldOf({ $ref: '#/50%' }, broken).kind).toBe('json')
    const { errors } = filled(broken, draftOf(broken, broken), { root: broken, path: '', isRequired: true })
    expect(errorAt(errors, '__proto__')).toBe('This is required.')
    expect(errorAt(errors, 'constructor')).toBe('This is required.')
    expect(errorAt({}, 'constructor')).toBeUndefined()
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

  test('has a page only where its document has pages', () => {
    const shown = (source: string, page?: number) => {
      const given = { number: 1, kind: 'document', source, ...(page === undefined ? {} : { page }) }
      return answerIn({ final_answer: 'A.', context: { sources: [given] } })?.sources[0]?.page
    }
    expect([shown('a.pdf', 3), shown('a.pdf'), shown('notes', 2)]).toEqual([3, undefined, 2])
    // Journals of older versions have page 1 for every document.
    for (const source of ['a.md', 'b.DOCX', 'c.html', 'd.txt']) expect(shown(source, 1)).toBeUndefined()
  })

  test('names the section of a quote in Markdown, if its heading is there', () => {
    const passage = { before: '# Tides\n\n## Spring *tides*\n', text: 'High. A b.', after: '\n## Neap' }
    expect(sectionOf('a.md', passage, 'A b.')).toBe('Spring tides')
    expect(sectionOf('a.md', { ...passage, before: '', text: 'x\n# Late' }, 'x')).toBeUndefined()
    expect(sectionOf('a.txt', passage, 'A b.')).toBeUndefined()
  })

  test('finds a quote whatever its blanks and signs are', () => {
    expect(splitAtQuote('A (b\n c)* d.', '(b c)*')).toEqual(['A ', '(b\n c)*', ' d.'])
    expect(splitAtQuote('A b.', 'c')).toEqual(['A b.', '', ''])
    expect(splitAtQuote('A b.', ' ')).toEqual(['A b.', '', ''])
  })
})

describe('the values of a run', () => {
  const messages = [{ role: 'user', content: 'How deep?' }]

  test.each([
    [{ messages }, 'How deep?', true],
    [{ messages, context: { top_k: null } }, 'How deep?', true],
    [{ task: 'Do it.', most: 1, messages: [{ role: 'user', content: 'Do it.' }] }, 'Do it.', false],
    [{ messages: [{ role: 'assistant', content: [] }, ...messages] }, 'How deep?', false],
    [{ question: 'Why?' }, 'Why?', false],
    [{ question: 'Why?', depth: 2 }, 'Why?', false],
    [{ from: 'a', to: 'b' }, undefined, false],
    [{ messages: [{ role: 'assistant', content: 'x' }] }, undefined, false],
    [{ question: ' ' }, undefined, false],
    ['x', undefined, false],
  ])('%j have the message %s', (values, text, isAll) => {
    expect(messageIn(values)).toEqual(text === undefined ? undefined : { text, isAll })
  })
})

describe('the subject of a request', () => {
  const prompt = 'May "pay" be run with {"euros":5}?'
  const about = { tool: 'pay', args: { euros: 5 }, grants: [{ tool: 'pay' }] }

  test('is what its prompt leaves out', () => {
    expect(subjectOf({ prompt, about })).toBeUndefined()
    expect(subjectOf({ prompt: 'Pay?', about: { ...about, why: 1 } })).toEqual({
      tool: 'pay',
      args: { euros: 5 },
      more: { why: 1 },
    })
    expect(subjectOf({ prompt })).toBeUndefined()
  })

  test('is a call where the prompt may have its arguments', () => {
    expect([{ from: 'approval' }, { about }, {}].map(isAboutCall)).toEqual([true, true, false])
  })

  test.each([
    ['-a', { text: '-a', isCut: false, isError: false }],
    [
      { text: '-a', cut: true },
      { text: '-a', isCut: true, isError: false },
    ],
    [{ error: 'It failed.' }, { text: 'It failed.', isCut: false, isError: true }],
    [7, undefined],
  ])('has the preview %j', (preview, shown) => {
    expect(subjectOf({ prompt, about: { ...about, preview } })?.preview).toEqual(shown)
  })
})

describe('the outcome of a call', () => {
  const item = { type: 'call', id: 'c', kind: 'tool', name: 'pay' } as const

  test('that is unknown is said once', () => {
    const output =
      'Started, and no result was stored: whether it happened is unknown. Check before you repeat it.'
    expect(problemText({ ...item, status: 'unknown', output })).toBe(output)
    expect(problemText({ ...item, status: 'unknown', output: null })).toMatch(/nobody knows whether/)
    expect(problemText({ ...item, status: 'error', output: { message: 'No luck.' } })).toBe('No luck.')
    expect(problemText({ ...item, status: 'ok', output })).toBeUndefined()
    const display = 'Not approved.'
    expect(problemText({ ...item, status: 'rejected', output: 'For the model.', display })).toBe(display)
  })
})

describe('the view', () => {
  const of = (turn: number) => (seq: number, type: string, data: object) =>
    ({ type: 'entry', entry: { seq, turn, at: 0, type, v: 1, data } }) as never
  const entry = of(1)
  const delta = (type: string, data: object) => ({ type: 'delta', event: { type, turn: 1, data } }) as never
  const lines = ({ items }: ConversationView) =>
    items.map((item) => (item.type === 'call' ? `${item.name} ${item.status}` : item.type))

  test('a message or an answer that begins no turn leaves nothing running, and says why', () => {
    for (const type of ['input', 'answer']) {
      const { isRunning, items } = withEvents(EMPTY, [
        of(0)(1, type, { message: 'Hi' }),
        of(0)(2, 'take', { as: 'nothing', reason: 'nothing was waiting for it' }),
      ])
      expect([isRunning, items.at(-1)]).toEqual([
        false,
        {
          type: 'notice',
          id: 'entry-2-notice',
          tone: 'warning',
          text: 'Not used: nothing was waiting for it',
        },
      ])
    }
  })

  test('holds a reply until its entry has come, and no delta after that', () => {
    const begun = withEvents(EMPTY, [
      entry(1, 'input', { message: 'Hi' }),
      entry(2, 'turn.start', {}),
      entry(3, 'model.start', {}),
      delta('text.delta', { text: 'Hel' }),
      delta('text.delta', { text: 'lo' }),
    ])
    expect([begun.live?.text, begun.isRunning]).toEqual(['Hello', true])
    const written = withEvents(begun, [
      delta('call.delta', { callId: 'c', tool: 'look', text: '{"a"' }),
      delta('call.delta', { callId: 'd', tool: 'look', text: '{}' }),
      delta('call.delta', { callId: 'c', tool: 'look', text: ':1}' }),
    ])
    expect(written.live?.calls.map(({ text }) => text)).toEqual(['{"a":1}', '{}'])
    const calls = [{ callId: 'c', tool: 'look', text: '{' }]
    const again = withEvents(written, [
      { type: 'connected' },
      { type: 'text', turn: 1, text: 'Hello w', calls },
    ])
    expect(again.live).toEqual({ text: 'Hello w', reasoning: '', calls })
    const ended = withEvents(again, [
      entry(4, 'model.end', {
        content: [
          { type: 'text', text: 'Hello w' },
          { type: 'tool-call', callId: 'c', tool: 'look', args: {} },
        ],
      }),
      delta('call.delta', { callId: 'c', tool: 'look', text: '{}' }),
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

  const texts = ({ items }: ConversationView) =>
    items.flatMap((item) => (item.type === 'reply' || item.type === 'user' ? [item.text] : []))

  test('has the messages of nodes, and the reply of a flow once', () => {
    const call = { type: 'tool-call', callId: 'c', tool: 'read', args: {} }
    const run = withEvents(EMPTY, [
      entry(1, 'input', { values: { task: 'Do it.' } }),
      entry(2, 'graph.step', { tasks: [{ task: 'agent-1', node: 'agent' }] }),
      entry(3, 'node.end', {
        task: 'agent-1',
        node: 'agent',
        update: { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'I read.' }, call] }] },
      }),
      entry(4, 'node.end', {
        task: 'tools-1',
        node: 'tools',
        update: {
          messages: [
            { role: 'tool', content: [{ type: 'tool-result', callId: 'c', status: 'ok', output: 7 }] },
          ],
        },
      }),
      { type: 'text', turn: 1, text: 'It is 7.' },
      entry(5, 'turn.end', { outcome: 'stop' }),
    ])
    expect(texts(run)).toEqual(['Do it.', 'I read.', 'It is 7.'])
    const asked = withEvents({ ...run, items: run.items.slice(0, 4) }, [
      entry(4, 'request.start', { requestId: 'tools.2/c/approval', callId: 'tools.2', prompt: 'Read?' }),
    ])
    expect(asked.items.find(({ id }) => id === 'c')).toMatchObject({ status: 'waiting' })
    expect(run.items.find(({ type, id }) => type === 'call' && id === 'c')).toMatchObject({
      name: 'read',
      status: 'ok',
      output: 7,
    })
    // The same answer to another message is an answer again; one that a node has written is not.
    const again = withEvents(run, [
      entry(6, 'input', { values: { task: 'Again.' } }),
      entry(7, 'node.end', { task: 'x', node: 'x', update: { final_answer: 'It is 7.' } }),
      { type: 'text', turn: 2, text: 'It is 7.' },
      entry(8, 'turn.end', { outcome: 'stop' }),
    ])
    expect(texts(again).slice(3)).toEqual(['Again.', 'It is 7.'])
    const cut = withEvents(EMPTY, [
      entry(1, 'model.start', {}),
      delta('text.delta', { text: 'Half' }),
      entry(2, 'turn.end', { outcome: 'cancelled' }),
    ])
    expect(texts(cut)).toEqual([])
  })

  test('has a node wait until its last question is answered, and end with one that is cancelled', () => {
    const asked = withEvents(EMPTY, [
      entry(1, 'input', { values: { text: 'x' } }),
      entry(2, 'graph.step', { tasks: [{ task: 'ask.1', node: 'ask' }] }),
      entry(3, 'request.start', { requestId: 'ask.1/one', prompt: 'One?' }),
      entry(4, 'request.start', { requestId: 'ask.1/two', prompt: 'Two?' }),
      entry(5, 'turn.end', { outcome: 'input-required' }),
    ])
    expect(lines(asked)).toEqual(['user', 'ask waiting', 'request', 'request'])
    const end = (seq: number, requestId: string, how: string) =>
      entry(seq, 'request.end', { requestId, how, value: true })
    const half = withEvents(asked, [end(6, 'ask.1/one', 'answered')])
    expect(lines(half)[1]).toBe('ask waiting')
    expect(lines(withEvents(half, [end(7, 'ask.1/two', 'answered')]))[1]).toBe('ask running')
    const cancelled = withEvents(half, [end(7, 'ask.1/two', 'cancelled')])
    expect(lines(cancelled)[1]).toBe('ask cancelled')
  })

  test('ends every node of a cancelled run', () => {
    const run = withEvents(EMPTY, [
      entry(1, 'input', { values: {} }),
      entry(2, 'graph.step', {
        tasks: [
          { task: 'a.1', node: 'a' },
          { task: 'b.1', node: 'b' },
        ],
      }),
      entry(3, 'node.end', { task: 'a.1', node: 'a', update: {} }),
      entry(4, 'turn.end', { outcome: 'cancelled' }),
    ])
    expect(lines(run)).toEqual(['user', 'a ok', 'b cancelled', 'notice'])
  })

  test('says each reply once to readers of screens', () => {
    const reply = (seq: number, text: string) => [
      entry(seq, 'model.start', {}),
      ...(text === '' ? [] : [delta('text.delta', { text })]),
      entry(seq + 1, 'model.end', { content: text === '' ? [] : [{ type: 'text', text }] }),
    ]
    const hello = withEvents(EMPTY, [entry(1, 'input', { message: 'Hi' }), ...reply(2, 'Hello.')])
    expect(hello.said).toBe('Hello.\n')
    const asked = withEvents(hello, [
      entry(4, 'turn.end', { outcome: 'stop' }),
      entry(5, 'input', { message: 'Go' }),
    ])
    expect(asked.said).toBe('')
    // Calls without a word bring back no older reply.
    const called = withEvents(asked, [...reply(6, ''), entry(8, 'model.start', {})])
    expect(called.said).toBe('')
    const cut = withEvents(called, [
      delta('text.delta', { text: 'Half' }),
      entry(9, 'turn.end', { outcome: 'cancelled' }),
    ])
    expect(cut.said).toBe('Half')
  })

  test('gives the title of a conversation: the first message of the person', () => {
    const input = { seq: 2, turn: 0, at: 0, type: 'input', v: 1, data: { message: 'Hello *you*' } } as never
    const claim = { seq: 1, turn: 0, at: 0, type: 'claim', v: 1, data: {} } as never
    expect(titleOf([claim, input])).toBe('Hello *you*')
    expect(titleOf([claim])).toBeUndefined()
  })
})
