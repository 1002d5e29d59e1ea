/**
 * Generated schemas against a model that breaks the format in every way: the output fits, or the failure says why. A
 * fitting reply is never returned, a broken one never taken.
 */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Agent, HoldfastError, type Json, llmDo, type StandardSchema } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { type BrokenReply, WAYS } from './broken-replies.ts'
import { fits, type Library, outputOf, type Shape, schemaOf, shapes, valuesOf } from './generated-schemas.ts'

const SCHEMAS = Number(process.env['HOLDFAST_RUNS'] ?? 60)
const SEED = process.env['HOLDFAST_SEED']
const RUNS = { numRuns: SCHEMAS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) }

interface Case {
  readonly shape: Shape
  readonly library: Library
  readonly value: Json
  readonly other: Json
  readonly picks: readonly number[]
  readonly schema: StandardSchema
}

const cases: fc.Arbitrary<Omit<Case, 'schema'>> = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    library: fc.constantFrom<Library>('zod', 'json-schema'),
    // As JSON has it: without negative zeros.
    value: valuesOf(shape).map(copyOf),
    other: valuesOf(shape).map(copyOf),
    picks: fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
  }),
)

/** Made once a case, and not part of it: a counterexample shows the shape. */
function withSchema(one: Omit<Case, 'schema'>): Case {
  return { ...one, schema: schemaOf(one.shape, one.library) }
}

function copyOf(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

function picking(picks: readonly number[]): (most: number) => number {
  let at = 0
  return (most) => (picks[at++ % picks.length] ?? 0) % Math.max(1, most)
}

interface Judged {
  readonly output?: Json
  readonly text: string
  readonly calls: number
  /** The reasons of a failure. */
  readonly issues?: Json | undefined
}

type Ask = (replies: readonly BrokenReply[], schema: StandardSchema) => Promise<Judged>

function scripted(replies: readonly BrokenReply[]): ScriptedModel {
  return new ScriptedModel(replies.map(({ text, finish = 'stop' }) => ({ text, finish })))
}

const byLlmDo: Ask = async (replies, schema) => {
  const model = scripted(replies)
  try {
    const { output, text } = await llmDo('go', { model, schema, outputRetries: replies.length - 1 })
    return { output: output as Json, text, calls: model.calls.length }
  } catch (error) {
    if (!HoldfastError.is(error, 'invalid-output')) throw error
    const { text, issues } = error.details
    return { text: text as string, calls: model.calls.length, issues }
  }
}

const byAgent: Ask = async (replies, schema) => {
  const model = scripted(replies)
  const agent = new Agent({ contextId: 'c', model, outputRetries: replies.length - 1 })
  const { output, text, error, status } = await agent.executeTurn('go', { output: schema }).outcome
  const calls = model.calls.length
  if (status === 'completed') return { output: output as Json, text, calls }
  return { text, calls, issues: error?.code === 'invalid-output' ? error['issues'] : undefined }
}

/** Asks with one broken reply and a good one, then with broken ones only. Returns what is wrong with the results. */
async function wrongIn(ask: Ask, way: string, one: Case): Promise<readonly string[]> {
  const { shape, library, value, other, picks, schema } = one
  const broken = WAYS[way]?.({ value, other, pick: picking(picks) }) as BrokenReply
  const corrected = await ask([broken, { text: JSON.stringify(value), value }], schema)
  const failed = await ask([broken, broken], schema)
  const isTaken = corrected.calls === 1
  const isFit = broken.value !== undefined && fits(shape, broken.value)
  const isOutput = (given: Json) => isDeepStrictEqual(corrected.output, outputOf(shape, given, library))
  const claims = {
    'the output does not fit': fits(shape, corrected.output),
    'it is taken once and not the other time': 'output' in failed === isTaken,
    'a taken reply is not the last': failed.calls === (isTaken ? 1 : 2),
    'the failure has no reasons': isTaken || (Array.isArray(failed.issues) && failed.issues.length > 0),
    'the failure has another text': isTaken || failed.text.trim() === broken.text.trim(),
    'the corrected reply is not the output': isTaken || isOutput(value),
    'it is taken and does not fit, or returned and does': broken.isUnclear || isTaken === isFit,
    'the broken reply is not the output': broken.isUnclear || !isTaken || isOutput(broken.value as Json),
  }
  return Object.entries(claims).flatMap(([wrong, holds]) => (holds ? [] : [`${way}: ${wrong}`]))
}

it(`${SCHEMAS} schemas, each with replies broken in every way`, async () => {
  const law = fc.asyncProperty(cases, async (one) => {
    const known = withSchema(one)
    for (const way of Object.keys(WAYS)) expect(await wrongIn(byLlmDo, way, known)).toEqual([])
  })
  await fc.assert(law, RUNS)
})

it(`${SCHEMAS} schemas in turns of agents, with replies broken in any way`, async () => {
  const ways = fc.constantFrom(...Object.keys(WAYS))
  const law = fc.asyncProperty(cases, ways, async (one, way) => {
    expect(await wrongIn(byAgent, way, withSchema(one))).toEqual([])
  })
  await fc.assert(law, RUNS)
})
