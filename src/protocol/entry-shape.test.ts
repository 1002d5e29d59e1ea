/** Entries that a store refuses because readers could not get past them. */
import { describe, expect, it } from 'vitest'
import { shapeProblem } from './entry-shape.ts'

const MESSAGE = 'message must be a text that is not blank, or a list of text and file parts'
const PRINCIPAL = 'principal must be an object with the texts tenant and actor'
const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' }

describe('what comes into the inbox', () => {
  it.each([
    ['input', { message: 'Hello' }],
    ['input', { message: [{ type: 'text', text: 'Hello' }, file] }],
    ['input', { message: [{ type: 'text', text: '' }, file] }],
    ['input', { message: 'x', principal: { tenant: 't', actor: 'a' }, limits: {}, metadata: {} }],
    ['answer', { requestId: 'r', value: null }],
    ['cancel', { turn: 3 }],
    ['late-result', { callId: 'c', status: 'ok', output: 1 }],
  ])('may be %s %j', (type, data) => {
    expect(shapeProblem(type, data)).toBeUndefined()
  })

  it.each([
    ['input', { message: ' ' }, MESSAGE],
    ['input', { message: [] }, MESSAGE],
    ['input', { message: [{ type: 'text', text: ' ' }] }, MESSAGE],
    ['input', { message: [{ type: 'file', data: 5 }] }, MESSAGE],
    ['input', { message: null }, MESSAGE],
    ['input', { message: 'x', principal: 5 }, PRINCIPAL],
    ['input', { message: 'x', principal: { tenant: 't' } }, PRINCIPAL],
    ['input', { message: 'x', limits: [] }, 'limits must be an object'],
    ['input', { message: 'x', metadata: 'm' }, 'metadata must be an object'],
    ['answer', { requestId: 5 }, 'requestId must be a text'],
    ['answer', { requestId: 'r', principal: 'p' }, PRINCIPAL],
    ['cancel', { turn: 1.5 }, 'turn must be the number of a turn'],
    ['late-result', { callId: '' }, 'callId must be a text'],
  ])('may not be %s %j', (type, data, problem) => {
    expect(shapeProblem(type, data)).toBe(problem)
  })
})
