/** A logger of the user's: pino's shape, `console`, levels, and exceptions with their stacks. */
import { Console } from 'node:console'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, list, START } from '../../src/graph/index.ts'
import type { Logger } from '../../src/observe/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { bench, calls, probe } from '../turn/kit.ts'
import { warningsDuring } from './log-kit.ts'

type Call = readonly [level: string, fields: Record<string, unknown>, message: string]

/** A logger as pino is: it has no `log`, and needs its `this`. */
class Pino implements Logger {
  readonly calls: Call[] = []

  debug(fields: object, message: string): void {
    this.calls.push(['debug', { ...fields }, message])
  }

  info(fields: object, message: string): void {
    this.calls.push(['info', { ...fields }, message])
  }

  warn(fields: object, message: string): void {
    this.calls.push(['warn', { ...fields }, message])
  }

  error(fields: object, message: string): void {
    this.calls.push(['error', { ...fields }, message])
  }
}

function noSuchBag(): never {
  throw new TypeError('no such \u001b[31mbag')
}

describe('a logger', () => {
  it('gets a call for each step, with level, fields and message', async () => {
    const logger = new Pino()
    const { agent } = bench({
      name: 'clerk',
      script: [calls(['order', { n: 2 }]), 'Done.'],
      tools: [probe('order')],
      logger,
      on: { beforeLlm: ({ add, iteration }) => void (iteration === 1 && add('Be brief.')) },
    })
    await agent.executeTurn('Order two').outcome
    const place = { agent: 'clerk', contextId: 'talk', turn: 1 }
    const spent = { durationMs: 0, cost: 0, tokens: expect.any(Number) as number }
    const model = { ...place, ...spent, model: 'scripted/model', status: 'success' }
    expect(logger.calls).toEqual([
      ['info', { ...place, input: 'Order two' }, 'turn began: "Order two"'],
      [
        'info',
        { ...model, iteration: 1 },
        expect.stringMatching(/^model scripted.model replied .*: calls order$/),
      ],
      [
        'info',
        { ...place, tool: 'order', callId: 'call_1', status: 'success', durationMs: 0 },
        'tool order {"n":2} ok in 0ms',
      ],
      ['debug', { ...place, hook: 'beforeLlm' }, 'hook beforeLlm changed {"add":"Be brief."}'],
      [
        'info',
        { ...model, iteration: 2 },
        expect.stringMatching(/^model scripted.model replied .*: "Done."$/),
      ],
      [
        'info',
        { ...place, ...spent, outcome: 'stop' },
        expect.stringMatching(/^turn ended: stop in 0ms, \d+ tokens$/),
      ],
    ])
  })

  it.each(['tool', 'hook'])('gets the own exception of a %s, with its stack', async (kind) => {
    const logger = new Pino()
    const { agent } = bench({
      script: [calls('fail'), 'Done.'],
      tools: [probe('fail', kind === 'tool' ? noSuchBag : undefined)],
      logger,
      on: kind === 'hook' ? { afterTools: noSuchBag } : {},
    })
    await agent.executeTurn('Go').outcome
    const [, fields, message] = logger.calls.find(([level]) => level === 'error') ?? []
    expect(message).toBe(
      `${kind} ${kind === 'tool' ? 'fail' : 'afterTools'} threw TypeError: no such \u001b[31mbag`,
    )
    expect((fields?.['err'] as Error | undefined)?.stack).toMatch(/^TypeError: no such .*\n +at .*noSuchBag/)
  })

  it('may be the console: it gets one text, without characters that a terminal obeys', async () => {
    const stream = new PassThrough()
    const { agent } = bench({
      name: 'clerk',
      script: [calls('fail'), 'Done.'],
      tools: [probe('fail', noSuchBag)],
      logger: new Console(stream, stream),
    })
    await agent.executeTurn('Order\ntwo').outcome
    const text = String(stream.read())
    expect(text.replaceAll(/[\x20-\x7e\n]/g, '')).toBe('')
    expect(text.split('\n').filter((line) => !line.startsWith('    at '))).toEqual([
      'holdfast clerk talk#1 turn began: "Order\\ntwo"',
      expect.stringMatching(
        /^holdfast clerk talk#1 model scripted.model replied in 0ms, \d+ tokens: calls fail$/,
      ),
      'holdfast clerk talk#1 tool fail threw TypeError: no such <U+001B>[31mbag',
      expect.stringMatching(/^holdfast clerk talk#1 tool fail {} failed in 0ms: no such <U\+001B>\[31mbag$/),
      expect.stringMatching(
        /^holdfast clerk talk#1 model scripted.model replied in 0ms, \d+ tokens: "Done."$/,
      ),
      expect.stringMatching(/^holdfast clerk talk#1 turn ended: stop in 0ms, \d+ tokens$/),
      '',
    ])
    expect(text).toMatch(/\n {4}at .*noSuchBag/)
  })

  it('can tell the conversations of two tenants apart', async () => {
    const [pino, stream] = [new Pino(), new PassThrough()]
    for (const tenant of ['acme', 'best'])
      for (const logger of [pino, new Console(stream, stream)]) {
        const { agent } = bench({ name: 'clerk', script: ['Done.'], owner: { tenant, actor: 'ann' }, logger })
        await agent.executeTurn('Hi').outcome
      }
    const [[, first], [, other]] = [pino.calls[0], pino.calls[3]] as [Call, Call]
    expect(first).toMatchObject({ agent: 'clerk', contextId: 'talk', tenant: 'acme', actor: 'ann' })
    expect(other).toMatchObject({ agent: 'clerk', contextId: 'talk', tenant: 'best', actor: 'ann' })
    expect(String(stream.read()).match(/talk#1\S*(?= turn began)/g)).toEqual([
      'talk#1[acme/ann]',
      'talk#1[best/ann]',
    ])
  })

  it('gets the steps of a graph, and of agents in it', async () => {
    const logger = new Pino()
    const notes = list<string>()
    let failed = false
    const flow = graph({ name: 'flow', state: { notes } })
      .addNode(
        'plan',
        async (_, { step }) => {
          await step('save', () => 1)
          if (failed) return {}
          failed = true
          return noSuchBag()
        },
        { retry: { attempts: 2, waitMs: 0 } },
      )
      .addNode('write', agentNode({ name: 'writer', model: new ScriptedModel(['Hm.']) }), {
        input: () => 'Write',
        output: (text) => ({ notes: [text] }),
      })
      .addEdge(START, 'plan')
      .addEdge('plan', 'write')
      .addEdge('write', END)
      .compile({ logger })
    await flow.invoke({}, { contextId: 'run' })
    const lines = logger.calls.map(([level, fields, message]) => {
      const { graph: flowName, agent, contextId, err } = fields
      const stack = (err as Error | undefined)?.stack?.includes('noSuchBag') ? ' at noSuchBag' : ''
      const text = message.replace(/ in \d.*| \{.*/, '').split('\u001b')[0]
      return `${level} ${String(flowName ?? agent)} ${String(contextId).split('/')[0]} ${text}${stack}`
    })
    expect(lines).toEqual([
      'info flow run turn began: "{}"',
      'info flow run effect save ok',
      'error flow run node plan threw TypeError: no such  at noSuchBag',
      'warn flow run node plan failed',
      'info flow run node plan ok',
      'info writer run turn began: "Write"',
      'info writer run model scripted/model replied',
      'info writer run turn ended: stop',
      'info flow run node write ok',
      'info flow run turn ended: stop',
    ])
  })

  it('that throws changes nothing', async () => {
    const broken = { info: noSuchBag, warn: noSuchBag, error: noSuchBag }
    const { agent } = bench({ script: ['Done.'], logger: broken })
    expect(await agent.input('Go')).toBe('Done.')
  })

  it('that rejects changes nothing', async () => {
    const rejects = () => Promise.reject(new Error('The collector is down.'))
    const warnings = await warningsDuring(async () => {
      const { agent } = bench({ script: ['Done.'], logger: { info: rejects, warn: rejects, error: rejects } })
      expect(await agent.input('Go')).toBe('Done.')
    })
    expect(warnings).toContain('An observer of turns failed, and was ignored: The collector is down.')
  })

  it('is checked', () => {
    expect(() => bench({ logger: { log: () => {} } as never })).toThrow(
      'logger must have info(), warn() and error(), as pino or console, not an object',
    )
    expect(() => bench({ logger: null as never })).toThrow('logger must have info()')
    const flow = graph({ state: {} })
      .addNode('one', () => ({}))
      .addEdge(START, 'one')
      .addEdge('one', END)
    expect(() => flow.compile({ logger: 'console' as never })).toThrow('logger must have info()')
  })
})
