/** The text of a refusal: enough for the model to be right the next time. */
import { describe, expect, it } from 'vitest'
import {
  answeredId,
  entity,
  entityMap,
  judgeCall,
  lookupsOf,
  lookupTool,
  MemoryFacts,
  type MemoryFactsOptions,
  questionOf,
} from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { bench, calls, KEY } from '../turn/kit.ts'
import {
  active,
  bureau,
  champigny,
  ecole,
  entities,
  HOUR,
  judged,
  NOW,
  ONE_PROJECT,
  project,
  shown,
  task,
  wiring,
} from './kit.ts'

const list = shown([champigny, bureau, ecole])

async function refused(given: Json, facts: MemoryFactsOptions): Promise<JsonObject> {
  const result = await judged(given, facts)
  if (result.kind !== 'refused') throw new Error(`It is ${result.kind}.`)
  return result.output
}

describe('a refusal', () => {
  it('says why, what is chosen, what is near, and what to do, in words and as data', async () => {
    expect(await refused('proj-champigny-456', { active: [active(bureau)], batches: [list] })).toEqual({
      error: 'ungrounded',
      message:
        'Nothing was done. projectId: "proj-champigny-456" is no project id that any tool has shown or the person has given. The active project is Bureau (abc-456). Known: Champigny (abc-123). Use abc-123 if it is meant, else call find_project to find it. Never make up an id.',
      reason: 'unknown',
      entity: 'project',
      path: 'projectId',
      given: 'proj-champigny-456',
      active: { id: 'abc-456', label: 'Bureau' },
      near: [{ id: 'abc-123', label: 'Champigny' }],
      next: { do: 'use', ids: ['abc-123'], tool: 'find_project' },
    })
  })

  it.each([
    ['abc-124', { batches: [list] }, { near: [{ id: 'abc-123' }] }],
    ['zzz', { batches: [shown([ecole])] }, { next: { do: 'lookup', tool: 'find_project' } }],
    ['zzz', { batches: [list], userText: 'open Bureau' }, { next: { do: 'use', ids: ['abc-456'] } }],
    ['abc-776', { userText: 'open abc-777' }, { near: [{ id: 'abc-777' }], next: { do: 'use' } }],
    ['abc-120', { batches: [list] }, { near: [{ id: 'abc-123' }], next: { do: 'use', ids: ['abc-123'] } }],
    ['abc-450', { batches: [shown([bureau, { ...ecole, id: 'abc-457' }])] }, { next: { do: 'lookup' } }],
    ['zzz', {}, { next: { do: 'lookup', tool: 'find_project' } }],
    ['abc-456', { batches: [shown([bureau], 8 * HOUR)] }, { reason: 'expired', next: { do: 'lookup' } }],
    [
      'abc-456',
      { active: [active(champigny)], batches: [list] },
      { reason: 'not-active', next: { do: 'use', ids: ['abc-123'] } },
    ],
    [
      'def-456',
      { batches: [shown([wiring])] },
      { reason: 'wrong-kind', kindOf: 'task', next: { do: 'lookup' } },
    ],
    [
      '1 and 3',
      { batches: [list] },
      { reason: 'several', next: { do: 'one-by-one', ids: ['abc-123', 'abc-789'] } },
    ],
  ])('of %j leads on', async (given, facts: MemoryFactsOptions, output) => {
    expect(await refused(given, facts)).toMatchObject(output)
  })

  it('shows five near ones at most, and none that are too old', async () => {
    const many = Array.from({ length: 20 }, (_, at) => ({
      entity: 'project',
      id: `abc-1${at + 10}`,
      label: `Lot ${at}`,
    }))
    const output = await refused('abc-1', {
      batches: [shown([{ ...champigny, id: 'abc-100' }], 8 * HOUR), shown(many)],
    })
    expect(output['near']).toHaveLength(5)
    expect(JSON.stringify(output['near'])).not.toContain('abc-100')
  })
})

describe('advice', () => {
  const many = Array.from({ length: 600 }, (_, at) => ({
    entity: 'project',
    id: `abc-${at + 100}x${at}`,
    label: `Lot ${at}`,
  }))

  it('compares with all that was shown, not only with what was shown last', async () => {
    const first = { entity: 'project', id: 'first-thing-of-all', label: 'Piscine' }
    expect(await refused('first-thing-of-al', { batches: [shown([first, ...many])] })).toMatchObject({
      next: { do: 'use', ids: ['first-thing-of-all'] },
    })
  })

  it('is never to use something that is not like it', async () => {
    for (const given of ['zzz', 'order-5', '0', 'proj-nothing'])
      expect((await refused(given, { batches: [list] }))['next']).toEqual({
        do: 'lookup',
        tool: 'find_project',
      })
  })

  it('names the argument that takes the id, if it is of another kind', async () => {
    const parameters: JsonObject = {
      type: 'object',
      properties: {
        projectId: { type: 'string', ...project.id() },
        items: { type: 'array', items: { type: 'object', properties: { taskId: task.id() } } },
      },
    }
    const result = await judged({ projectId: 'def-456' }, { batches: [shown([wiring])] }, { parameters })
    expect(result.kind === 'refused' ? result.output : {}).toMatchObject({
      reason: 'wrong-kind',
      kindOf: 'task',
      argument: 'items[].taskId',
    })
    expect(JSON.stringify(result)).toContain('not of a project. It belongs in items[].taskId.')
  })

  it('names the tool that the entity says, if the turn has it', () => {
    const order = entity('order', { lookup: 'list_orders' })
    const tool = defineTool({
      name: 'list_orders',
      description: 'Lists orders.',
      input: jsonSchema({ type: 'object' }),
      run: () => [],
    })
    expect(lookupsOf([tool], entityMap([order]))).toEqual({ order: 'list_orders' })
    expect(lookupsOf([], entityMap([order]))).toEqual({})
    expect(lookupsOf([tool, lookupTool(order, () => [])], entityMap([order]))).toEqual({
      order: 'find_order',
    })
  })

  it('of an entity that only warns does not say that nothing was done', async () => {
    const lax = entity('thing', { policy: 'warn' })
    const use = defineTool({
      name: 'use',
      description: 'Uses a thing.',
      input: jsonSchema({ type: 'object', properties: { id: { type: 'string', ...lax.id() } } }),
      run: () => 'used',
    })
    const { agent, store } = bench({
      script: [calls(['use', { id: 'x' }]), 'Ok.'],
      tools: [use],
      entities: [lax],
    })
    await agent.input('Use it')
    const warning = (await store.read(KEY)).find(({ type }) => type === 'warning')
    expect(warning?.data['message']).toBe(
      'An id was used that is not grounded. id: "x" is no thing id that any tool has shown or the person has given. Ask the person which thing is meant. Never make up an id.',
    )
  })
})

describe('a model that follows the advice is right the next time', () => {
  /** Uses the suggested id, or calls the suggested tool. */
  async function recover(given: string, facts: MemoryFactsOptions, found = bureau): Promise<Json> {
    const output = await refused(given, facts)
    const next = output['next'] as { do: string; ids?: string[]; tool?: string }
    const batches = [...(facts.batches ?? [])]
    if (next.do === 'lookup') batches.push({ ...shown([found], 0, 99), isThisTurn: true })
    const args = { projectId: next.do === 'lookup' ? found.id : (next.ids?.[0] ?? '') }
    const again = await judgeCall(
      { parameters: ONE_PROJECT, args },
      { entities, facts: new MemoryFacts({ ...facts, batches }), now: NOW },
    )
    return again.kind === 'ok' ? again.args : again.kind
  }

  it.each([
    ['unknown, near', 'proj-bureau-9', { batches: [list] }, 'abc-456'],
    ['unknown, nothing near', 'proj-bureau-9', {}, 'abc-456'],
    ['expired', 'abc-456', { batches: [shown([bureau], 8 * HOUR)] }, 'abc-456'],
    ['not active', 'abc-456', { active: [active(champigny)], batches: [list] }, 'abc-123'],
    ['wrong kind', 'def-456', { batches: [shown([wiring])] }, 'abc-456'],
    ['several', '2 and 3', { batches: [list] }, 'abc-456'],
  ])('%s', async (...[, given, facts, id]) => {
    expect(await recover(given, facts as MemoryFactsOptions)).toEqual({ projectId: id })
  })
})

describe('a question', () => {
  it('shows labels with ids, in the language of the person, and its answer is an id', async () => {
    const twins = shown([bureau, { ...bureau, id: 'xyz-999' }])
    const result = await judged('Bureau', { batches: [twins] })
    const [asked] = result.kind === 'ask' ? result.asks : []
    if (asked === undefined) throw new Error('Nothing was asked.')
    expect(questionOf(asked, project)).toEqual({
      kind: 'choice',
      name: 'projectId',
      prompt: 'Which project do you mean?',
      options: ['Bureau (abc-456)', 'Bureau (xyz-999)'],
    })
    expect(questionOf(asked, project, { language: 'fr' }).prompt).toContain('Projet')
    expect(
      ['Bureau (xyz-999)', 'abc-456', 'Bureau', 'Champigny', 7].map((answer) => answeredId(asked, answer)),
    ).toEqual(['xyz-999', 'abc-456', undefined, undefined, undefined])
  })

  it('shows details instead of ids where they tell the things apart', async () => {
    const optionsOf = async (details: readonly (string | undefined)[]) => {
      const rows = details.map((detail, at) => ({ ...bureau, id: `id-${at}`, ...(detail && { detail }) }))
      const result = await judged('Bureau', { batches: [shown(rows)] })
      const [asked] = result.kind === 'ask' ? result.asks : []
      if (asked === undefined) throw new Error('Nothing was asked.')
      const { options } = questionOf(asked, project)
      return options.map((option) => [option, answeredId(asked, option)])
    }
    expect(await optionsOf(['Lyon', 'Nantes'])).toEqual([
      ['Bureau (Lyon)', 'id-0'],
      ['Bureau (Nantes)', 'id-1'],
    ])
    expect(await optionsOf(['Lyon', 'Lyon', 'Nantes', undefined])).toEqual([
      ['Bureau (id-0)', 'id-0'],
      ['Bureau (id-1)', 'id-1'],
      ['Bureau (Nantes)', 'id-2'],
      ['Bureau (id-3)', 'id-3'],
    ])
  })
})
