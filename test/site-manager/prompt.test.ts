/** What a language model would be told of the example: how much, in which language, and of how many turns. */
import { describe, expect, it } from 'vitest'
import { entities } from '../../examples/site-manager/site.ts'
import type { Entity } from '../../src/entry/grounding.ts'
import type { ModelCall } from '../../src/model/index.ts'
import { countTokens } from '../../src/model/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { Site, type Talk } from './kit.ts'

const [project, task] = entities as readonly [Entity, Entity, Entity]

/** A model that only listens, in a conversation that the embedded model has had so far. */
async function blocksAfter(talk: (site: Site) => Promise<unknown>, language?: string): Promise<string[]> {
  const site = new Site()
  await talk(site)
  const model = new ScriptedModel(['Yes.'], { timer: site.clock })
  const listener = site.talk({ model })
  await listener.say('Hm', language === undefined ? {} : { metadata: { language } })
  const { prompt = [] } = model.calls[0] ?? {}
  const last = prompt.at(-1)?.content
  const text = typeof last === 'string' ? last : (last ?? []).map((part) => part.text ?? '').join('')
  return text === 'Hm' ? [] : text.split('\n\n')
}

async function chooseAll(talk: Talk): Promise<void> {
  await talk.agent.select(
    project.select('prj-7k2d', { label: 'Champigny' }),
    task.select('tsk-81qa', { label: 'Installation électrique', parent: 'prj-7k2d' }),
  )
}

describe('the prompt of the example', () => {
  it('says what is chosen in the language of the turn', async () => {
    const chosen = async (site: Site) => chooseAll(site.talk())
    expect(await blocksAfter(chosen)).toEqual([
      '[Current state - Source of truth]\nActive project: Champigny (ID: prj-7k2d)\nActive task: Installation électrique (ID: tsk-81qa)',
    ])
    expect(await blocksAfter(chosen, 'fr')).toEqual([
      '[État actuel - Source de vérité]\nProjet actif: Champigny (ID: prj-7k2d)\nTâche active: Installation électrique (ID: tsk-81qa)',
    ])
  })

  it('remembers the tools of the last three turns that used any', async () => {
    const names = ['Champigny', 'Bureau', 'Levallois', 'project prj-f51t']
    const [memory = ''] = await blocksAfter(async (site) => {
      const talk = site.talk()
      for (const name of names) await talk.say(`Show tasks for ${name}`)
      await talk.say('Thanks')
    })
    expect(memory).not.toContain('Peinture')
    for (const title of ['Cloisons', 'Toiture', 'Charpente']) expect(memory).toContain(title)
  })

  it('costs at most 100 tokens for what is chosen and 500 for what tools have shown', async () => {
    const [memory = '', state = ''] = await blocksAfter(async (site) => {
      const talk = site.talk()
      await talk.say('List the projects')
      await talk.say('Show tasks for project 1')
      await talk.say('Show the documents of Champigny')
      await chooseAll(talk)
    }, 'fr')
    expect(memory).toContain('Documents: [')
    const [first, second] = [await countTokens(state), await countTokens(memory)]
    process.stdout.write(`layer 1: ${first.tokens} tokens, layer 2: ${second.tokens} tokens\n`)
    expect([first.exact, second.exact]).toEqual([true, true])
    expect(first.tokens).toBeGreaterThan(20)
    expect(first.tokens).toBeLessThanOrEqual(100)
    expect(second.tokens).toBeGreaterThan(100)
    expect(second.tokens).toBeLessThanOrEqual(500)
  })
})

describe('the embedded model', () => {
  it('is told all that as data, with the marks of ids, and reads no block as a request', async () => {
    const site = new Site()
    const calls: ModelCall[] = []
    const inner = reflex()
    const model = {
      ...inner,
      doStream: (call: ModelCall) => {
        calls.push(call)
        return inner.doStream(call)
      },
    }
    const talk = site.talk({ model })
    await chooseAll(talk)
    await talk.say('Show me the tasks')
    const last = calls.at(-1)
    expect(JSON.stringify(last?.prompt)).not.toContain('Source of truth')
    expect(JSON.stringify(last?.tools)).toContain('"x-entity":"project"')
    const told = (last?.providerOptions?.['holdfast'] ?? {}) as JsonObject
    expect(Object.keys(told)).toEqual([
      'displays',
      'unknown',
      'entities',
      'seen',
      'active',
      'lookups',
      'memoryTurns',
    ])
    expect(told['lookups']).toEqual({ project: 'find_project' })
    expect(Object.values(told['seen'] as JsonObject).flat()).toHaveLength(4)
  })
})
