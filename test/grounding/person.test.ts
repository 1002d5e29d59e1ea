/** A person's selections hold in all conversations with that person, and in no others (R20). */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/grounding/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, promptLines, STORES } from '../turn/kit.ts'

const project = entity('project', { ttl: '7h', scope: 'actor' })
const note = entity('note')
const entities = [project, note]

const choose = defineTool({
  name: 'choose',
  description: 'Chooses a project.',
  input: z.object({ name: z.string() }),
  run: ({ name }) => ({ id: `id-of-${name}`, name }),
  selects: ({ id, name }) => [project.select(id, { label: name })],
})
const chosen = (name: string) => `Active project: ${name} (ID: id-of-${name})`

describe.each(STORES)('what is chosen, on %s', (_name, open) => {
  it('by a tool in one conversation is known in the next one of the same person', async () => {
    const script = [calls(['choose', { name: 'Oslo' }]), 'Chosen.', 'Yes.']
    const { agent, another, model } = bench({ store: open(), script, tools: [choose], entities })
    await agent.input('Oslo')
    const next = another({ contextId: 'next' })
    await next.input('Which one?')
    expect(promptLines(model, 2).at(-1)).toContain(chosen('Oslo'))
    expect(next.active).toMatchObject([{ entity: 'project', id: 'id-of-Oslo' }])
  })

  it('is nobody else’s, neither of the same tenant nor of another', async () => {
    const { agent, another, model } = bench({ store: open(), script: ['Hm.', 'Hm.'], entities })
    await agent.select(project.select('id-of-Oslo', { label: 'Oslo' }))
    for (const owner of [
      { tenant: 'local', actor: 'eve' },
      { tenant: 'other', actor: 'local' },
    ])
      await another({ owner, contextId: 'theirs' }).input('Which one?')
    expect(promptLines(model, 0).at(-1)).toBe('user "Which one?"')
    expect(promptLines(model, 1).at(-1)).toBe('user "Which one?"')
  })

  it('is of whoever asks, if several may speak in a conversation', async () => {
    const script = [calls(['choose', { name: 'Oslo' }]), 'Chosen.', 'Hm.', 'Yes.']
    const { agent, model } = bench({ store: open(), script, tools: [choose], entities, allow: () => true })
    await agent.executeTurn('Oslo', { auth: { actor: 'eve' } }).outcome
    await agent.input('Which one?')
    expect(promptLines(model, 2).at(-1)).toBe('user "Which one?"')
    await agent.executeTurn('Which one?', { auth: { actor: 'eve' } }).outcome
    expect(promptLines(model, 3).at(-1)).toContain(chosen('Oslo'))
  })

  it('stays in its conversation unless its entity says otherwise, also where everybody is the same actor', async () => {
    const order = entity('order')
    const script = [calls(['choose_order', {}]), 'Chosen.', calls(['cancel', { orderId: 'o-1' }]), 'No.']
    const cancelled: string[] = []
    const tools = [
      defineTool({
        name: 'choose_order',
        description: 'Chooses the newest order.',
        input: z.object({}),
        run: () => 'o-1',
        selects: (id) => [order.select(id)],
      }),
      defineTool({
        name: 'cancel',
        description: 'Cancels an order.',
        input: z.object({ orderId: z.string().meta(order.id()) }),
        run: ({ orderId }) => void cancelled.push(orderId),
      }),
    ]
    const { agent, another, model } = bench({ store: open(), script, tools, entities: [order] })
    await agent.input('My newest order')
    const next = another({ contextId: 'next-customer' })
    await next.input('Cancel my order')
    expect(promptLines(model, 2).at(-1)).toBe('user "Cancel my order"')
    expect([cancelled, next.active]).toEqual([[], []])
  })

  it('of the scope of a conversation stays there', async () => {
    const { agent, another } = bench({ store: open(), script: ['Hm.'], entities })
    await agent.select(note.select('n-1'), project.select('p-1'))
    const next = another({ contextId: 'next' })
    await next.input('Hello')
    expect(agent.active.map(({ id }) => id)).toEqual(['p-1', 'n-1'])
    expect(next.active.map(({ id }) => id)).toEqual(['p-1'])
  })

  it('in a fork is what it was, and goes its own way', async () => {
    const { agent, model } = bench({ store: open(), script: ['One.', 'Two.', 'Three.'], entities })
    await agent.select(project.select('p-1'))
    await agent.input('Hello')
    const fork = await agent.fork('branch')
    await agent.select(project.select('p-2'))
    await fork.input('Which one?')
    expect(promptLines(model, 1).at(-1)).toContain('p-1')
    await fork.select(project.select('p-3'))
    await agent.input('Which one?')
    expect(promptLines(model, 2).at(-1)).toContain('p-2')
  })

  it('at the same time in many conversations loses nothing, and the last one counts', async () => {
    const kinds = Array.from({ length: 6 }, (_, n) => entity(`kind-${n}`, { scope: 'actor' }))
    const { another } = bench({ store: open(), script: ['Hm.'], entities: kinds })
    await Promise.all(
      kinds.map((kind, n) =>
        another({ contextId: `talk-${n}`, entities: kinds }).select(kind.select(`id-${n}`)),
      ),
    )
    const last = another({ contextId: 'last', entities: kinds, model: new ScriptedModel(['Hm.']) })
    await last.input('Hello')
    expect(last.active.map(({ id }) => id).toSorted()).toEqual(kinds.map((_, n) => `id-${n}`))
  })

  it('and let go of is gone everywhere', async () => {
    const { agent, another, model } = bench({ store: open(), script: ['Hm.'], entities })
    await agent.select(project.select('p-1'))
    await agent.select(project.select())
    await another({ contextId: 'next' }).input('Which one?')
    expect(promptLines(model, 0).at(-1)).toBe('user "Which one?"')
  })

  it('cannot be kept if the store refuses it: then the conversation has it, and says so', async () => {
    const store = open()
    const failing = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...given: unknown[]) => {
          const [request] = given as [{ key?: { contextId: string } }]
          if (name === 'append' && request?.key?.contextId === '~state') throw new Error('no space')
          return Reflect.apply(value, target, given) as unknown
        }
      },
    })
    const script = [calls(['choose', { name: 'Oslo' }]), 'Chosen.']
    const { agent } = bench({ store: failing, script, tools: [choose], entities })
    await agent.input('Oslo')
    const entries = await store.read({ ...LOCAL_OWNER, contextId: 'talk' })
    expect(entries.find(({ type }) => type === 'warning')?.data).toMatchObject({ code: 'state-not-kept' })
    expect(entries.findLast(({ type }) => type === 'active')?.data['by']).toBe('choose')
  })
})
