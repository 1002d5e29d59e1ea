/** Turns that never end, and outcomes that never come or are not true (R14). */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/index.ts'
import { asking, calls, journal, KEY, probe } from '../turn/kit.ts'
import { soon } from './kit.ts'

const never = () => new Promise<never>(() => {})

const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`

// What the loop throws leaves the turn open and owned: no claim is counted, so R7 never gives it up.
it('arguments that are nested without end are an error for the model, not a dead conversation', async () => {
  const model = new ScriptedModel([{ calls: [{ tool: 'look', args: deep }] }, 'I see.'])
  const store = memoryStore()
  const agent = new Agent({ contextId: 'talk', store, model, tools: [probe('look')] })
  expect(await agent.executeTurn('x').outcome).toMatchObject({ reason: 'stop', text: 'I see.' })
})

it('a turn whose model only asks for what cannot be run ends, and the next message is heard', async () => {
  const model = ScriptedModel.forever({ calls: [{ tool: 'look', args: deep }] })
  const agent = new Agent({ contextId: 'talk', model, tools: [probe('look')] })
  expect(await agent.executeTurn('x').outcome).toMatchObject({ turn: 1, reason: 'limit' })
  expect(await agent.executeTurn('y').outcome).toMatchObject({ turn: 2, reason: 'limit' })
})

// entry-shape.ts lets any principal, limits and metadata into the inbox; whoever drives it chokes for ever.
it('an input that no turn can begin with does not block all that come after it', async () => {
  const store = memoryStore()
  const data = { message: 'x', principal: 5 }
  await store
    .append({ key: KEY, id: 'p', since: 0, inbox: [{ type: 'input', key: 'k', data }] })
    .catch(() => {})
  const agent = new Agent({ contextId: 'talk', store, model: ScriptedModel.forever('ok') })
  expect((await agent.executeTurn('y').outcome).reason).toBe('stop')
})

it('a name of a tool that is no text is an unknown tool', async () => {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool-calls' }, usage }
  const parts = [{ type: 'tool-call', toolCallId: 'x', toolName: 5, input: '{}' }, finish]
  const next = new ScriptedModel(['I see.'])
  const model = {
    specificationVersion: 'v3',
    provider: 'odd',
    modelId: 'odd',
    doStream: (call: never) =>
      parts.length === 0
        ? next.doStream(call)
        : {
            stream: new ReadableStream({
              start: (to) => {
                for (const part of parts.splice(0)) to.enqueue(part)
                to.close()
              },
            }),
          },
  }
  const agent = new Agent({ contextId: 'talk', model: model as never, tools: [probe('look')] })
  expect(await agent.executeTurn('x').outcome).toMatchObject({ reason: 'stop', text: 'I see.' })
})

// checkAnswers looks at what was given, posts are made of its JSON: without what JSON leaves out there is no post.
it('an answer that is undefined is refused', async () => {
  const model = new ScriptedModel([calls('ask'), 'Done.'])
  const agent = new Agent({
    contextId: 'talk',
    model,
    tools: [asking('ask', { kind: 'auth', prompt: 'Let me in' })],
  })
  const { requests } = await agent.executeTurn('x').outcome
  const outcome = await soon(agent.answer({ [requests[0]?.requestId ?? '']: undefined as never }).outcome)
  expect(outcome).toMatchObject({ status: 'failed' })
})

const hanging = defineTool({
  name: 'look',
  description: 'looks',
  input: z.object({}).refine(never),
  run: () => 1,
})

// Nothing that the host looks up is raced with the turn's signal: approve, schemas, tools, prompt, credentials.
it.each([
  ['approve', { tools: [probe('look', () => 1, { approve: never })] }],
  ['a schema', { tools: [hanging] }],
  ['tools', { tools: never }],
  ['systemPrompt', { systemPrompt: never }],
  ['credentials', { credentials: never, tools: [probe('look')] }],
])('a turn is cancelled, or ended by its time, while %s hangs', async (_, config) => {
  const model = () => new ScriptedModel([calls('look'), 'Done.'])
  const agent = new Agent({ contextId: 'talk', model: model(), ...config })
  const turn = agent.executeTurn('x')
  setTimeout(() => void turn.cancel(), 20)
  const timed = new Agent({ contextId: 'talk', model: model(), ...config }).executeTurn('x', {
    limits: { durationMs: 50 },
  })
  expect([await soon(turn.outcome), await soon(timed.outcome)]).toMatchObject([
    { reason: 'cancelled' },
    { reason: 'limit' },
  ])
})

// Driver.record and Driver.#commit both claim on one journal; the loser's `forget(true)` takes the winner's journal away.
it('an artifact that is written while a turn begins does not make the turn fail', async () => {
  const store = memoryStore()
  const agent = new Agent({ contextId: 'talk', store, model: new ScriptedModel(['ok']) })
  await agent.start()
  const writing = [agent.artifacts.writeFile('one', 'x')]
  const turn = agent.executeTurn('x')
  writing.push(agent.artifacts.writeFile('two', 'x'))
  const written = await Promise.allSettled(writing)
  expect([(await turn.outcome).reason, ...written.map(({ status }) => status)]).toEqual([
    'stop',
    'fulfilled',
    'fulfilled',
  ])
  expect((await journal(store)).at(-1)).toContain('turn.end stop')
})

// The same by `compact` (Agent.#between forgets the journal of a turn that has begun meanwhile).
it('a turn that begins while the window is compacted does not fail', async () => {
  const reasons = new Set<string>()
  for (let delay = 0; delay < 40; delay++) {
    const agent = new Agent({ contextId: 'talk', model: ScriptedModel.forever('ok') })
    for (const text of ['a', 'b', 'c']) await agent.input(text)
    const compacting = agent.compact({ keep: 2 })
    for (let n = 0; n < delay; n++) await Promise.resolve()
    const { reason, error } = await agent.executeTurn('x').outcome
    reasons.add(error?.message ?? reason)
    await compacting
  }
  expect([...reasons]).toEqual(['stop'])
})

// Several callers of Driver.step: an engine that drives and somebody who asks share one generator without a lock.
it('drive() may be called while a turn is asked for', async () => {
  const store = memoryStore()
  const inbox = [{ type: 'input', key: 'k', data: { message: 'hi' } }] as const
  await store.append({ key: KEY, id: 'p', since: 0, inbox })
  const agent = new Agent({ contextId: 'talk', store, model: ScriptedModel.forever('ok') })
  const drives = [agent.drive(), agent.drive(), agent.drive()]
  const turn = agent.executeTurn('x')
  const results = await Promise.allSettled(drives)
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  expect((await turn.outcome).reason).toBe('stop')
})
