/** The console output of an agent with `quiet: false`: exact text, colours, streaming, and hostile text. */
import { describe, expect, it } from 'vitest'
import { Agent, agentTool } from '../../src/agent/index.ts'
import { Console, consoleLog } from '../../src/observe/console.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { asking, type BenchOptions, bench, calls, gate, KEY, probe } from '../turn/kit.ts'

/** Everything that was printed, with each write at its end. */
class Screen {
  readonly writes: string[] = []
  readonly isTTY: boolean

  constructor(isTTY = false) {
    this.isTTY = isTTY
  }

  readonly write = (text: string): void => void this.writes.push(text)
  readonly on = (): void => {}

  get text(): string {
    return this.writes.join('')
  }
}

function printed(config: BenchOptions = {}, { isTTY = false, env = {} } = {}) {
  const screen = new Screen(isTTY)
  const telemetry = consoleLog(KEY, new Console(screen, env))
  return { ...bench({ name: 'clerk', telemetry, ...config }), screen }
}

const order = () => probe('order', () => ({ ordered: 2 }))

describe('the console output of an agent', () => {
  it('has the input, model calls, tools, the reply and the outcome', async () => {
    const fail = probe('fail', () => {
      throw new TypeError('no such bag')
    })
    const { agent, screen } = printed({
      script: [
        { text: 'One moment.', calls: [{ tool: 'order', args: { n: 2 } }, { tool: 'fail' }] },
        'Two bags\nare on their way.',
      ],
      tools: [order(), fail],
    })
    await agent.executeTurn('Please order\ntwo bags.').outcome
    expect(screen.text.replaceAll(/\d+ tokens/g, 'N tokens')).toBe(
      [
        '› clerk Please order',
        '  two bags.',
        'One moment.',
        '◦ scripted/model N tokens, 0ms',
        '✗ fail {} failed in 0ms: no such bag',
        '✓ order {"n":2} ok in 0ms',
        'Two bags',
        'are on their way.',
        '◦ scripted/model N tokens, 0ms',
        '● stop in 0ms, N tokens',
        '',
      ].join('\n'),
    )
  })

  it('streams the reply as it arrives', async () => {
    const { agent, screen } = printed({ script: [{ deltas: ['Go', 'od d', 'ay'] }] })
    await agent.executeTurn('Hello').outcome
    expect(screen.writes.slice(1, 5)).toEqual(['Go', 'od d', 'ay', '\n'])
  })

  it('has questions, failures and refusals', async () => {
    const { agent, screen } = printed({
      script: [calls('choose'), { error: { status: 401, message: 'wrong key' } }],
      tools: [asking('choose', { kind: 'text', prompt: 'Which\none?' })],
    })
    await agent.executeTurn('Go').outcome
    await agent.executeTurn('That one').outcome
    await agent.shutdown()
    await agent.executeTurn('Hello?').outcome
    expect(screen.text.replaceAll(/\d+ tokens/g, 'N tokens').split('\n')).toEqual([
      '› clerk Go',
      '◦ scripted/model N tokens, 0ms',
      '? Which',
      '  one?',
      '? choose {} waits',
      '● input-required in 0ms, N tokens',
      '? answered: "That one"',
      '✓ choose {} ok in 0ms',
      '! scripted/model N tokens, 0ms: wrong key',
      '● failed in 0ms, N tokens: wrong key',
      '✗ turn refused (shutdown): The agent of talk was shut down. Call start() to continue; nothing is lost.',
      '',
    ])
  })

  it('indents sub-agents, under their names, without their replies', async () => {
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: {
        name: 'reader',
        model: new ScriptedModel([calls(['order', { n: 1 }]), '42 it is.']),
        tools: [order()],
      },
    })
    const { agent, screen } = printed({
      script: [calls(['helper', { message: 'How much?' }]), 'It says 42.'],
      tools: [helper],
    })
    await agent.executeTurn('Ask').outcome
    expect(screen.text.replaceAll(/\d+ tokens/g, 'N tokens').split('\n')).toEqual([
      '› clerk Ask',
      '◦ scripted/model N tokens, 0ms',
      '  › reader: How much?',
      '  ◦ reader: scripted/model N tokens, 0ms',
      '  ✓ reader: order {"n":1} ok in 0ms',
      '  ◦ reader: scripted/model N tokens, 0ms',
      '  ● reader: stop in 0ms, N tokens',
      '✓ helper {"message":"How much?"} ok in 0ms',
      'It says 42.',
      '◦ scripted/model N tokens, 0ms',
      '● stop in 0ms, N tokens',
      '',
    ])
  })

  it('of two agents at once has each line whole', async () => {
    const screen = new Screen()
    const shared = new Console(screen, {})
    const later = gate()
    const slow = new ScriptedModel([async () => (await later.promise, { deltas: ['aaa', 'bbb'] })])
    const agentOf = (contextId: string, model: ScriptedModel): Agent =>
      new Agent({ contextId, name: contextId, model, telemetry: consoleLog({ ...KEY, contextId }, shared) })
    const [first, second] = [
      agentOf('one', slow),
      agentOf('two', new ScriptedModel([{ deltas: ['ccc', 'ddd'] }])),
    ]
    const running = first.executeTurn('Go').outcome
    await second.executeTurn('Go').outcome
    later.resolve()
    await running
    const lines = screen.text.split('\n').map((line) => line.replace(/ \d+ tokens.*| in \d.*/, ''))
    expect(lines.toSorted()).toEqual(
      [
        '',
        'aaabbb',
        'cccddd',
        '› one Go',
        '› two Go',
        '◦ scripted/model',
        '◦ scripted/model',
        '● stop',
        '● stop',
      ].toSorted(),
    )
  })

  it.each([
    [true, {}, true],
    [true, { NO_COLOR: '1' }, false],
    [false, {}, false],
    [false, { FORCE_COLOR: '1' }, true],
  ])('on a terminal: %s, with %j: has colours: %s', async (isTTY, env, hasColours) => {
    const { agent, screen } = printed({ script: ['Hi.'] }, { isTTY, env })
    await agent.executeTurn('Hello').outcome
    expect(screen.text.includes('\u001b[36m›\u001b[39m')).toBe(hasColours)
    expect(screen.text.includes('\u001b')).toBe(hasColours)
  })

  it('has no character that a terminal obeys, wherever it comes from', async () => {
    const evil = '\u001b]0;x\u0007\u001b[2J\r\u202e\u009b31m'
    const tool = probe('look', () => {
      throw new Error(evil)
    })
    const { agent, screen } = printed({
      name: `clerk${evil}`,
      script: [
        {
          text: evil,
          calls: [
            { tool: 'look', args: { n: 1 } },
            { tool: evil, args: { [evil]: evil } },
          ],
        },
        { deltas: ['a\u001b', '[2J\r', '\nb'] },
      ],
      tools: [tool],
      on: {
        onComplete: () => {
          throw new Error(evil)
        },
      },
    })
    await agent.executeTurn(`Hello ${evil}`).outcome
    expect(screen.text.replaceAll(/[\x20-\x7e\n›◦●✓✗?!…]/g, '')).toBe('')
    expect(screen.text).toContain('hook onComplete threw Error: <U+001B>]0;x')
  })
})
