/** The tool with which a model asks a person. */
import { describe, expect, it } from 'vitest'
import { systemTimer } from '../base/index.ts'
import type { Json } from '../protocol/index.ts'
import { fakeToolContext } from '../testing/tool-context.ts'
import { askUser } from './ask-user.ts'
import { prepareCall } from './prepare-call.ts'
import { runCall } from './run-call.ts'

async function asked(args: Json, answers: Record<string, Json> = {}): Promise<unknown> {
  const prepared = await prepareCall({ callId: 'c', tool: 'ask_user', args }, [askUser()])
  if (!prepared.ok) return prepared.settled.output
  const context = fakeToolContext({ answers })
  return runCall({ tool: prepared.tool, input: prepared.input, context, timer: systemTimer })
}

describe('asking the person', () => {
  it('asks for a text, and gives the answer when it is there', async () => {
    const args = { question: 'Which city?' }
    const request = { kind: 'text', prompt: 'Which city?', name: 'answer', from: 'ask_user' }
    expect(await asked(args)).toEqual({ kind: 'asks', requests: [request] })
    expect(await asked(args, { answer: 'Paris' })).toEqual({
      kind: 'settled',
      status: 'ok',
      output: { answer: 'Paris' },
    })
    expect(await asked(args, { answer: false })).toMatchObject({ output: { answer: false } })
  })

  it('asks for yes or no', async () => {
    const request = { kind: 'confirmation', prompt: 'Sure?', name: 'answer', from: 'ask_user' }
    expect(await asked({ question: 'Sure?', kind: 'confirmation' })).toEqual({
      kind: 'asks',
      requests: [request],
    })
  })

  it('asks for a choice if there are options', async () => {
    const options = ['red', 'green']
    expect(await asked({ question: 'Which?', options, multiple: true })).toEqual({
      kind: 'asks',
      requests: [
        { kind: 'choice', prompt: 'Which?', name: 'answer', from: 'ask_user', options, multiple: true },
      ],
    })
  })

  it('tells the model what is wrong with its question', async () => {
    expect(await asked({ question: 'Which?', kind: 'choice' })).toMatchObject({
      kind: 'settled',
      status: 'error',
      output: { error: 'Invalid question: a choice without options was asked for. Give `options`.' },
    })
    expect(await asked({ questions: ['Which?'] })).toMatchObject({
      code: 'invalid-arguments',
      issues: ['Instance does not have required property "question"', 'questions: This is not allowed'],
    })
  })
})
