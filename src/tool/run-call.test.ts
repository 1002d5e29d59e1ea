/** One call of one tool, whatever the tool does. */
import { getEventListeners, once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Json } from '../protocol/index.ts'
import { ManualClock } from '../testing/index.ts'
import { fakeToolContext } from '../testing/tool-context.ts'
import { defineTool } from './define-tool.ts'
import { Redactor } from './redact.ts'
import { ask, toolResult } from './result.ts'
import { type CallRun, callsAround, runCall, verifyCall } from './run-call.ts'
import type { Settled, Tool, ToolContext, ToolDefinition } from './tool.ts'

type Definition = ToolDefinition<z.ZodObject, unknown>

function tool(run: Definition['run'], more: Partial<Definition> = {}): Tool {
  return defineTool({ name: 'act', description: 'Acts', input: z.object({}), ...more, run })
}

function running(made: Tool, more: Partial<CallRun> = {}): CallRun {
  return { tool: made, input: {}, context: fakeToolContext(), timer: new ManualClock(), ...more }
}

async function ends(run: Definition['run'], more: Partial<Definition> = {}): Promise<unknown> {
  return runCall(running(tool(run, more)))
}

/** Lets everything that is ready run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a call that succeeds', () => {
  const ok = { kind: 'settled', status: 'ok' }

  it('gives what its tool returns, at once, later or in steps', async () => {
    expect(await ends(() => ({ a: 1 }))).toEqual({ ...ok, output: { a: 1 } })
    expect(await ends(() => Promise.resolve([1n]))).toEqual({ ...ok, output: ['1'] })
    expect(
      await ends(async function* () {
        yield 'half'
        await Promise.resolve()
        return 'whole'
      }),
    ).toEqual({ ...ok, output: 'whole' })
    expect(await ends(() => {})).toEqual({ ...ok, output: null })
  })

  it('sees its input and its context', async () => {
    const seen: unknown[] = []
    const made = tool((input, context) => {
      seen.push(input, context.callId, context.answers, context.task)
    })
    await runCall(running(made, { input: { x: 1 }, context: fakeToolContext({ answers: { answer: 7 } }) }))
    expect(seen).toEqual([{ x: 1 }, 'call_1', { answer: 7 }, 'Do it'])
  })

  it('has a text for people from its result, or from its tool', async () => {
    expect(await ends(() => toolResult({ n: 2 }, 'two'))).toEqual({ ...ok, output: { n: 2 }, display: 'two' })
    expect(await ends(() => ({ n: 2 }), { display: (value) => JSON.stringify(value) })).toEqual({
      ...ok,
      output: { n: 2 },
      display: '{"n":2}',
    })
    const usage = { inputTokens: 1, outputTokens: 2, cachedTokens: 0, costUsd: 0 }
    expect(await ends(() => toolResult(1, 'one', { usage }))).toEqual({
      ...ok,
      output: 1,
      display: 'one',
      usage,
    })
  })

  it('stays a success when its text cannot be made', async () => {
    const display = (): string => {
      throw new Error('no')
    }
    expect(await ends(() => 1, { display })).toEqual({ ...ok, output: 1 })
    expect(await ends(() => 1, { display: () => 7 as unknown as string })).toEqual({ ...ok, output: 1 })
  })

  it('gives what the schema of the output makes of it', async () => {
    const output = z.object({ id: z.string() })
    expect(await ends(() => ({ id: 'x', internal: 1 }), { output })).toEqual({ ...ok, output: { id: 'x' } })
  })

  it('cannot be given a question by data that looks like one', async () => {
    const looks = { 'holdfast.ask': [], '~ask': [], requests: [], kind: 'asks' }
    expect(await ends(() => looks)).toEqual({ ...ok, output: looks })
  })
})

describe('a call that fails', () => {
  const thrower = (value: unknown) => (): never => {
    throw value
  }

  it.each([
    [new Error('no'), { error: 'no' }],
    [
      new TypeError('fetch failed', { cause: new Error('refused') }),
      { error: 'fetch failed: refused', name: 'TypeError' },
    ],
    [Object.assign(new Error('gone'), { code: 'ENOENT' }), { error: 'gone', code: 'ENOENT' }],
    [new AggregateError([new Error('a'), new Error('b')]), { error: 'a: b', name: 'AggregateError' }],
    [new Error(''), { error: 'The tool threw an error without a message.' }],
    ['text', { error: 'The tool threw "text".' }],
    [null, { error: 'The tool threw null.' }],
    [undefined, { error: 'The tool threw undefined.' }],
    [{ status: 404 }, { error: 'The tool threw {"status":404}.' }],
    [new Error('x'.repeat(5000)), { error: `${'x'.repeat(4000)}…` }],
  ])('is an error: %o', async (value, output) => {
    const end = { kind: 'settled', status: 'error', output }
    expect(await ends(thrower(value))).toEqual(end)
    expect(await ends(async () => Promise.resolve().then(thrower(value)))).toEqual(end)
  })

  it('is an error even if what was thrown cannot be read', async () => {
    const trap = new Proxy({}, { get: thrower(new Error('trap')) })
    expect(await ends(thrower(trap))).toEqual({
      kind: 'settled',
      status: 'error',
      output: { error: 'The tool threw something that cannot be read.' },
    })
  })

  it('is one whose result does not fit its schema', async () => {
    expect(await ends(() => ({ id: 7 }), { output: z.object({ id: z.string() }) })).toEqual({
      kind: 'settled',
      status: 'error',
      output: {
        error:
          'The tool ran to its end, but its result cannot be used: it does not fit: id: Invalid input: expected string, received number.',
        code: 'invalid-output',
      },
    })
    const output = z.string().refine(thrower(new Error('broken')))
    expect(await ends(() => 'x', { output })).toMatchObject({
      status: 'error',
      output: { code: 'invalid-output' },
    })
  })

  it('is one whose result is not JSON', async () => {
    expect(await ends(() => ({ rows: new Map() }))).toEqual({
      kind: 'settled',
      status: 'error',
      output: {
        error:
          'The tool ran to its end, but its result cannot be used: it cannot be written as JSON: `rows` is a value of type Map; use Object.fromEntries() for it.',
        code: 'not-json',
      },
    })
  })

  it('is one whose result is too large, with its beginning', async () => {
    const end = await ends(() => 'é'.repeat(3000), { maxResultBytes: 6001 })
    expect(end).toEqual({
      kind: 'settled',
      status: 'error',
      output: {
        error:
          'The tool ran to its end, but its result has 6002 bytes and at most 6001 are allowed. Ask for less: filter, or take it in parts.',
        code: 'too-large',
        bytes: 6002,
        limit: 6001,
        beginning: `"${'é'.repeat(1999)}`,
      },
    })
    expect(await ends(() => 'é'.repeat(3000), { maxResultBytes: 6002 })).toMatchObject({ status: 'ok' })
  })
})

describe('progress', () => {
  it('is what a generator yields and what is reported, without secrets, until the call is settled', async () => {
    const seen: Json[] = []
    const kept: ToolContext[] = []
    const made = tool(async function* (_, context) {
      kept.push(context)
      context.progress({ at: 'token hunter22' })
      yield 'half'
      context.progress(new Map() as unknown as Json)
      await Promise.resolve()
      return null
    })
    const context = fakeToolContext({ progress: (value) => void seen.push(value) })
    await runCall(running(made, { context, secrets: Redactor.of([{ value: 'hunter22' }]) }))
    kept[0]?.progress('too late')
    expect(seen).toEqual([
      { at: 'token [redacted]' },
      'half',
      { error: 'This progress is not JSON: it is a value of type Map; use Object.fromEntries() for it.' },
    ])
  })

  it('cannot make the tool fail', async () => {
    const context = fakeToolContext({
      progress: () => {
        throw new Error('nobody there')
      },
    })
    const made = tool((_, { progress }) => {
      progress(1)
      return 'done'
    })
    expect(await runCall(running(made, { context }))).toMatchObject({ status: 'ok', output: 'done' })
  })
})

describe('secrets', () => {
  const of = async (run: Definition['run'], more: Partial<Definition> = {}): Promise<unknown> =>
    runCall(running(tool(run, more), { secrets: Redactor.of([{ value: 'hunter22' }]) }))

  it('are in no result, text, error or question', async () => {
    const leaks = [
      await of(() => toolResult({ hunter22: ['a hunter22'] }, 'with hunter22')),
      await of(() => 'x', { display: () => 'hunter22' }),
      await of(() => Promise.reject(new Error('401 for hunter22', { cause: new Error('hunter22') }))),
      await of(() => Promise.reject(Object.assign(new Error('x'), { code: 'hunter22', name: 'hunter22' }))),
      await of(() => `hunter22 ${'x'.repeat(100)}`, { maxResultBytes: 50 }),
      await of(() => 'hunter22', {
        output: z.literal('x', { error: ({ input }) => `not ${String(input)}` }),
      }),
      await of(() => ({ hunter22: () => 1 })),
      await of(() =>
        ask({ kind: 'choice', prompt: 'hunter22?', options: ['hunter22'], about: { a: 'hunter22' } }),
      ),
    ]
    expect(leaks.map((leak) => JSON.stringify(leak)).filter((text) => text.includes('hunter22'))).toEqual([])
    expect(leaks.map((leak) => JSON.stringify(leak)).filter((text) => !text.includes('[redacted]'))).toEqual(
      [],
    )
  })
})

describe('a call whose time is up', () => {
  const hanging = (more: Partial<Definition> = {}) => {
    const gate = Promise.withResolvers<unknown>()
    const signals: AbortSignal[] = []
    const made = tool(
      (_, { signal }) => {
        signals.push(signal)
        return gate.promise
      },
      { timeoutMs: 100, ...more },
    )
    return { made, gate, signals }
  }

  it('is unknown at once, and what the tool gives later is told once', async () => {
    const { made, gate, signals } = hanging()
    const timer = new ManualClock()
    const late: Settled[] = []
    const end = runCall(running(made, { timer, onLate: (settled) => void late.push(settled) }))
    timer.advance(99)
    await settle()
    expect(signals[0]?.aborted).toBe(false)
    timer.advance(1)
    expect(await end).toEqual({
      kind: 'settled',
      status: 'unknown',
      output: {
        error:
          'act did not end within 100 ms. It may or may not have happened. Find out before you call it again.',
        code: 'timeout',
      },
    })
    expect(signals.map(({ reason }) => (reason as Error).name)).toEqual(['TimeoutError'])
    expect(late).toEqual([])
    gate.resolve({ id: 7 })
    await settle()
    expect(late).toEqual([{ status: 'ok', output: { id: 7 } }])
    expect(timer.waiting).toBe(0)
  })

  it('is an error if its tool may be run again', async () => {
    const { made } = hanging({ replay: 'safe' })
    const timer = new ManualClock()
    const end = runCall(running(made, { timer }))
    timer.advance(100)
    expect(await end).toEqual({
      kind: 'settled',
      status: 'error',
      output: {
        error: 'act did not end within 100 ms. It has no result. It is safe to call it again.',
        code: 'timeout',
      },
    })
  })

  it('is told late that it failed, or asked something', async () => {
    const late: Settled[] = []
    for (const last of ['failure', 'question']) {
      const { made, gate } = hanging()
      const timer = new ManualClock()
      const end = runCall(running(made, { timer, onLate: (settled) => void late.push(settled) }))
      timer.advance(100)
      await end
      if (last === 'failure') gate.reject(new Error('gave up'))
      else gate.resolve(ask({ kind: 'text', prompt: 'Who?' }))
      await settle()
    }
    expect(late).toEqual([
      {
        status: 'error',
        output: { error: 'The tool was stopped when its time was up: gave up', code: 'timeout' },
      },
      {
        status: 'error',
        output: {
          error: 'The tool asked a question after its call was settled. Call it again to be asked.',
          code: 'invalid-question',
        },
      },
    ])
  })

  it('ends a generator at its next step', async () => {
    const timer = new ManualClock()
    const seen: string[] = []
    const step = Promise.withResolvers<void>()
    const made = tool(
      async function* () {
        try {
          await step.promise
          for (;;) yield 'more'
        } finally {
          seen.push('cleaned up')
        }
      },
      { timeoutMs: 1 },
    )
    const end = runCall(running(made, { timer, onLate: ({ status }) => void seen.push(status) }))
    timer.advance(1)
    await end
    step.resolve()
    await settle()
    expect(seen).toEqual(['cleaned up', 'error'])
  })

  it('leaves no wait behind when the tool ends in time', async () => {
    const timer = new ManualClock()
    const late: Settled[] = []
    const run = running(
      tool(() => 1, { timeoutMs: 100 }),
      { timer, onLate: (settled) => void late.push(settled) },
    )
    expect(await runCall(run)).toMatchObject({ status: 'ok' })
    expect(timer.waiting).toBe(0)
    timer.advance(1000)
    await settle()
    expect(late).toEqual([])
  })
})

describe('a call that is cancelled', () => {
  it('is given its grace time to end by itself', async () => {
    const controller = new AbortController()
    const timer = new ManualClock()
    const made = tool(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return `stopped: ${String(signal.reason)}`
    })
    const end = runCall(running(made, { timer, context: fakeToolContext({ signal: controller.signal }) }))
    controller.abort('enough')
    expect(await end).toEqual({ kind: 'settled', status: 'ok', output: 'stopped: enough' })
    expect(timer.waiting).toBe(0)
  })

  it('is an error when its tool throws because of it', async () => {
    const controller = new AbortController()
    const made = tool(async (_, { signal }) => {
      await once(signal, 'abort')
      throw new Error('aborted')
    })
    const end = runCall(running(made, { context: fakeToolContext({ signal: controller.signal }) }))
    controller.abort()
    expect(await end).toEqual({
      kind: 'settled',
      status: 'error',
      output: { error: 'The call was cancelled: aborted', code: 'cancelled' },
    })
  })

  it.each([
    ['never', 'unknown', 'It may or may not have happened. Find out before you call it again.'],
    ['safe', 'error', 'It has no result. It is safe to call it again.'],
  ] as const)('and does not stop, is settled after the grace time: %s', async (replay, status, text) => {
    const controller = new AbortController()
    const timer = new ManualClock()
    const gate = Promise.withResolvers<string>()
    const late: Settled[] = []
    const run = running(
      tool(() => gate.promise, { replay }),
      {
        timer,
        graceMs: 50,
        context: fakeToolContext({ signal: controller.signal }),
        onLate: (settled) => void late.push(settled),
      },
    )
    const end = runCall(run)
    controller.abort()
    await settle()
    timer.advance(50)
    expect(await end).toEqual({
      kind: 'settled',
      status,
      output: { error: `act was cancelled and did not stop within 50 ms. ${text}`, code: 'cancelled' },
    })
    gate.resolve('after all')
    await settle()
    expect(late).toEqual([{ status: 'ok', output: 'after all' }])
  })

  it('has 5 seconds of grace unless told otherwise', async () => {
    const controller = new AbortController()
    const timer = new ManualClock()
    const run = running(
      tool(() => new Promise(() => {})),
      {
        timer,
        context: fakeToolContext({ signal: controller.signal }),
      },
    )
    const end = runCall(run)
    controller.abort()
    await settle()
    timer.advance(4999)
    await settle()
    expect(timer.waiting).toBe(1)
    timer.advance(1)
    expect(await end).toMatchObject({ status: 'unknown' })
  })

  it('before it started is not run', async () => {
    const seen: string[] = []
    const context = fakeToolContext({ signal: AbortSignal.abort() })
    expect(
      await runCall(
        running(
          tool(() => void seen.push('ran')),
          { context },
        ),
      ),
    ).toEqual({
      kind: 'settled',
      status: 'not-run',
      output: { error: 'act was cancelled before it started. Nothing was done.', code: 'cancelled' },
    })
    expect(seen).toEqual([])
  })

  it('leaves no listener behind, however it ended', async () => {
    const { signal } = new AbortController()
    const context = fakeToolContext({ signal })
    const timer = new ManualClock()
    for (let round = 0; round < 20; round++) {
      await runCall(
        running(
          tool(() => round),
          { context, timer },
        ),
      )
      await runCall(
        running(
          tool(() => Promise.reject(new Error('no'))),
          { context, timer },
        ),
      )
    }
    const end = runCall(
      running(
        tool(() => new Promise(() => {}), { timeoutMs: 1 }),
        { context, timer },
      ),
    )
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    timer.advance(1)
    await end
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('a tool that asks', () => {
  const prompt = 'Which?'

  it('ends with its questions, schemas as JSON Schema', async () => {
    const end = await ends(() =>
      ask([
        { kind: 'data', prompt, name: 'size', schema: z.object({ width: z.number() }), expiresInMs: 1000 },
        { kind: 'choice', prompt, options: ['a', 'b'], multiple: true, about: { row: 1 } },
        { kind: 'data', prompt, name: 'plain', schema: { type: 'string' }, multiple: false },
      ]),
    )
    expect(end).toEqual({
      kind: 'asks',
      requests: [
        {
          kind: 'data',
          prompt,
          name: 'size',
          from: 'act',
          schema: { type: 'object', properties: { width: { type: 'number' } }, required: ['width'] },
          expiresInMs: 1000,
        },
        {
          kind: 'choice',
          prompt,
          name: 'answer',
          from: 'act',
          options: ['a', 'b'],
          multiple: true,
          about: { row: 1 },
        },
        { kind: 'data', prompt, name: 'plain', from: 'act', schema: { type: 'string' } },
      ],
    })
  })

  it('may do so after steps', async () => {
    const end = await ends(async function* () {
      yield 1
      await Promise.resolve()
      return ask({ kind: 'text', prompt })
    })
    expect(end).toMatchObject({ kind: 'asks', requests: [{ kind: 'text', prompt }] })
  })

  it.each([
    [{ schema: { $ref: '#/nowhere' } }, /its schema cannot be used: Unresolved \$ref/],
    [{ schema: z.date() }, /The schema cannot be written as JSON Schema/],
    [{ about: { on: [new Map() as unknown as Json] } }, /`about\.on\[0\]` is a value of type Map/],
    [{ about: { text: 'x'.repeat(300_000) } }, /it has 3000\d\d bytes and at most 262144 are allowed/],
  ])('fails with a question that cannot be stored: %o', async (wrong, message) => {
    expect(await ends(() => ask({ kind: 'data', prompt, ...wrong }))).toMatchObject({
      kind: 'settled',
      status: 'error',
      output: { code: 'invalid-question', error: expect.stringMatching(message) },
    })
  })

  it.each([
    [[], 'Invalid question: no question was given. Give at least one.'],
    [{ kind: 'text', prompt: ' ' }, 'Invalid question: the prompt is empty. Write a question.'],
    [
      { kind: 'vote', prompt },
      'Invalid question: "vote" is no kind. Use confirmation, choice, data, text, auth.',
    ],
    [
      { kind: 'choice', prompt, options: [] },
      'Invalid question: a choice without options was asked for. Give `options`.',
    ],
    [
      { kind: 'data', prompt, schema: 7 },
      'Invalid question: the schema is no schema. Give a Standard Schema or JSON Schema.',
    ],
    [
      { kind: 'text', prompt, expiresInMs: 0 },
      'Invalid question: expiresInMs is 0. Give milliseconds, more than 0.',
    ],
    [
      { kind: 'text', prompt, expiresInMs: Number.POSITIVE_INFINITY },
      'Invalid question: expiresInMs is Infinity. Give milliseconds, at most 100 years of them.',
    ],
    [null, 'Invalid question: it is no object. Give { kind, prompt }, or a list of these.'],
    [['Sure?'], 'Invalid question: it is no object. Give { kind, prompt }, or a list of these.'],
    [
      [
        { kind: 'text', prompt },
        { kind: 'text', prompt },
      ],
      'Invalid question: two questions are called "answer". Give each a `name` of its own.',
    ],
  ])('cannot ask %o', (request, message) => {
    expect(() => ask(request as never)).toThrow(expect.objectContaining({ code: 'invalid-option', message }))
  })
})

describe('code that runs inside of a call', () => {
  const around = () => callsAround().map((context) => (context as ToolContext).callId)
  const call = (callId: string, run: Definition['run'], more: Partial<Definition> = {}) =>
    runCall(running(tool(run, more), { context: { ...fakeToolContext(), callId } }))

  it('knows the calls that it is a part of, innermost first', async () => {
    const seen: unknown[] = [around()]
    await call('outer', async () => {
      await settle()
      seen.push(around())
      await call('inner', async () => {
        await settle()
        seen.push(around())
      })
      seen.push(around())
    })
    expect([...seen, around()]).toEqual([[], ['outer'], ['inner', 'outer'], ['outer'], []])
  })

  it('is part of none when that has ended', async () => {
    const later = Promise.withResolvers<readonly string[]>()
    await call('over', () => void setTimeout(() => later.resolve(around()), 5))
    expect(await later.promise).toEqual([])
  })
})

describe('verifying a call', () => {
  const verified = async (verify: Definition['verify'], more: Partial<CallRun> = {}): Promise<unknown> =>
    verifyCall(
      running(
        tool(() => 'ran', verify === undefined ? {} : { verify }),
        more,
      ),
    )

  it('tells to run it, its result, or that nobody can say', async () => {
    expect(await verified(() => ({ happened: false }))).toBe('run')
    expect(await verified(() => Promise.resolve({ happened: true, output: { id: 1n } }))).toEqual({
      status: 'ok',
      output: { id: '1' },
    })
    expect(await verified(() => ({ happened: 'unknown' }))).toBe(undefined)
    expect(await verified(undefined)).toBe(undefined)
  })

  it('tells nothing when it throws, makes no sense, or is cancelled', async () => {
    expect(await verified(() => Promise.reject(new Error('no')))).toBe(undefined)
    expect(
      await verified(() => {
        throw new Error('no')
      }),
    ).toBe(undefined)
    expect(await verified(() => undefined as never)).toBe(undefined)
    expect(await verified(() => ({ happened: 'yes' }) as never)).toBe(undefined)
    expect(await verified(() => ({ happened: true, output: ask({ kind: 'text', prompt: 'x' }) }))).toBe(
      undefined,
    )
    const context = fakeToolContext({ signal: AbortSignal.abort() })
    expect(await verified(() => ({ happened: false }), { context })).toBe(undefined)
  })

  it('tells nothing when its time is up', async () => {
    const timer = new ManualClock()
    const made = tool(() => 1, { timeoutMs: 10, verify: () => new Promise(() => {}) })
    const answer = verifyCall(running(made, { timer }))
    timer.advance(10)
    expect(await answer).toBe(undefined)
  })
})
