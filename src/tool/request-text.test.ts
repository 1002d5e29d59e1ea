/** The text of a request has the call that its prompt leaves out. */
import { expect, it } from 'vitest'
import { requestText } from './request-text.ts'

const about = { tool: 'pay', args: { euros: 5 } }

it.each([
  ['the prompt alone', 'Which one?', {}, 'Which one?'],
  [
    'a prompt with its call',
    'May "pay" be run with {"euros":5}?',
    about,
    'May "pay" be run with {"euros":5}?',
  ],
  ['the call', 'Really?', about, 'Really?\npay {"euros":5}'],
  ['a tool without arguments', 'May "go" be run?', { tool: 'go', args: {} }, 'May "go" be run?'],
  ['a preview of a question', 'So?', { preview: '-a\n+b\u200B' }, 'So?\n-a\n+b\\u{200b}'],
  [
    'a preview that is cut',
    'So?',
    { preview: { text: '-a', cut: true } },
    'So?\n-a\n… The rest of the preview is too long to be shown.',
  ],
  ['why there is no preview', 'So?', { preview: { error: 'It failed.' } }, 'So?\nIt failed.'],
  ['no preview that is none', 'So?', { preview: 7 }, 'So?'],
])('a text has %s', (...[, prompt, subject, text]) => {
  expect(requestText({ prompt, about: subject })).toBe(text)
})

it('a text says how much of very long arguments is left out', () => {
  const text = requestText({ prompt: 'So?', about: { tool: 'So', args: 'x'.repeat(30_008) } })
  expect(text).toMatch(/^So\?\n"x{29999}… and 10 more characters$/)
})
