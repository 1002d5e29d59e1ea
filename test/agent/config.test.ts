/** The options of an agent and its turns, and the refusals of all others. */
import { describe, expect, it } from 'vitest'
import { agentTool } from '../../src/agent/agent-tool.ts'
import { setUp } from '../../src/agent/config.ts'
import { limitsToStore, parseInput } from '../../src/agent/turn-options.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { probe } from '../turn/kit.ts'

const INFINITY = Number.POSITIVE_INFINITY
const model = new ScriptedModel([])
const refused = (message: string): unknown =>
  expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(message) })
const made = (config: object) => setUp({ contextId: 'talk', ...config })

describe('the config of an agent', () => {
  it.each([
    {},
    { model, whileBusy: undefined },
    { model: 'openai/gpt-4.1-mini' },
    { model: [model, { model: 'gpt-4.1', settings: { apiKey: 'k' } }] },
    { tools: [probe('look')], limits: { iterations: INFINITY, tokens: 0 } },
    { tools: () => [], systemPrompt: () => undefined, maxMessages: INFINITY },
  ])('may be %o', (config) => {
    expect(made(config).key.contextId).toBe('talk')
  })

  it.each([
    [{ modle: model }, 'The config of an agent has no "modle". Did you mean model?'],
    [{ whileBusy: 'stear' }, 'whileBusy must be queue, steer, interrupt or reject, not "stear".'],
    [
      { requestTtlMs: INFINITY },
      'requestTtlMs must be milliseconds, at most 100 years of them, not Infinity.',
    ],
    [{ requestTtlMs: -1 }, 'requestTtlMs must be a number from 1 on, not -1.'],
    [{ graceMs: Number.NaN }, 'graceMs must be a number from 0 on, not NaN.'],
    [{ maxClaims: 0 }, 'maxClaims must be a number from 1 on, not 0.'],
    [{ maxMessages: '5' }, 'maxMessages must be a number from 1 on, not "5".'],
    [{ leaseMs: 1.5 }, 'leaseMs must be whole milliseconds, at most a day, not 1.5.'],
    [{ tools: 'x' }, 'tools must be a list of tools, tools by name, or a function that gives them, not "x".'],
    [{ tools: [{ name: 'look' }] }, '"look" in the list of tools is no tool. Make it with defineTool().'],
    [{ model: null }, "model must be a name such as 'openai/gpt-4.1-mini'"],
    [{ model: {} }, "model must be a name such as 'openai/gpt-4.1-mini'"],
    [{ model: [] }, 'model must name at least one model.'],
    [
      {
        model: {
          specificationVersion: 'v2',
          provider: 'openai.chat',
          modelId: 'gpt-4.1',
          doStream: () => {},
        },
      },
      'has interface version "v2"; v3 and v4 are understood. Update the package it comes from: npm install @ai-sdk/openai@latest',
    ],
    [{ name: 5 }, 'name must be a text, not 5.'],
    [{ limits: null }, 'limits must be an object such as { tokens: 50_000 }, not null.'],
    [{ limits: { tokenz: 5 } }, 'limits has no "tokenz". Did you mean tokens?'],
    [{ systemPrompt: 5 }, 'systemPrompt must be a text, a path, promptFile() or a function, not 5.'],
    [{ settings: 'hot' }, 'settings must be an object, not "hot".'],
    [{ allow: true }, 'allow must be a function, not true.'],
    [{ credentials: {} }, 'credentials must be a function, not an object.'],
    [{ autoSave: 'no' }, 'autoSave must be true or false, not "no".'],
    [{ metadata: [] }, 'metadata must be an object, not a list.'],
  ])('may not be %o', (config, message) => {
    expect(() => made(config)).toThrow(refused(message))
  })

  it('is looked at where a sub-agent is defined', () => {
    const agent = { whileBusy: 'stear' } as never
    expect(() => agentTool({ name: 'sub', description: 'helps', agent })).toThrow(
      refused('whileBusy must be'),
    )
    expect(() => agentTool(null as never)).toThrow(refused('agentTool() takes { name, description, agent }'))
  })
})

describe('what one turn is given', () => {
  it('has limits that JSON can carry, and an infinite one is none', () => {
    const limits = limitsToStore({ tokens: 5, iterations: INFINITY, costUsd: undefined })
    expect(limits).toEqual({ tokens: 5, iterations: Number.MAX_SAFE_INTEGER })
  })

  it.each([{ iterations: -1 }, { tokens: 'many' }, { tokenz: 5 }, { iterations: Number.NaN }, null, [], 5])(
    'has no limits such as %j',
    (limits) => {
      expect(() => limitsToStore(limits)).toThrow(refused('limits'))
    },
  )

  it('is a message that says something', () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
    expect([parseInput('x'), parseInput([file])]).toEqual(['x', [file]])
    for (const empty of ['', ' ', [], [{ type: 'text' as const, text: ' ' }]])
      expect(() => parseInput(empty)).toThrow(refused('The message is empty.'))
    for (const wrong of [undefined, 5, {}])
      expect(() => parseInput(wrong as never)).toThrow(refused('A message must be a text'))
  })
})
