/** Limits as people write them, and prompts as providers want them (R9). */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { agentTool } from '../../src/agent/agent-tool.ts'
import type { EntryData } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, type ToolContext } from '../../src/tool/index.ts'
import { calls, probe } from '../turn/kit.ts'

// JSON makes null of Infinity, and every number is at least null.
it.each(['iterations', 'durationMs', 'tokens', 'toolCalls'])(
  'a limit of infinite %s is none',
  async (limit) => {
    const agent = new Agent({ contextId: 'talk', model: ScriptedModel.forever('ok') })
    const { reason } = await agent.executeTurn('x', { limits: { [limit]: Number.POSITIVE_INFINITY } }).outcome
    expect(reason).toBe('stop')
  },
)

it('an infinite limit of the caller is none for its sub-agent', async () => {
  const sub = agentTool({
    name: 'sub',
    description: 'helps',
    agent: { model: ScriptedModel.forever('Helped.') },
  })
  const model = new ScriptedModel([calls(['sub', { message: 'x' }]), 'Done.'])
  const agent = new Agent({
    contextId: 'talk',
    model,
    tools: [sub],
    limits: { tokens: Number.POSITIVE_INFINITY },
  })
  const outputs: unknown[] = []
  for await (const { type, data, path } of agent.executeTurn('x') as AsyncIterable<never>)
    if (type === 'tool.end' && path === undefined) outputs.push((data as EntryData['tool.end']).output)
  expect(outputs).toEqual(['Helped.'])
})

// Config limits are checked, those of a turn are not.
it.each([{ iterations: -1 }, { tokens: 'many' }, { tokenz: 5 }, { iterations: Number.NaN }])(
  'a limit of a turn that makes no sense is refused: %j',
  async (limits) => {
    const agent = new Agent({ contextId: 'talk', model: ScriptedModel.forever('ok') })
    const { error } = await agent.executeTurn('x', { limits: limits as never }).outcome
    expect(error?.code).toBe('invalid-option')
  },
)

it.each([
  { whileBusy: 'stear' },
  { requestTtlMs: Number.NaN },
  { requestTtlMs: -1 },
  { graceMs: Number.NaN },
  { maxClaims: -1 },
  { tools: 'x' },
  { limits: null },
  { name: 5 },
  { model: null },
  { model: {} },
  { limits: { tokenz: 5 } },
])('a config that cannot work is refused with a HoldfastError: %j', (config) => {
  expect(() => new Agent({ contextId: 'talk', ...(config as object) })).toThrow(
    expect.objectContaining({ name: 'HoldfastError', code: 'invalid-option' }),
  )
})

// Three wrong calls in one reply end the turn before the model has read what was wrong with them.
it('the model reads why the calls of a reply were refused, however many they are', async () => {
  const wrong = ['look', { n: 'a' }] as const
  const model = new ScriptedModel([calls(wrong, wrong, wrong), 'I see.'])
  const agent = new Agent({ contextId: 'talk', model, tools: [probe('look')] })
  expect((await agent.executeTurn('x').outcome).text).toBe('I see.')
})

function problems(model: ScriptedModel): string[] {
  return model.calls.flatMap(({ prompt }, call) => {
    const said = prompt.filter(({ role }) => role !== 'system')
    const blank = said.some(({ content }) =>
      (content as { type: string; text?: string }[]).some(
        ({ type, text }) => type === 'text' && text?.trim() === '',
      ),
    )
    return [
      ...(said.length === 0 ? [`${call} is empty`] : []),
      ...(said.length > 0 && said[0]?.role !== 'user' ? [`${call} begins with ${said[0]?.role}`] : []),
      ...(said.at(-1)?.role === 'assistant' ? [`${call} ends with a reply`] : []),
      ...(blank ? [`${call} has blank text`] : []),
    ]
  })
}

it('a prompt is never empty: nothing to go on with after a clear', async () => {
  const model = new ScriptedModel([{ error: { status: 400 } }, 'ok'])
  const agent = new Agent({ contextId: 'talk', model })
  await agent.executeTurn('x').outcome
  await agent.clear()
  await agent.executeTurn(null).outcome
  expect(problems(model)).toEqual([])
})

it('a prompt is never empty: compact leaves what was asked', async () => {
  const model = new ScriptedModel(['a', { error: { status: 400 } }, 'ok'])
  const agent = new Agent({ contextId: 'talk', model })
  await agent.input('x')
  await agent.executeTurn('y').outcome
  await agent.compact({ keep: 0 }).catch(() => {})
  await agent.executeTurn(null).outcome
  expect(problems(model)).toEqual([])
})

it('a prompt is never empty: a message of empty parts is refused', async () => {
  const model = ScriptedModel.forever('ok')
  const agent = new Agent({ contextId: 'talk', model })
  expect((await agent.executeTurn([{ type: 'text', text: '' }]).outcome).error?.code).toBe('invalid-option')
  expect(problems(model)).toEqual([])
})

// Anthropic refuses "text content blocks must contain non-whitespace text", for ever once it is in the journal.
it('a reply of blanks is not sent back', async () => {
  const model = new ScriptedModel([' \n', 'ok'])
  const agent = new Agent({ contextId: 'talk', model })
  await agent.input('x')
  await agent.input('y')
  expect(problems(model)).toEqual([])
})

// compaction.ts cuts at a model call, so that the window begins with a reply; the window itself keeps what was asked.
it('a prompt begins with what somebody said, after compaction inside of a turn too', async () => {
  const model = new ScriptedModel(({ prompt, call }) =>
    prompt.at(-1)?.role === 'user' && call % 2 ? calls('look', 'look', 'look') : 'ok',
  )
  const agent = new Agent({
    contextId: 'talk',
    model,
    tools: [probe('look')],
    maxMessages: 4,
    autoCompact: true,
  })
  for (const text of ['a', 'b', 'c', 'd', 'e']) await agent.executeTurn(text).outcome
  expect(problems(model)).toEqual([])
})

// `told[name] = …` on a plain object sets its prototype: the answer never arrives and the question comes again.
it('a question called __proto__ gets its answer', async () => {
  const run = (_: unknown, { answers }: ToolContext) =>
    Object.hasOwn(answers, '__proto__') ? 'told' : ask({ kind: 'text', prompt: 'q', name: '__proto__' })
  const model = new ScriptedModel([calls('odd'), 'Done.'])
  const agent = new Agent({ contextId: 'talk', model, tools: [probe('odd', run)] })
  const { requests } = await agent.executeTurn('x').outcome
  const told = await agent.answer({ [requests[0]?.requestId ?? '']: 'yes' }).outcome
  expect(told.text).toBe('Done.')
})

// The context shares principal and metadata with the session: what one tool writes, the next one and the snapshot see.
it('a tool cannot change who asks', async () => {
  const seen: string[] = []
  const tool = probe('odd', (_, { principal }) => {
    seen.push(principal.actor)
    ;(principal as { actor: string }).actor = 'root'
    return 1
  })
  const agent = new Agent({
    contextId: 'talk',
    model: new ScriptedModel([calls('odd'), calls('odd'), 'ok']),
    tools: [tool],
  })
  await agent.executeTurn('x').outcome
  expect(seen.every((actor) => actor === 'local')).toBe(true)
})

// limitsLeft is read when each call starts: three sub-agents at once may each use all of what is left.
it('sub-agents that run together share what is left of their caller’s limits', async () => {
  const reply = { calls: [{ tool: 'look' }], usage: { inputTokens: 100, outputTokens: 0 } }
  const names = ['a', 'b', 'c']
  const tools = names.map((name) =>
    agentTool({
      name,
      description: name,
      agent: { model: ScriptedModel.forever(reply), tools: [probe('look')] },
    }),
  )
  const model = new ScriptedModel([calls(...names.map((name) => [name, { message: 'x' }] as const)), 'Done.'])
  const agent = new Agent({ contextId: 'talk', model, tools, limits: { tokens: 500 } })
  const { usage } = await agent.executeTurn('x').outcome
  expect(usage.inputTokens).toBeLessThan(1000)
})
