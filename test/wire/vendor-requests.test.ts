/** The requests that one call becomes. */
import { describe, expect, it } from 'vitest'
import { type ModelCall, toPrompt } from '../../src/model/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'

function callOf(text: string): ModelCall {
  return { prompt: toPrompt({ model: new ScriptedModel([]), messages: [{ role: 'user', content: text }] }) }
}

describe('the requests of a call', () => {
  it('are what the packages would send, one for each vendor', async () => {
    const call = callOf('hello')
    const before = structuredClone(call)
    const text = { type: 'text', text: 'hello' }
    expect(await vendorRequests(call)).toEqual([
      {
        vendor: 'anthropic',
        body: expect.objectContaining({ messages: [{ role: 'user', content: [text] }], stream: true }),
      },
      {
        vendor: 'openai-chat',
        body: expect.objectContaining({ messages: [{ role: 'user', content: 'hello' }], stream: true }),
      },
      {
        vendor: 'openai-responses',
        body: expect.objectContaining({
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'hello' }] }],
          store: false,
        }),
      },
      {
        vendor: 'google',
        body: expect.objectContaining({ contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }),
      },
    ])
    expect(call).toEqual(before)
  })

  it('are made only for those who are asked for', async () => {
    const requests = await vendorRequests(callOf('hello'), ['google', 'anthropic'])
    expect(requests.map(({ vendor }) => vendor)).toEqual(['google', 'anthropic'])
  })

  it('are not mixed up when many are made at once', async () => {
    const texts = Array.from({ length: 50 }, (_, at) => `hello number ${at};`)
    const all = await Promise.all(texts.map((text) => vendorRequests(callOf(text))))
    const found = all.map((requests) => new Set(JSON.stringify(requests).match(/hello number \d+;/g)))
    expect(found).toEqual(texts.map((text) => new Set([text])))
  })

  it('are refused in the words of the package that cannot say it', async () => {
    const file = { type: 'file', mediaType: 'audio/x-strange', data: { type: 'data', data: 'aGk=' } }
    const call: ModelCall = { prompt: [{ role: 'user', content: [file] }] }
    await expect(vendorRequests(call, ['anthropic'])).rejects.toThrow(/media type: audio\/x-strange/)
  })
})
