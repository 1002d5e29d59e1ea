/** The parts of prompts beside the messages: the rules, the active values and their nouns; and `agent.active`. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentConfig } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import type { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, openSqlite, promptLines, sqlitePath } from '../turn/kit.ts'

const own = entity('project', { scope: 'conversation', called: { fr: 'projet' } })
const shared = entity('project', { scope: 'actor' })

function listTool(project = own) {
  return defineTool({
    name: 'list',
    description: 'Lists projects.',
    input: z.object({}),
    run: () => [{ id: 'p-11', name: 'Champigny' }, { id: 'p-22', name: 'Bureau' }, { id: 'p-33' }],
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
  })
}

function systemOf({ calls: asked }: ScriptedModel): unknown {
  const [first] = asked.at(-1)?.prompt ?? []
  return first?.role === 'system' ? first.content : undefined
}

describe('the system prompt', () => {
  const ask = async (config: Partial<AgentConfig>, metadata = {}) => {
    const { agent, model } = bench({ script: ['Hello.'], ...config })
    await agent.executeTurn('Hi', { metadata }).outcome
    return systemOf(model)
  }

  it('ends with the rules where there are entities', async () => {
    const system = await ask({ entities: [own], systemPrompt: 'You help a building firm.' })
    expect(system).toMatch(/^You help a building firm\.\n\n# Explicit state and context\n/)
    expect(system).toContain('2. Active project: use its ID directly in tools.')
    expect(await ask({ entities: [own] })).toMatch(/^# Explicit state and context\n/)
  })

  it('is as it was where there are none', async () => {
    expect(await ask({ systemPrompt: 'You help a building firm.' })).toBe('You help a building firm.')
    expect(await ask({})).toBeUndefined()
  })

  it('has them in the language of the turn', async () => {
    expect(await ask({ entities: [own], grounding: { language: 'fr' } })).toContain(
      '2. Projet actif : utilise',
    )
    expect(await ask({ entities: [own] }, { language: 'fr' })).toContain('2. Projet actif : utilise')
  })

  it('has other rules, or none, if the host wants that', async () => {
    const rules = (text: string) => ({ grounding: { words: { rules: () => text } } })
    const systemPrompt = 'You help.'
    expect(await ask({ entities: [own], systemPrompt, ...rules('Use what you see.') })).toBe(
      'You help.\n\nUse what you see.',
    )
    expect(await ask({ entities: [own], systemPrompt, ...rules('') })).toBe('You help.')
  })

  it('is shown to hooks with the rules, and they may replace it', async () => {
    let shown = ''
    const on: Hooks = {
      beforeLlm: ({ prompt, edit }) => {
        shown = prompt.system
        edit({ system: 'Another one.' })
      },
    }
    expect(await ask({ entities: [own], systemPrompt: 'You help.', on })).toBe('Another one.')
    expect(shown).toMatch(/^You help\.\n\n# Explicit state and context\n/)
  })
})

describe('the state block in a prompt', () => {
  const lastLine = (model: ScriptedModel) => promptLines(model, model.calls.length - 1).at(-1)

  it('has the labels that tools showed, of one and of several', async () => {
    const { agent, model } = bench({
      script: [calls('list'), 'Ok.', 'Ok.', 'Ok.'],
      tools: [listTool()],
      entities: [own],
    })
    await agent.input('List')
    await agent.select(own.select(['p-22', 'p-11', 'p-33']))
    await agent.input('And?')
    expect(lastLine(model)).toContain('Active project: Bureau (ID: p-22), Champigny (ID: p-11), ID: p-33')
    await agent.select(own.select('p-11'))
    await agent.input('And?')
    expect(lastLine(model)).toContain('Active project: Champigny (ID: p-11)')
  })

  it('has them also if no prompt shows that result any more', async () => {
    const { agent, model } = bench({
      script: [calls('list'), ...Array(5).fill('Ok.')],
      tools: [listTool()],
      entities: [own],
      maxMessages: 2,
    })
    for (const text of ['List', 'Well?', 'And?', 'So?']) await agent.input(text)
    await agent.select(own.select(['p-11', 'p-22']))
    await agent.input('Now?')
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('tool-result')
    expect(lastLine(model)).toContain('Active project: Champigny (ID: p-11), Bureau (ID: p-22)')
  })

  it('has the labels that came with the choice, in another conversation of the person too', async () => {
    const { agent, another, model } = bench({ script: ['Ok.'], entities: [shared] })
    await agent.select(shared.select(['p-1', 'p-2'], { labels: ['Champigny', 'Bureau'] }))
    await another({ contextId: 'other' }).input('Well?')
    expect(lastLine(model)).toContain('Active project: Champigny (ID: p-1), Bureau (ID: p-2)')
  })
})

describe('what is active', () => {
  const brief = (agent: { readonly active: readonly { readonly id: string }[] }) =>
    agent.active.map(({ id }) => id)

  it('is known after start(), in a conversation that is taken up again', async () => {
    const path = sqlitePath()
    const store = openSqlite(path)
    const before = bench({ store, realTime: true, entities: [own] })
    await before.agent.select(own.select('p-11'))
    await before.agent.shutdown()
    await store.close()
    const { agent } = bench({ store: openSqlite(path), realTime: true, entities: [own] })
    expect(brief(agent)).toEqual([])
    await agent.start()
    expect(brief(agent)).toEqual(['p-11'])
  })

  it('is known after start(), if the person chose it in another conversation', async () => {
    const { agent, another, clock } = bench({ entities: [shared], script: ['Ok.', 'Ok.'] })
    await agent.select(shared.select('p-11'))
    const other = another({ contextId: 'other' })
    await other.start()
    expect(brief(other)).toEqual(['p-11'])
    await agent.select(shared.select('p-22'))
    await other.pause()
    await other.resume()
    expect(brief(other)).toEqual(['p-22'])
    clock.advance(8 * 3_600_000)
    expect(brief(other)).toEqual([])
  })

  it('is what the conversation says as soon as that goes on', async () => {
    const { agent, another } = bench({ entities: [shared], script: ['Ok.', 'Ok.'] })
    await agent.select(shared.select('p-11'))
    const other = another({ contextId: 'other' })
    await other.start()
    await other.input('Hi')
    expect(brief(other)).toEqual(['p-11'])
    await other.select(shared.select())
    expect(brief(other)).toEqual([])
    await other.select(shared.select('p-33'))
    const third = another({ contextId: 'third' })
    await third.start()
    expect(brief(third)).toEqual(['p-33'])
    await third.select(shared.select())
    expect(brief(third)).toEqual([])
  })

  it("is nobody else's, and a fork goes its own way", async () => {
    const store = memoryStore()
    const { agent, another } = bench({ store, realTime: true, entities: [shared], script: ['Ok.'] })
    await agent.select(shared.select('p-11'))
    const stranger = another({ contextId: 'other', owner: { tenant: 'local', actor: 'ann' } })
    await stranger.start()
    expect(brief(stranger)).toEqual([])
    await agent.input('Hi')
    const fork = await agent.fork('branch')
    await agent.select(shared.select('p-22'))
    await fork.start()
    expect(brief(fork)).toEqual(['p-11'])
  })
})
