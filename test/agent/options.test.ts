/** Unknown options are refused everywhere, with the intended name. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, lookupTool } from '../../src/entry/grounding.ts'
import { importMessages } from '../../src/entry/import.ts'
import { transcript } from '../../src/entry/journal.ts'
import { runTurn } from '../../src/entry/operate.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, agentTool, ask, defineTool, memoryStore } from '../../src/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, probe } from '../turn/kit.ts'

const refused = (message: string): unknown =>
  expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(message) })

const tool = (more: object) => () =>
  defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), run: () => 'paid', ...more })
const made = (more: object) => () => new Agent({ contextId: 'talk', ...more })
const flow = (options: object = {}) =>
  graph({ state: { n: value<number>() } })
    .addNode('count', () => ({ n: 1 }))
    .addEdge(START, 'count')
    .addEdge('count', END)
    .compile(options)
const project = entity('project')

describe('an option that is not known is refused by', () => {
  it.each<[string, () => unknown, string]>([
    ['defineTool', tool({ aprove: 'always' }), 'Tool "pay" has no "aprove". Did you mean approve?'],
    [
      'defineTool',
      tool({ needsApproval: true }),
      'Tool "pay" has no "needsApproval". Write approve instead.',
    ],
    ['defineTool', tool({ execute: () => 1 }), 'Tool "pay" has no "execute". Write run instead.'],
    ['an agent', made({ maxSteps: 5 }), 'has no "maxSteps". Write limits: { iterations } instead.'],
    ['an agent', made({ instructions: 'Be brief.' }), 'has no "instructions". Write systemPrompt instead.'],
    ['an agent', made({ temperature: 0 }), 'has no "temperature". Write settings: { temperature } instead.'],
    ['an agent', made({ checkpointer: {} }), 'has no "checkpointer". Write store instead.'],
    ['an agent', made({ trust: 'open' }), 'has no "trust". Write `trust` in createHost({ agents }) instead.'],
    ['an agent', made({ tracing: {} }), 'has no "tracing". Write telemetry instead.'],
    [
      'settings',
      made({ settings: { temprature: 0 } }),
      'settings has no "temprature". Did you mean temperature?',
    ],
    ['settings', made({ settings: { maxTokens: 9 } }), 'has no "maxTokens". Write maxOutputTokens instead.'],
    [
      'settings of a fallback',
      made({ model: ['reflex', { model: 'reflex', settings: { maxRetries: 1 } }] }),
      'settings has no "maxRetries". Write retries instead.',
    ],
    [
      'a model of a list',
      made({ model: { model: 'reflex', temperature: 1 } }),
      'A model of the list has no "temperature". Write settings: { temperature } instead.',
    ],
    [
      'grounding',
      made({ grounding: { hideids: true } }),
      'grounding has no "hideids". Did you mean hideIds?',
    ],
    [
      'words of grounding',
      made({ grounding: { words: { stateHeadin: 'Now' } } }),
      'grounding.words has no "stateHeadin". Did you mean stateHeading?',
    ],
    [
      'words of grounding',
      made({ grounding: { words: { rules: 'Your own.' } } }),
      'rules must be a function, not "Your own."',
    ],
    [
      'grounding',
      made({ grounding: { memoryTurns: 9 } }),
      'grounding.memoryTurns must be a number from 0 to 3, not 9',
    ],
    [
      'grounding',
      made({ grounding: { memoryTurns: null as never } }),
      'grounding.memoryTurns must be a number from 0 to 3, not null',
    ],
    ['limits', made({ limits: { maxSteps: 5 } }), 'limits has no "maxSteps". Write iterations instead.'],
    ['autoCompact', made({ autoCompact: { kep: 5 } }), 'autoCompact has no "kep". Did you mean keep?'],
    [
      'agentTool',
      () => agentTool({ name: 'a', description: 'b', agent: {}, replay: 'safe' } as never),
      'agentTool() has no "replay".',
    ],
    ['compile', () => flow({ checkpointer: {} }), 'compile() has no "checkpointer". Write store instead.'],
    [
      'compile',
      () => flow({ limits: { recursionLimit: 9 } }),
      'has no "recursionLimit". Write steps instead.',
    ],
    [
      'graph',
      () => graph({ channels: {}, state: {} } as never),
      'graph() has no "channels". Write state instead.',
    ],
    [
      'memoryStore',
      () => memoryStore({ clok: {} } as never),
      'memoryStore() has no "clok". Did you mean clock?',
    ],
    [
      'sqliteStore',
      () => sqliteStore('never-made.db', { readonly: true } as never),
      'sqliteStore() has no "readonly". Did you mean readOnly?',
    ],
    [
      'entity',
      () => entity('x', { patern: /x/ } as never),
      'The entity "x" has no "patern". Did you mean pattern?',
    ],
    ['lookupTool', () => lookupTool(project, () => [], { limit: 5 } as never), 'Write most instead.'],
    ['ask', () => ask({ kind: 'text', question: 'Why?' } as never), 'Write prompt instead.'],
    ['importMessages', () => importMessages([], { formt: 'openai' } as never), 'Did you mean format?'],
  ])('%s: %#', (_, make, message) => {
    expect(make).toThrow(refused(message))
  })
})

describe('a turn', () => {
  const run = async (options: unknown) => {
    const { agent } = bench({ script: ['Hello.'] })
    return agent.executeTurn('Hi', options as never).outcome
  }

  it.each([
    [{ abortSignal: AbortSignal.abort() }, 'executeTurn() has no "abortSignal". Write signal instead.'],
    [{ maxSteps: 3 }, 'executeTurn() has no "maxSteps". Write limits: { iterations } instead.'],
    [{ authContext: {} }, 'has no "authContext". Write auth: { actor, credentials } instead.'],
    [{ auth: { actorId: 'bob' } }, 'auth has no "actorId". Write actor instead.'],
    [{ auth: { token: 'long-enough' } }, 'auth has no "token". Write credentials: { token } instead.'],
    [
      { auth: { actor: undefined } },
      'auth.actor must be a text, not undefined; leave it out to ask as the owner.',
    ],
    [{ auth: { actor: null } }, 'auth.actor must be a text, not null'],
    [{ auth: null }, 'auth takes options as an object, not null.'],
    [{ actorId: undefined, credentials: {} }, 'auth.actor must be a text, not undefined'],
    [{ actorId: 'bob', auth: {} }, 'auth is set already: put actor and credentials into it.'],
    [{ whileBusy: 'stear' }, 'whileBusy must be queue, steer, interrupt or reject, not "stear".'],
    [{ signal: 5 }, 'signal must be an AbortSignal, not 5.'],
    [{ key: 'k'.repeat(257) }, 'key must be a text of 1 to 256 visible characters, not "kkk'],
    [{ key: 'a\nb' }, 'key must be a text of 1 to 256 visible characters, not "a\\nb".'],
    [null, 'executeTurn() takes options as an object, not null.'],
  ])('is not begun with %j', async (options, message) => {
    const { turn, error } = await run(options)
    expect([turn, error?.code]).toEqual([0, 'invalid-option'])
    expect(error?.message).toContain(message)
  })

  it('is not begun with a message that no entry can hold, and the error names what to do', async () => {
    const { agent } = bench()
    const { error } = await agent.executeTurn('x'.repeat(33 * 1024 * 1024)).outcome
    expect(error).toEqual({
      code: 'too-large',
      message:
        'The input has 34603069 bytes, and an entry at most 33554432. Send less, or write large data into an artifact, piece by piece.',
    })
  })

  it('does not answer with options of a message', async () => {
    const { agent } = bench()
    const { error } = await agent.answer({ x: 1 }, { whileBusy: 'queue' } as never).outcome
    expect(error?.message).toContain('answer() has no "whileBusy".')
  })

  it('asked for as { actorId, credentials } is that actor, with these credentials', async () => {
    const seen: unknown[] = []
    const look = probe('look', (_, { principal, credentials }) => {
      seen.push([principal, credentials])
      return 'seen'
    })
    const script = [{ calls: [{ tool: 'look', args: {} }] }, 'Done.']
    const { agent } = bench({ script, tools: [look], owner: { tenant: 'acme', actor: 'ada' } })
    const asked = { actorId: 'ada', credentials: { token: 'a-long-token' } }
    expect((await agent.executeTurn('Look', asked).outcome).status).toBe('completed')
    expect(seen).toEqual([[{ tenant: 'acme', actor: 'ada' }, { token: 'a-long-token' }]])
  })

  it('asked for by an actor who is not the owner is refused, and says how the owner is set', async () => {
    const { agent, model } = bench({ script: ['Hello.'] })
    const { error } = await agent.executeTurn('Hi', { actorId: 'bob', credentials: {} }).outcome
    expect(error).toMatchObject({ code: 'forbidden' })
    expect(error?.message).toContain('Set `owner: { tenant, actor }`')
    expect(model.calls).toHaveLength(0)
  })
})

describe('a run of a graph', () => {
  it.each([
    [{ configurable: { thread_id: 'x' } }, 'has no "configurable". Write contextId instead.'],
    [{ recursionLimit: 5 }, 'has no "recursionLimit". Write limits: { steps } instead.'],
    [{ actorId: 'bob' }, 'has no "actorId". Write auth: { actor, credentials } instead.'],
    [{ abortSignal: 5 }, 'has no "abortSignal". Write signal instead.'],
    [{ contextId: 'a', key: 'k'.repeat(257) }, 'key must be a text of 1 to 256 visible characters'],
  ])('is not begun with %j', async (options, message) => {
    await expect(flow().invoke({ n: 0 }, options as never)).rejects.toEqual(refused(message))
  })

  it('that has ended is not continued: it takes an input', async () => {
    const counting = flow()
    await counting.invoke({ n: 0 }, { contextId: 'a' })
    await expect(counting.invoke(null, { contextId: 'a' })).rejects.toThrow(
      'The last turn of a is complete: there is nothing to continue. Pass an input instead of null.',
    )
  })

  it('is not asked about with an option that is not known', async () => {
    await expect(flow().getState({ thread_id: 'x' } as never)).rejects.toEqual(refused('Write contextId'))
  })

  it('has steps whose options are known', async () => {
    const steps = graph({ state: { n: value<number>() } })
      .addNode('count', async (_, { step }) => ({
        n: await step('add', () => 1, { replai: 'safe' } as never),
      }))
      .addEdge(START, 'count')
      .addEdge('count', END)
      .compile()
    await expect(steps.invoke({ n: 0 })).rejects.toThrow('Step "add" has no "replai". Did you mean replay?')
  })
})

describe('runTurn', () => {
  const played = async (options: object): Promise<Entry[]> => {
    const entries: Entry[] = []
    for await (const batch of runTurn(options)) entries.push(...batch)
    return entries
  }
  const history = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'My name is Ada.' },
    { role: 'assistant', content: 'Hello, Ada.' },
    { role: 'user', content: 'What is my name?' },
  ]

  it('takes messages: the last is what is asked, those before are its history', async () => {
    const model = new ScriptedModel(['Ada.', 'Still Ada.'])
    const entries = await played({ model, messages: history })
    const said = transcript(entries).map(({ role, content }) => [role, JSON.stringify(content)])
    expect(said.map(([role]) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(JSON.stringify(model.calls[0])).toContain('My name is Ada.')
    expect(JSON.stringify(model.calls[0])).toContain('Be brief.')

    const more = await played({ model, entries, message: 'Sure?' })
    expect(transcript([...entries, ...more])).toHaveLength(6)
    expect(JSON.stringify(model.calls[1])).toContain('My name is Ada.')
  })

  it.each([
    [{ mesage: 'Hi' }, 'runTurn() has no "mesage". Did you mean message?'],
    [{ message: 'Hi', abortSignal: 5 }, 'runTurn() has no "abortSignal". Write signal instead.'],
    [{}, 'A message must be a text'],
    [{ messages: history.slice(0, 3) }, 'messages must end with a message of the user'],
    [{ messages: history, systemPrompt: 'Be long.' }, 'leave one out'],
    [{ messages: history, entries: [{}] }, 'messages and entries cannot both be given'],
  ])('refuses %j', async (options, message) => {
    await expect(played({ model: new ScriptedModel(['Hi.']), ...options })).rejects.toEqual(refused(message))
  })
})

describe('a file of a message', () => {
  const png = Uint8Array.from([137, 80, 78, 71])
  const file = (data: unknown) => [{ type: 'file', mediaType: 'image/png', name: 'a.png', data }] as never

  it.each([
    ['bytes', png, 'iVBORw=='],
    ['a Buffer', Buffer.from(png), 'iVBORw=='],
    ['an ArrayBuffer', png.buffer, 'iVBORw=='],
    ['a URL', new URL('https://example.org/a.png'), 'https://example.org/a.png'],
  ])('may be %s', async (_, data, stored) => {
    const { agent } = bench({ script: ['I see.'] })
    await agent.executeTurn(file(data)).outcome
    expect((await agent.getMessages())[0]?.content).toMatchObject([{ data: stored }])
  })

  it.each([
    [
      null,
      'Part 1 of the message, the file "a.png" (image/png): data must be base64, a URL or bytes, not null.',
    ],
    [{ url: 'x' }, 'data must be base64, a URL or bytes, not an object.'],
    [undefined, 'data must be base64, a URL or bytes, not undefined.'],
  ])('may not be %j', async (data, message) => {
    const { agent } = bench({ script: ['I see.'] })
    const { error } = await agent.executeTurn(file(data)).outcome
    expect(error?.message).toContain(message)
  })

  it('is told from parts of other frameworks', async () => {
    const { agent } = bench({ script: ['I see.'] })
    const { error } = await agent.executeTurn([{ type: 'image', image: 'x' }] as never).outcome
    expect(error?.message).toContain(
      `Part 1 of the message has the type "image"; write { type: 'text', text }`,
    )
  })
})
