/** Valid and invalid answers. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { type AnsweredRequest, checkAnswer } from './answer.ts'

const options: readonly Json[] = ['red', 'green', { id: 1, name: 'blue' }, 7]

describe('a right answer', () => {
  it.each<[AnsweredRequest, Json]>([
    [{ kind: 'confirmation' }, true],
    [{ kind: 'confirmation' }, false],
    [{ kind: 'confirmation' }, { approved: false }],
    [{ kind: 'confirmation' }, { approved: true, reason: 'fine' }],
    [{ kind: 'choice', options }, 'red'],
    [
      { kind: 'choice', options },
      { name: 'blue', id: 1 },
    ],
    [{ kind: 'choice', options, multiple: true }, [7, 'green']],
    [{ kind: 'text' }, 'x'],
    [{ kind: 'data' }, { anything: [null] }],
    [{ kind: 'data', schema: { type: 'object', required: ['a'] } }, { a: 1 }],
    [{ kind: 'auth' }, null],
    [{ kind: 'of a later version' }, 1],
  ])('to %o is %o', async (request, value) => {
    expect(await checkAnswer(request, value)).toBe(undefined)
  })
})

describe('a wrong answer', () => {
  const confirmation =
    'A confirmation is true, false, or { "approved": true or false, "reason": "…" }; this is'
  const offered = 'Choose from: "red", "green", {"id":1,"name":"blue"}, 7.'

  it.each<[AnsweredRequest, Json, string]>([
    [{ kind: 'confirmation' }, 'yes', `${confirmation} "yes".`],
    [{ kind: 'confirmation' }, { approved: 'yes' }, `${confirmation} {"approved":"yes"}.`],
    [
      { kind: 'confirmation' },
      { approved: true, reason: 7 },
      `${confirmation} {"approved":true,"reason":7}.`,
    ],
    [{ kind: 'confirmation' }, { approved: true, also: 7 }, `${confirmation} {"also":7,"approved":true}.`],
    [{ kind: 'confirmation' }, [true], `${confirmation} [true].`],
    [{ kind: 'choice', options }, 'blue', `"blue" was not offered. ${offered}`],
    [{ kind: 'choice', options }, ['red'], `["red"] was not offered. ${offered}`],
    [{ kind: 'choice', options }, '7', `"7" was not offered. ${offered}`],
    [{ kind: 'choice', options, multiple: true }, ['red', null], `null was not offered. ${offered}`],
    [{ kind: 'choice', options, multiple: true }, ['red', 'red'], `"red" is chosen twice. ${offered}`],
    [
      { kind: 'choice', options, multiple: true },
      [],
      `The answer must be a list of at least one of the options; this is []. ${offered}`,
    ],
    [
      { kind: 'choice', options, multiple: true },
      'red',
      `The answer must be a list of at least one of the options; this is "red". ${offered}`,
    ],
    [{ kind: 'choice' }, 'red', '"red" was not offered. Choose from: .'],
    [{ kind: 'text' }, ' \n', 'The answer must be a text that is not empty; this is " \\n".'],
    [{ kind: 'text' }, 7, 'The answer must be a text that is not empty; this is 7.'],
  ])('to %o is %o', async (request, value, problem) => {
    expect(await checkAnswer(request, value)).toBe(problem)
  })

  it('is told each place where it does not fit the schema, and the schema stays as it was', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        'a/b c': { type: 'array', items: { type: 'object', properties: { n: { $ref: '#/definitions/n' } } } },
      },
      required: ['name'],
      definitions: { n: { type: 'integer', minimum: 1 } },
    }
    const before = JSON.stringify(schema)
    expect(await checkAnswer({ kind: 'data', schema }, { 'a/b c': [{ n: 1 }, { n: 0.5 }] })).toBe(
      'The answer does not fit: Instance does not have required property "name";' +
        ' a/b c[1].n: Instance type "number" is invalid. Expected "integer";' +
        ' a/b c[1].n: 0.5 is less than 1.',
    )
    expect(JSON.stringify(schema)).toBe(before)
  })

  it('is told when the schema itself cannot be used', async () => {
    const schema = { $ref: '#/nowhere' }
    expect(await checkAnswer({ kind: 'data', schema }, {})).toMatch(
      /^The schema of the question cannot be used: Unresolved \$ref "#\/nowhere"/,
    )
  })
})
