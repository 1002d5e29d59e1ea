/** What the embedded model does after a call was refused because of an id: what the refusal says, or ask. */
import { describe, expect, it } from 'vitest'
import type { GroundingContext, PromptMessage, PromptPart } from '../../src/model/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { tool } from './kit.ts'

const kiln = { type: 'string', 'x-entity': 'kiln' }
const tools = [
  tool('list_kilns', 'Lists all kilns.'),
  tool('find_kiln', 'Finds a kiln by its name.', { 'name!': { type: 'string' } }),
  tool('heat_kiln', 'Heats a kiln.', { 'kilnId!': kiln }),
]

const KNOWN: GroundingContext = {
  entities: { kiln: { called: { en: 'kiln' }, one: ['kiln'], many: ['kilns'] } },
  seen: {
    c1: [
      { entity: 'kiln', id: 'k-1', label: 'North' },
      { entity: 'kiln', id: 'k-2', label: 'South' },
    ],
  },
  active: [],
  lookups: { kiln: 'find_kiln' },
  memoryTurns: 3,
}

function called(id: string, name: string, input: JsonObject): PromptMessage {
  return {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: id, toolName: name, input }],
  }
}

function result(id: string, name: string, output: PromptPart['output']): PromptMessage {
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: id, toolName: name, output } as PromptPart],
  }
}

const LISTED: readonly PromptMessage[] = [
  { role: 'user', content: [{ type: 'text', text: 'List the kilns' }] },
  called('c1', 'list_kilns', {}),
  result('c1', 'list_kilns', { type: 'json', value: [] }),
  { role: 'assistant', content: [{ type: 'text', text: 'North, South' }] },
]

interface Next {
  readonly do: string
  readonly ids?: readonly string[]
  readonly tool?: string
}

/** The next step after `heat the kiln …` was called with an id and refused. */
async function after(
  { given, reason, next }: { readonly given: string; readonly reason: string; readonly next: Next },
  more: readonly PromptMessage[] = [],
  known: GroundingContext = KNOWN,
): Promise<readonly string[]> {
  const value = { error: 'ungrounded', message: 'No.', reason, entity: 'kiln', path: 'kilnId', given, next }
  const prompt = [
    ...LISTED,
    { role: 'user', content: [{ type: 'text', text: 'Heat the kiln South' }] } as const,
    called('c2', 'heat_kiln', { kilnId: given }),
    result('c2', 'heat_kiln', { type: 'error-json', value }),
    ...more,
  ]
  const { content } = await reflex().doGenerate({
    prompt,
    tools,
    providerOptions: { holdfast: known as unknown as JsonObject },
  })
  return content.map((part) => (part.type === 'text' ? part.text : `${part.toolName} ${part.input}`))
}

describe('a refused id', () => {
  it('is replaced by the one that the refusal says to use', async () => {
    const refusal = { given: 'k-2x', reason: 'unknown', next: { do: 'use', ids: ['k-2'] } }
    expect(await after(refusal)).toEqual(['heat_kiln {"kilnId":"k-2"}'])
  })

  it('is asked about if there are several to use', async () => {
    const [text] = await after({ given: 'k', reason: 'unknown', next: { do: 'use', ids: ['k-1', 'k-2'] } })
    expect(text).toMatch(/^Which kiln\?[\s\S]*1\. North \(k-1\)\n2\. South \(k-2\)/)
  })

  it('is looked up by the name of the thing, then used again', async () => {
    const refusal = { given: 'k-2', reason: 'expired', next: { do: 'lookup', tool: 'find_kiln' } }
    expect(await after(refusal)).toEqual(['find_kiln {"name":"South"}'])
    const known = { ...KNOWN, seen: { ...KNOWN.seen, c3: [{ entity: 'kiln', id: 'k-9', label: 'South' }] } }
    const found = [
      called('c3', 'find_kiln', { name: 'South' }),
      result('c3', 'find_kiln', { type: 'json', value: { outcome: 'exact', id: 'k-9', label: 'South' } }),
    ]
    expect(await after(refusal, found, known)).toEqual(['heat_kiln {"kilnId":"k-9"}'])
  })

  it('is asked for if looking it up found none', async () => {
    const refusal = { given: 'k-2', reason: 'expired', next: { do: 'lookup', tool: 'find_kiln' } }
    const nothing = [
      called('c3', 'find_kiln', { name: 'South' }),
      result('c3', 'find_kiln', { type: 'json', value: { outcome: 'none' } }),
    ]
    expect((await after(refusal, nothing))[0]).toMatch(/Which one do you mean\?$/)
  })

  it('of several is called once for each', async () => {
    const next = { do: 'one-by-one', ids: ['k-1', 'k-2'] }
    expect(await after({ given: '1 and 2', reason: 'several', next })).toEqual([
      'heat_kiln {"kilnId":"k-1"}',
      'heat_kiln {"kilnId":"k-2"}',
    ])
  })

  it('is asked for if the refusal says so', async () => {
    expect((await after({ given: 'k-2', reason: 'unknown', next: { do: 'ask' } }))[0]).toMatch(
      /Which one do you mean\?$/,
    )
  })

  it('does not become the chosen one if the person named another', async () => {
    const next = { do: 'use', ids: ['k-1'], tool: 'find_kiln' }
    expect(await after({ given: 'k-2', reason: 'not-active', next })).toEqual(['find_kiln {"name":"South"}'])
  })

  it('that is refused again is told, and not tried for ever', async () => {
    const refusal = { given: 'k-2', reason: 'expired', next: { do: 'lookup', tool: 'find_kiln' } }
    const value = {
      ...{ error: 'ungrounded', message: 'Still no.', entity: 'kiln', path: 'kilnId' },
      ...refusal,
    }
    const again = [
      called('c3', 'find_kiln', { name: 'South' }),
      result('c3', 'find_kiln', { type: 'json', value: { outcome: 'exact', id: 'k-2', label: 'South' } }),
      called('c4', 'heat_kiln', { kilnId: 'k-2' }),
      result('c4', 'heat_kiln', { type: 'error-json', value }),
    ]
    const known = { ...KNOWN, seen: { ...KNOWN.seen, c3: [{ entity: 'kiln', id: 'k-2', label: 'South' }] } }
    expect((await after(refusal, again, known))[0]).toMatch(/^heat_kiln did not work: [\s\S]*Still no\./)
  })
})
