import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { researchFlow } from '../../src/flow/research/index.ts'
import { createHost, type HostConfig, type Trust, VISITORS } from '../../src/host/index.ts'
import { defineTool, memoryStore } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { memoryCorpus } from '../flow/research/kit.ts'

const KNOWN = { tenant: 'acme', actor: 'ann' }
const LISTED = { tenant: 'acme', actor: 'bob' }
const VISITOR = { tenant: VISITORS, actor: 'visitor_1' }

const tool = (name: string, more: object = {}) =>
  defineTool({ name, description: name, input: z.object({}), run: () => `${name} ran`, ...more })

function hostWith(trust: Trust | undefined, more: Partial<HostConfig> = {}, script: unknown[] = ['Hello.']) {
  const model = new ScriptedModel(script as ConstructorParameters<typeof ScriptedModel>[0])
  const tools = [
    tool('lookup', { public: true }),
    tool('pay'),
    tool('book', { public: true, approve: 'always' }),
    tool('ring', { origin: { kind: 'a2a', url: 'https://agents.example/team/ring' } }),
  ]
  const agent = { model, tools, ...(trust === undefined ? {} : { trust }) }
  return createHost({ store: memoryStore(), agents: { helper: agent }, ...more })
}

async function talk(host: ReturnType<typeof createHost>, principal: typeof KNOWN) {
  try {
    const turn = await host.send({ ...principal, contextId: 'helper:1' }, 'Hi', { auth: principal })
    return (await turn.outcome).reason
  } catch (error) {
    return (error as { code: string }).code
  }
}

const lists = { principals: [LISTED] }

describe('trust', () => {
  const policy = ({ principal }: { principal: { actor: string } }) => principal.actor === 'ann'
  test.each<[string, Trust | undefined, string]>([
    ['the default', undefined, 'stop stop forbidden'],
    ['open', 'open', 'stop stop stop'],
    ['careful', 'careful', 'stop stop forbidden'],
    ['careful and public', { public: true }, 'stop stop stop'],
    ['strict', 'strict', 'forbidden forbidden forbidden'],
    ['strict with a list', { level: 'strict', ...lists }, 'forbidden stop forbidden'],
    ['strict is never public', { level: 'strict', public: true }, 'forbidden forbidden forbidden'],
    ['a policy that refuses', { level: 'open', decide: () => false }, 'forbidden forbidden forbidden'],
    [
      'a policy that fails',
      { decide: () => Promise.reject(new Error('down')) },
      'forbidden forbidden forbidden',
    ],
    ['rules, then a policy', { level: 'strict', ...lists, decide: policy }, 'forbidden forbidden forbidden'],
  ])('%s: known, listed and unknown callers', async (_, trust, expected) => {
    const callers = [KNOWN, LISTED, VISITOR]
    const own = await Promise.all(callers.map((each) => talk(hostWith(trust), each)))
    expect(own.join(' ')).toBe(expected)
    const ofHost = trust === undefined ? {} : { trust }
    const all = await Promise.all(callers.map((each) => talk(hostWith(undefined, ofHost), each)))
    expect(all.join(' ')).toBe(expected)
  })

  test('a decision is stored with the input, whatever the caller writes; a refusal stores nothing', async () => {
    const seen: string[] = []
    const host = hostWith({ level: 'strict', ...lists }, { onRefusal: ({ reason }) => seen.push(reason) })
    const key = { ...LISTED, contextId: 'helper:1' }
    const metadata = { trust: 'complete', topic: 'x' }
    await (await host.send(key, 'Hi', { auth: LISTED, metadata })).outcome
    const [input] = await host.store.read(key)
    expect(input).toMatchObject({
      type: 'input',
      data: { metadata: { topic: 'x', trust: { level: 'strict', known: true, by: 'rules' } } },
    })
    const foreign = { ...KNOWN, contextId: 'helper:1' }
    await expect(host.send(foreign, 'Hi', { auth: KNOWN })).rejects.toThrow('answers listed callers only')
    expect(await host.store.head(foreign)).toBeUndefined()
    expect(seen).toEqual(['"helper" answers listed callers only.'])
    for (let i = 0; i < 2500; i++) await host.send(foreign, 'Hi').catch(() => {})
    expect(host.refusals).toHaveLength(1000)
    expect(host.refusals.at(-1)).toMatchObject({ key: foreign, name: 'helper' })
  })

  test('an unknown caller gets public tools, and is asked where a tool asks, even if a policy allows', async () => {
    const calls = { calls: ['lookup', 'pay', 'book'].map((name) => ({ tool: name, args: {} })) }
    const allowsAll = { name: 'all', approve: () => ({ decision: 'allow' }) as const }
    const outcomeFor = async (principal: typeof KNOWN) => {
      const model = new ScriptedModel([calls, 'Done.'] as ConstructorParameters<typeof ScriptedModel>[0])
      const tools = [
        tool('lookup', { public: true }),
        tool('pay'),
        tool('book', { public: true, approve: 'always' }),
      ]
      const agent = { model, tools, plugins: [allowsAll], trust: { public: true } }
      const host = createHost({ store: memoryStore(), agents: { helper: agent } })
      const key = { ...principal, contextId: 'helper:1' }
      const { requests } = await (await host.send(key, 'Hi', { auth: principal })).outcome
      const ends = (await host.store.read(key)).filter(({ type }) => type === 'tool.end')
      return {
        asked: requests.map(({ about }) => about?.['tool']),
        outputs: ends.map(({ data }) => data['output'] as string),
      }
    }
    expect(await outcomeFor(KNOWN)).toEqual({ asked: [], outputs: ['lookup ran', 'pay ran', 'book ran'] })
    const { asked, outputs } = await outcomeFor(VISITOR)
    expect(asked).toEqual(['book'])
    expect(outputs.toSorted((a, b) => a.localeCompare(b))).toEqual([
      'Denied by trust: It is not for unknown callers. Do not repeat it; find another way, or ask.',
      'lookup ran',
    ])
  })

  test.each<[Trust, string]>([
    ['careful', 'ring ran'],
    [{ level: 'strict', ...lists, remotes: ['https://agents.example/team'] }, 'ring ran'],
    [{ level: 'strict', ...lists, remotes: ['https://agents.example/te'] }, 'Denied by trust'],
    [{ level: 'strict', ...lists, remotes: ['https://agents.example:8443/team'] }, 'Denied by trust'],
    [{ level: 'strict', ...lists }, 'Denied by trust'],
    [{ decide: ({ kind }) => kind === 'turn' }, 'Denied by trust'],
  ])('a remote agent is called only if %j allows it', async (trust, expected) => {
    const host = hostWith(trust, {}, [{ calls: [{ tool: 'ring', args: {} }] }, 'Done.'])
    const key = { ...LISTED, contextId: 'helper:1' }
    await (await host.send(key, 'Hi', { auth: LISTED })).outcome
    const end = (await host.store.read(key)).find(({ type }) => type === 'tool.end')
    expect(end?.data['output']).toContain(expected)
  })

  test('research on a public host answers an unknown caller', async () => {
    const flows = { research: researchFlow({ corpus: memoryCorpus() }) }
    const host = createHost({ store: memoryStore(), flows, trust: { public: true } })
    const question = 'When does the gate of the dock of Granville open?'
    const turn = await host.send({ ...VISITOR, contextId: 'research:1' }, question, { auth: VISITOR })
    expect((await turn.outcome).text).toContain('2 hours before high tide')
  })

  test('a model is asked after the rules, and one that fails refuses', async () => {
    const judge = new ScriptedModel(['{"admit":true}', '{"admit":false}', new Error('down') as never])
    const trust = { decide: { model: judge, system: 'Admit ann once.', settings: { retries: 0 } } }
    expect(await talk(hostWith(trust), KNOWN)).toBe('stop')
    expect(await talk(hostWith(trust), VISITOR)).toBe('forbidden')
    expect(judge.calls).toHaveLength(1)
    expect(await talk(hostWith(trust), KNOWN)).toBe('forbidden')
    expect(await talk(hostWith(trust), KNOWN)).toBe('forbidden')
  })

  test('trust that a function of the conversation returns is refused, never ignored', async () => {
    const model = new ScriptedModel(['Secret.'])
    const books = () => ({ model, trust: 'strict' }) as never
    const host = createHost({ store: memoryStore(), agents: { books } })
    const key = { ...KNOWN, contextId: 'books:1' }
    await expect(host.send(key, 'Hi', { auth: KNOWN })).rejects.toThrow('"books" returns trust')
    expect([model.calls, await host.store.head(key)]).toEqual([[], undefined])
  })

  test.each([
    [{ decide: { model: 'x' } }, 'trust.decide must be a function or { model, system }'],
    ['closed', "trust must be 'open', 'careful', 'strict' or an object"],
    [{ levle: 'open' }, 'level'],
    [{ remotes: ['agents.example'] }, 'is no address'],
    [{ remotes: ['https://agents.example'] }, "trust.remotes counts only with level: 'strict'"],
    [lists, "trust.principals counts only with level: 'strict'; at 'careful' nobody reads it"],
    [{ level: 'strict', principals: ['acme'] }, 'trust.principals[0] takes options as an object, not "acme"'],
    [{ level: 'strict', principals: [{ actor: 'eve' }] }, 'trust.principals[0] needs a tenant'],
    [
      { level: 'strict', principals: [{ tenant: 'acme', actro: 'eve' }] },
      'trust.principals[0] has no "actro". Did you mean actor?',
    ],
  ])('bad trust %j is refused', (trust, message) => {
    expect(() => hostWith(trust as Trust)).toThrow(message)
  })
})
