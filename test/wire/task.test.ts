/** The task agent with each vendor's real package: legal requests throughout, and none above maxContextTokens. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { TaskAgent } from '../../src/entry/flows.ts'
import { defineTool } from '../../src/index.ts'
import { type Step, WireServer } from './server.ts'
import { named, SPEAKERS } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())
beforeEach(() => wire.reset())
afterEach(() => wire.settle())

const MOST = 4000
const CJK = '机器学习模型需要很多数据'
const TEXTS: Readonly<Record<string, string>> = {
  huge: `BEGIN ${'The cat sat on the mat and looked at the moon. '.repeat(1000)} END`,
  dense: `BEGIN ${CJK.repeat(800)} END`,
  middle: `BEGIN ${'Some words of a page. '.repeat(60)} END`,
}

const read = defineTool({
  name: 'read',
  description: 'Reads a text.',
  input: z.object({ name: z.string(), note: z.string().optional() }),
  run: ({ name }) => TEXTS[name] ?? 'nothing',
})

let ids = 0
const call = (tool: string, args: object) => ({ id: `id-${++ids}`, tool, args })
const reads = (...names: readonly string[]): Step => ({ calls: names.map((name) => call('read', { name })) })
const done = (result: string): Step => ({ calls: [call('attempt_completion', { result })] })
const verdict = (verified: boolean): Step => ({
  text: JSON.stringify({ verified, unmet: verified ? [] : ['more'], evidence: ['step 3'] }),
})

/** Every text of a request, as a vendor counts them: without the punctuation of JSON. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Array.isArray(value)
    ? value.flatMap(textsIn)
    : Object.entries(value).flatMap(([key, each]) => [key, ...textsIn(each)])
}

const sizes = (): readonly number[] => wire.asked.map(({ body }) => countTokens(textsIn(body).join(' ')))

describe.each(SPEAKERS)('%s', (speaker) => {
  it('carries out a task: every request is legal, and the newest results are in it', async () => {
    wire.reset(
      { text: '1. Read.\n2. Report.' },
      reads('middle', 'unknown'),
      { text: 'I think so.' },
      done('Half.'),
      verdict(false),
      { text: '1. Read more.' },
      { ...reads('middle'), text: 'Once more.' },
      done('Whole.'),
      { text: 'Looks fine.' },
      verdict(true),
    )
    const agent = new TaskAgent({ model: named(wire, speaker), tools: [read], verbose: false })
    const results = await agent.run('Read the texts')
    expect(results).toMatchObject({ ended: 'verified', finalAnswer: 'Whole.', planIteration: 2 })
    expect(wire.problems).toEqual([])
  })

  it('stays below maxContextTokens, whatever the tools return and the model writes', async () => {
    const long = 'A long plan. '.repeat(1500)
    wire.reset(
      { text: long },
      reads('huge'),
      reads('dense'),
      reads(...Array.from({ length: 12 }, () => 'middle')),
      { calls: [call('read', { name: 'middle', note: 'word '.repeat(8000) })] },
      { ...reads('middle'), text: long },
      reads('middle'),
      done(`BEGIN ${'All is done. '.repeat(1500)} END`),
      verdict(false),
      { text: long },
      reads('huge', 'dense'),
      done('Short.'),
      verdict(true),
    )
    const agent = new TaskAgent({
      model: named(wire, speaker),
      tools: [read],
      verbose: false,
      maxContextTokens: MOST,
    })
    const results = await agent.run('Read the texts')
    expect([results.ended, results.reason]).toEqual([
      'verified',
      'Verified by a model; no criterion was run.',
    ])
    expect(wire.problems).toEqual([])
    expect(Math.max(...sizes())).toBeLessThan(MOST)
    // The reply to a huge result is made with its beginning and its end in sight.
    const after = JSON.stringify(wire.asked[2]?.body)
    expect([after.includes('BEGIN The cat'), after.includes('moon.  END')]).toEqual([true, true])
    const dense = JSON.stringify(wire.asked[3]?.body)
    expect([dense.includes(`BEGIN ${CJK}`), dense.includes(`${CJK} END`)]).toEqual([true, true])
    const several = JSON.stringify(wire.asked[4]?.body)
    expect(several.match(/BEGIN Some/g)?.length).toBeGreaterThanOrEqual(12)
  })
})
