/** When Claude may reason. */
import { describe, expect, it } from 'vitest'
import type { ModelCall, PromptMessage, PromptPart } from './language-model.ts'
import { adaptCall } from './vendors.ts'

const asked: PromptMessage = { role: 'user', content: [{ type: 'text', text: 'well?' }] }
const results: PromptMessage = { role: 'tool', content: [{ type: 'tool-result' }] }
const call: PromptPart = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }
const signed: PromptPart = {
  type: 'reasoning',
  text: 'hm',
  providerOptions: { anthropic: { signature: 's' } },
}
const said = (...content: PromptPart[]): PromptMessage => ({ role: 'assistant', content })

function thinking(more: Partial<ModelCall>): ModelCall {
  return adaptCall('vertex.anthropic.messages', {
    prompt: [asked, said(call), results],
    reasoning: 'high',
    ...more,
  })
}

const OFF = { anthropic: { thinking: { type: 'disabled' } } }

describe('a turn that began without a thought of this model', () => {
  it('goes on without thinking, however it was asked for', () => {
    expect(thinking({})).toMatchObject({ providerOptions: OFF })
    expect(thinking({})).not.toHaveProperty('reasoning')
    const wanted = {
      anthropic: { effort: 'low', thinking: { type: 'enabled', budgetTokens: 2000 } },
      other: { a: 1 },
    }
    expect(thinking({ providerOptions: wanted }).providerOptions).toEqual({
      anthropic: { effort: 'low', thinking: { type: 'disabled' } },
      other: { a: 1 },
    })
  })

  it('is one also where the thought was not signed, or came later', () => {
    const { providerOptions: _, ...unsigned } = signed
    expect(thinking({ prompt: [asked, said(unsigned, call), results] })).toMatchObject({
      providerOptions: OFF,
    })
    const later = [asked, said(call), results, said(signed, call), results]
    expect(thinking({ prompt: later })).toMatchObject({ providerOptions: OFF })
  })
})

describe('a call is left as it is', () => {
  it.each<[string, Partial<ModelCall>, string?]>([
    ['by another vendor', {}, 'openai.chat'],
    ['where nobody wants thinking', { reasoning: 'none' }],
    ['where the model decides', { providerOptions: { anthropic: { thinking: { type: 'adaptive' } } } }],
    ['at the beginning of a turn', { prompt: [asked, said(call), results, asked] }],
    [
      'in a turn that began with a thought',
      { prompt: [asked, said(signed, call), results, said(call), results] },
    ],
  ])('%s', (_, more, provider) => {
    const before: ModelCall = { prompt: [asked, said(call), results], reasoning: 'high', ...more }
    expect(adaptCall(provider ?? 'anthropic.messages', before)).toBe(before)
  })
})
