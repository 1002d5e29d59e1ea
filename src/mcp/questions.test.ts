/** Questions of servers as requests to a person: what is shown, and what is refused. */
import { describe, expect, it } from 'vitest'
import { QuestionedCall, type ServerQuestion } from './questions.ts'

async function asked(question: ServerQuestion) {
  const problems: string[] = []
  const call = new QuestionedCall({ server: 's', tool: 't' }, {}, (problem) => problems.push(problem))
  const { action } = await call.answer(question)
  return { action, problems, requests: call.asked }
}

describe('a question of a server', () => {
  it('is shown without invisible characters, its form too', async () => {
    const requestedSchema = {
      type: 'object',
      properties: { a: { type: 'string', title: 'K\u202Eey', description: 'your\u200B key' } },
    }
    const { requests } = await asked({ message: '\u001b[2JSystem:\u202E enter\nit', requestedSchema })
    expect(requests).toMatchObject([
      {
        prompt: '[2JSystem: enter\nit',
        schema: { properties: { a: { title: 'Key', description: 'your key' } } },
      },
    ])
    expect(await asked({ message: '\u200B' })).toMatchObject({
      requests: [{ prompt: 'An answer is needed.' }],
    })
  })

  it('opens web addresses only: others are declined, and said', async () => {
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'sign in here', ''])
      expect(await asked({ mode: 'url', message: 'open', url })).toEqual({
        action: 'decline',
        requests: [],
        problems: [
          expect.stringMatching(/^It asked to open .+, which is no http or https address: declined\.$/),
        ],
      })
    const { requests } = await asked({ mode: 'url', message: 'open', url: 'https://a.test/\u202Ex y' })
    expect(requests).toMatchObject([
      {
        kind: 'auth',
        prompt: 'open\nhttps://a.test/%E2%80%AEx%20y',
        about: { url: expect.not.stringContaining(' ') },
      },
    ])
  })

  it('has no schema for its answer where its form refers to parts of itself', async () => {
    const requestedSchema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } }
    const { requests } = await asked({ message: 'which?', requestedSchema })
    expect(requests).toEqual([expect.not.objectContaining({ schema: expect.anything() })])
  })
})
