/** Inputs that are no history are refused, with the index. */
import { describe, expect, it } from 'vitest'
import { type ImportOptions, importMessages } from '../../src/journal/index.ts'

describe('what is no history', () => {
  const refusal = (history: unknown, options?: ImportOptions): unknown => {
    try {
      importMessages(history, options)
    } catch (error) {
      const { code, message, details } = error as { code: string; message: string; details: object }
      return { code, message: message.slice(0, 80), details }
    }
    return 'imported'
  }
  const hello = { role: 'user', content: 'Hello.' }

  it.each([
    ['a text', 'Hello.', undefined, 'A history must be a list', {}],
    ['a list of texts', [hello, 'Hello.'], undefined, 'Message 1 of the history is not an object', { at: 1 }],
    [
      'an unknown role',
      [hello, { role: 'wizard', content: 'x' }],
      undefined,
      'Message 1 of the history is of no known format',
      { at: 1 },
    ],
    [
      'a message without content',
      [hello, { role: 'user' }],
      undefined,
      'Message 1 of the history is of no known format',
      { at: 1 },
    ],
    ['an object of nothing', [{}], undefined, 'Message 0 of the history is of no known format', { at: 0 }],
    [
      'two formats in one',
      [
        hello,
        { role: 'assistant', content: null, tool_calls: [] },
        { role: 'model', parts: [{ text: 'x' }] },
      ],
      undefined,
      'Message 2 of the history is of the format google, and the messages before it are of openai',
      { at: 2 },
    ],
    [
      'a format that it is not',
      [hello],
      { format: 'google' as const },
      'Message 0 of the history is not of the format google',
      { at: 0 },
    ],
    ['a model that is no text', [hello], { model: 5 as never }, 'model must be a text', {}],
    ['a format that there is not', [hello], { format: 'cohere' as never }, 'There is no format "cohere"', {}],
  ])('%s is refused with its place', (...[, history, options, message, details]) => {
    expect(refusal(history, options)).toEqual({
      code: 'invalid-option',
      message: expect.stringContaining(message.slice(0, 80)) as string,
      details,
    })
  })

  it('what JSON cannot carry is refused, and what is nested without end', () => {
    const loop: Record<string, unknown> = { role: 'user', content: 'x' }
    loop['loop'] = loop
    expect(refusal([loop])).toMatchObject({ code: 'invalid-option', details: { at: 0 } })
    for (const thrown of ['no text', null] as readonly unknown[]) {
      const throws = {
        toJSON(): never {
          throw thrown as Error
        },
      }
      const message = `Message 0 of the history cannot be written as JSON (${String(thrown)}). Nothing was imported.`
      expect(() => importMessages([throws])).toThrow(message)
    }
    const deep = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`) as unknown
    expect(refusal([{ role: 'user', content: deep }])).toMatchObject({ details: { at: 0 } })
  })

  it('an empty list is an empty history', () => {
    expect(importMessages([])).toEqual({ messages: [], repairs: [], format: 'ai-sdk' })
  })
})
