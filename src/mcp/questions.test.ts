/** Questions of servers as requests to a person: what is shown, and what is refused. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { QuestionedCall, Questions, type ServerQuestion } from './questions.ts'

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

const SURE: ServerQuestion = { message: 'Sure?' }
const OPEN = new AbortController().signal

/** A running call that ends when it is told to, with an answer of the server or without. */
function started(questions: Questions, answers: Record<string, Json> = {}) {
  const call = new QuestionedCall({ server: 's', tool: 't' }, answers, () => {})
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const work = (): Promise<void> => {
    begun.resolve()
    return promise
  }
  const ended = questions.during(call, OPEN, work)
  const end = async (isAnswered: boolean): Promise<void> => {
    call.isAnswered = isAnswered
    resolve()
    await ended
  }
  return { call, end, begun: begun.promise }
}

/** Questions from outside of every call, as over the pipe of an older server. */
async function together() {
  const questions = new Questions()
  const [asker, other] = [started(questions), started(questions)]
  await Promise.all([asker.begun, other.begun])
  return { questions, asker, other }
}

describe('a question that does not say which call it belongs to', () => {
  it('waits until every running call asks', async () => {
    const { questions, asker, other } = await together()
    const answer = questions.answer(SURE, OPEN)
    await other.end(true)
    expect(await answer).toEqual({ action: 'cancel' })
    expect(asker.call.asked).toMatchObject([{ prompt: 'Sure?' }])
  })

  it('stops no other call when its own ends without an answer', async () => {
    const { questions, asker, other } = await together()
    const answer = questions.answer(SURE, OPEN)
    await asker.end(false)
    expect(await answer).toEqual({ action: 'cancel' })
    expect(other.call).toMatchObject({ asked: [], stopped: { aborted: false } })
  })

  it('stops no call after the server has withdrawn it', async () => {
    const { questions, asker, other } = await together()
    const withdrawn = new AbortController()
    const answer = questions.answer(SURE, withdrawn.signal)
    withdrawn.abort()
    expect(await answer).toEqual({ action: 'cancel' })
    await asker.end(true)
    expect(other.call).toMatchObject({ asked: [], stopped: { aborted: false } })
  })

  it('belongs to no call where servers do say it', async () => {
    const { questions, asker, other } = await together()
    questions.nameTheirCall = true
    expect(await questions.answer(SURE, OPEN)).toEqual({ action: 'cancel' })
    await asker.end(true)
    expect(other.call.asked).toEqual([])
  })

  it('gets the answer that a person gave for its call: calls with answers run alone', async () => {
    const questions = new Questions()
    const { requests } = await asked(SURE)
    const answersOf = (answer: Json) => ({ [requests[0]?.name ?? '']: answer })
    const others = started(questions)
    const yes = started(questions, answersOf(true))
    const no = started(questions, answersOf(false))
    const cancelled = new AbortController()
    const call = new QuestionedCall({ server: 's', tool: 't' }, answersOf(true), () => {})
    const never = questions.during(call, cancelled.signal, () => Promise.reject(new Error('It was sent.')))
    cancelled.abort(new Error('cancelled'))
    await expect(never).rejects.toThrow('cancelled')
    await others.begun
    await others.end(true)
    await yes.begun
    expect(await questions.answer(SURE, OPEN)).toMatchObject({ action: 'accept' })
    await yes.end(true)
    await no.begun
    expect(await questions.answer(SURE, OPEN)).toEqual({ action: 'decline' })
    await no.end(true)
  })

  it('holds up no call that is cancelled before its turn, and loses no turn by it', async () => {
    const questions = new Questions()
    const running = started(questions)
    await running.begun
    const alone = started(questions, { 'elicit-1': true })
    const cancelled = new AbortController()
    const call = new QuestionedCall({ server: 's', tool: 't' }, {}, () => {})
    const never = questions.during(call, cancelled.signal, () => Promise.reject(new Error('It was sent.')))
    const last = started(questions)
    cancelled.abort(new Error('cancelled'))
    await expect(never).rejects.toThrow('cancelled')
    await running.end(true)
    await alone.begun
    await alone.end(true)
    await last.begun
    await last.end(true)
  })
})
