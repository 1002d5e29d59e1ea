/** Structured output with each vendor's real package, against a server that is as strict as the vendor. */
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { HoldfastError, type Json, llmDo } from '../../src/index.ts'
import type { Speaker, Step } from '../wire/server.ts'
import { WireServer } from '../wire/server.ts'
import { named, SPEAKERS, talk } from '../wire/talk.ts'
import { type BrokenReply, WAYS } from './broken-replies.ts'
import { fits, type Library, schemaOf, shapes, valuesOf } from './generated-schemas.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => wire.reset())
afterEach(() => wire.settle())

const weather = z.object({ city: z.string(), degrees: z.number() })
const output = { city: 'Rome', degrees: 21 }
const VALID: Step = { text: JSON.stringify(output) }
const call = { id: 'w1', tool: 'weather', args: { city: 'Rome' } }

/** JSON mode on the wire, with and without tools. */
const JSON_MODE: Readonly<Record<Speaker, readonly [alone: unknown, besideTools: unknown]>> = {
  anthropic: [undefined, undefined],
  'openai-responses': [{ type: 'json_object' }, { type: 'json_object' }],
  'openai-chat': [{ type: 'json_object' }, { type: 'json_object' }],
  google: ['application/json', undefined],
  compatible: [undefined, undefined],
}

function jsonModes(): unknown[] {
  return wire.asked.map(({ body }) => {
    const { response_format, text, generationConfig } = body as Record<string, Record<string, unknown>>
    return response_format ?? text?.['format'] ?? generationConfig?.['responseMimeType']
  })
}

describe.each(SPEAKERS)('%s', (speaker) => {
  const [alone, besideTools] = JSON_MODE[speaker]

  it('an invalid reply is returned, and the corrected one is the output', async () => {
    wire.reset({ text: 'It is 21 degrees in Rome.' }, { text: '{"city":"Rome"}' }, VALID)
    const agent = talk({ tools: [] }).with(named(wire, speaker), { output: weather })
    const outcome = await agent.executeTurn('weather?').outcome
    expect([outcome.reason, outcome.output]).toEqual(['stop', output])
    expect(outcome.usage).toMatchObject({ inputTokens: 60, outputTokens: 15 })
    expect(jsonModes()).toEqual([alone, alone, alone])
    const [first = '', , last = ''] = wire.asked.map(({ body }) => JSON.stringify(body))
    expect(first).toContain('fits this JSON Schema')
    expect(last).toContain('degrees: Invalid input: expected number, received undefined')
  })

  it('beside tools, with a thought and a text next to the calls', async () => {
    const step: Step = { thought: 'I have to look.', text: 'One moment.', calls: [call] }
    wire.reset(step, { text: 'Sunny.' }, VALID, { text: 'Hello.' })
    const { with: agentWith } = talk()
    const agent = agentWith(named(wire, speaker))
    const outcome = await agent.executeTurn('weather?', { output: weather }).outcome
    expect([outcome.reason, outcome.output]).toEqual(['stop', output])
    expect(jsonModes()).toEqual([besideTools, besideTools, besideTools])
    const next = await agent.executeTurn('hi').outcome
    expect([next.text, next.output]).toEqual(['Hello.', undefined])
    expect(jsonModes().at(-1)).toBe(undefined)
  })

  it('a reply that is cut off is no output', async () => {
    wire.reset({ ...VALID, isCutOff: true }, { text: '{"city":"Ro', isCutOff: true })
    const work = llmDo('weather?', { model: named(wire, speaker), schema: weather, outputRetries: 1 })
    const error: unknown = await work.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'invalid-output',
      details: { text: '{"city":"Ro', issues: ['The reply was cut off before its end; be shorter'] },
    })
  })

  it('JSON mode can be switched on and off', async () => {
    wire.reset(VALID, VALID)
    for (const jsonMode of [true, false])
      await llmDo('weather?', { model: named(wire, speaker, { jsonMode }), schema: weather })
    // Anthropic has none, and its package leaves it out.
    const on = speaker === 'google' ? 'application/json' : { type: 'json_object' }
    expect(jsonModes()).toEqual([speaker === 'anthropic' ? undefined : on, undefined])
  })
})

const SCHEMAS = Number(process.env['HOLDFAST_RUNS'] ?? 60)

it(`${SCHEMAS} schemas over all of them, with replies broken in any way`, async () => {
  const law = fc.asyncProperty(
    broken,
    fc.constantFrom(...SPEAKERS),
    fc.boolean(),
    async (one, speaker, isCorrected) => {
      const good = { text: JSON.stringify(one.value), value: one.value }
      const replies = [one.reply, isCorrected ? good : one.reply]
      expect(await wrongIn({ ...one, replies }, speaker)).toEqual([])
    },
  )
  await fc.assert(law, { numRuns: SCHEMAS })
})

const broken = shapes.chain((shape) => {
  const values = valuesOf(shape).map((value) => JSON.parse(JSON.stringify(value)) as Json)
  return fc.record({
    shape: fc.constant(shape),
    library: fc.constantFrom<Library>('zod', 'json-schema'),
    value: values,
    reply: fc
      .record({ value: values, other: values, way: fc.constantFrom(...Object.values(WAYS)), pick: fc.nat() })
      .map(({ value, other, way, pick }) => way({ value, other, pick: (most) => pick % Math.max(1, most) })),
  })
})

type Case = Parameters<Parameters<typeof broken.map>[0]>[0] & { readonly replies: readonly BrokenReply[] }

/** What is wrong with the end of these replies: the output fits, or the failure has the last text and its reasons. */
async function wrongIn({ shape, library, replies }: Case, speaker: Speaker): Promise<readonly string[]> {
  // A filter has no form that all vendors share.
  const sent = replies.map((each) => (each.finish === 'content-filter' ? { ...each, text: 'No.' } : each))
  wire.reset(...sent.map(({ text, finish }) => ({ text, isCutOff: finish === 'length' })))
  try {
    const result = await llmDo('go', {
      model: named(wire, speaker),
      schema: schemaOf(shape, library),
      outputRetries: 1,
    })
    const asked = wire.asked.length
    wire.script = []
    if (!fits(shape, result.output as Json)) return [`${speaker} gives ${JSON.stringify(result.output)}`]
    return result.text === sent[asked - 1]?.text ? [] : [`${speaker} has another text: ${result.text}`]
  } catch (error) {
    if (!HoldfastError.is(error, 'invalid-output')) throw error
    const { text, issues } = error.details
    const last = sent[1] as BrokenReply
    const isFit = !last.isUnclear && last.value !== undefined && fits(shape, last.value)
    const isTold = (text as string).trim() === last.text.trim() && (issues as string[]).length > 0
    return isFit || !isTold ? [`${speaker} fails with ${JSON.stringify(error)}`] : []
  }
}
