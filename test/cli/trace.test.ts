/** `holdfast trace`, and breakpoints in the chat. The guide shows what these tests capture. */
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Agent } from 'holdfast'
import type { TraceEntry, TraceTree } from 'holdfast/observe'
import { ScriptedModel } from 'holdfast/testing'
import { afterAll, describe, expect, it } from 'vitest'
import { openOutputs } from '../../src/cli/gate/outputs.ts'
import { main } from '../../src/cli/main.ts'
import { waterfallLines } from '../../src/cli/terminal/waterfall.ts'
import { readTrace } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { joinLines } from '../../src/terminal/index.ts'
import { capture } from '../capture.ts'
import { openSqlite, until } from '../turn/kit.ts'
import { inProcess } from './in-process.ts'
import { FIXTURE, Folders, holdfast } from './kit.ts'
import { noTmux, TestTerminal } from './tmux.ts'

const CONFIG = resolve('test/cli/fixture/payments.config.ts')
const folders = new Folders()
afterAll(() => folders.remove())

function run(cwd: string, ...args: readonly string[]) {
  const [command = '', ...rest] = args
  return inProcess([command, '--config', CONFIG, ...rest], { cwd, env: { HOLDFAST_HOME: join(cwd, 'data') } })
}

const model = (timestamp: number, ms: number, usage: readonly [number, number, number]): TraceEntry => ({
  type: 'llm_call',
  turn: 1,
  model: 'openai/gpt-4.1-mini',
  timestamp,
  duration_ms: ms,
  tool_calls_count: 0,
  iteration: 1,
  usage: { input_tokens: usage[0], output_tokens: usage[1], cached_tokens: 0, cost: usage[2] },
  status: 'success',
})

const tool = (timestamp: number, timing: number, more: Partial<TraceEntry>): TraceEntry =>
  ({
    type: 'tool_execution',
    turn: 1,
    call_id: `call_${timestamp}`,
    status: 'success',
    iteration: 1,
    timestamp,
    timing,
    ...more,
  }) as TraceEntry

const result = (timestamp: number, ms: number, usage: readonly [number, number, number]): TraceEntry => ({
  type: 'turn_result',
  turn: 1,
  reason: 'stop',
  duration_ms: ms,
  usage: { input_tokens: usage[0], output_tokens: usage[1], cached_tokens: 0, cost: usage[2] },
  timestamp,
})

const TREE: TraceTree = {
  contextId: 'site:main',
  trace: [
    { type: 'user_input', turn: 1, prompt: 'Which roofs are done?', timestamp: 0 },
    model(0, 612, [812, 41, 0.0004]),
    tool(620, 219, { tool_name: 'fail', arguments: {}, status: 'error', error: 'Connection refused' }),
    tool(621, 524, { tool_name: 'search', arguments: { q: 'roofs' } }),
    tool(1150, 3400, { tool_name: 'research', arguments: { message: 'dig' } }),
    model(4560, 801, [1204, 88, 0.0006]),
    result(5361, 5361, [2819, 215, 0.0015]),
  ],
  below: [
    {
      of: 'call_1150',
      contextId: 'site:main/call_1150',
      trace: [
        { type: 'user_input', turn: 1, prompt: 'dig', timestamp: 1160 },
        model(1160, 1100, [301, 22, 0.0002]),
        tool(2270, 90, { tool_name: 'read', arguments: { path: 'roofs.md' } }),
        model(2370, 1800, [502, 64, 0.0003]),
        result(4200, 3040, [803, 86, 0.0005]),
      ],
      below: [],
    },
  ],
}

describe('a waterfall', () => {
  it('shows what ran, below what, and when: the capture of the guide', () => {
    const drawn = joinLines(waterfallLines(TREE, { columns: 90, now: 6000 })).rendered(false)
    const text = drawn.replaceAll(/ +$/gm, '')
    expect(text).toBe(capture('trace', text, 'trace'))
  })

  it('has colours that switch off, and fits any width', () => {
    const lines = waterfallLines(TREE, { columns: 40, now: 6000 })
    expect(joinLines(lines).rendered(true)).toContain('\u001B[31m')
    expect(Math.max(...lines.map((line) => line.rendered(false).length))).toBeLessThanOrEqual(40)
  })

  it('says of a model call that it was cancelled', () => {
    const trace = [{ ...model(0, 612, [812, 3, 0]), status: 'cancelled' } as TraceEntry]
    const [line] = waterfallLines({ ...TREE, below: [], trace }, { columns: 90, now: 1500 })
    expect(line?.rendered(false)).toMatch(/◆ openai\/gpt-4\.1-mini cancelled 812→3 +█+ +612 ms/)
  })

  it('shows a call that still runs up to now', () => {
    const running = {
      ...TREE,
      below: [],
      trace: [tool(0, 0, { tool_name: 'dig', arguments: {}, status: 'running' })],
    }
    const [line] = waterfallLines(running, { columns: 60, now: 1500 })
    expect(line?.rendered(false)).toMatch(/▸ dig \{\} running +█+ +1\.5 s…/)
  })
})

describe('holdfast trace', () => {
  it('draws turns, prints JSON, and follows', async () => {
    const cwd = folders.make()
    await run(cwd, 'run', '--context', 'main', 'Pay Meyer')
    await run(cwd, 'run', '--context', 'main', 'Again')
    const { stdout, code } = await run(cwd, 'trace', 'main', '--turn', 'all')
    expect(code).toBe(0)
    const turn = (text: string) => [
      `› ${text}`,
      expect.stringMatching(/^◆ scripted\/model/) as string,
      '▸ pay {"amount":120,"to":"Meye',
      expect.stringMatching(/^◆ scripted\/model/) as string,
      expect.stringMatching(/^— stop · /) as string,
    ]
    expect(stdout.split('\n').map((line) => line.slice(0, 30).trimEnd())).toEqual([
      ...['clerk:main 2 turns', ...turn('Pay Meyer'), ...turn('Again'), ''],
    ])
    const { contextId, trace } = JSON.parse((await run(cwd, 'trace', 'main', '--json')).stdout) as TraceTree
    expect(contextId).toBe('clerk:main')
    expect(trace.map(({ type }) => type)).toEqual([
      ...['user_input', 'llm_call', 'tool_execution', 'llm_call', 'turn_result'],
    ])
    const followed = (await run(cwd, 'trace', 'main', '--turn', '2', '--follow', '--json')).stdout
    const lines = followed.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(trace)
  })

  /** The types that `trace --follow` prints of a turn with the tool `gate`, which is opened once `seen` is printed. */
  async function followedTypes(message: string, seen: RegExp): Promise<readonly string[]> {
    const cwd = folders.make()
    const env = { HOLDFAST_HOME: join(cwd, 'data') }
    const running = holdfast(['run', '--config', FIXTURE, '--context', 'live', message], { cwd, env })
    const path = join(cwd, 'data', 'holdfast.db')
    const key = { ...LOCAL_OWNER, contextId: 'site:live' }
    await until('the file is there', () => existsSync(path) && statSync(path).size > 0)
    const store = openSqlite(path)
    await until('the tool runs', async () =>
      (await readTrace(store, key)).some(({ type }) => type === 'tool_execution'),
    )
    let first = ''
    const { stdout, code } = await holdfast(['trace', '--config', FIXTURE, 'live', '--follow', '--json'], {
      cwd,
      env,
      meanwhile: (child) =>
        child.stdout?.on('data', (text: string) => {
          first += text
          if (seen.test(first)) writeFileSync(join(cwd, 'data', 'open'), '')
        }),
    })
    await running
    expect(code).toBe(0)
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TraceEntry)
    return entries.map((entry) => (entry.type === 'tool_execution' ? entry.tool_name : entry.type))
  }

  it('follows a turn that another process runs', async () => {
    const types = await followedTypes('gate', /llm_call/)
    expect(types).toEqual(['user_input', 'llm_call', 'gate', 'llm_call', 'turn_result'])
  })

  it('follows a call that ends while another one waits for approval', async () => {
    const types = await followedTypes('gate and order', /request/)
    expect(types).toEqual(['user_input', 'llm_call', 'request', 'gate', 'order', 'turn_result'])
  })

  it('stops following when nobody reads any more', async () => {
    const cwd = folders.make({ 'data/keep': '' })
    const store = openSqlite(join(cwd, 'data', 'holdfast.db'))
    const agent = new Agent({ contextId: 'site:live', store, model: new ScriptedModel([{ stall: true }]) })
    const turn = agent.executeTurn('hello')
    for await (const { type } of turn) if (type === 'model.start') break
    const closed = { write: () => true, on: () => {}, writable: false }
    const env = { HOLDFAST_HOME: join(cwd, 'data') }
    const environment = { ...openOutputs({ stdout: closed, stderr: closed }, { env }), cwd, env }
    const args = ['trace', '--config', FIXTURE, 'live', '--follow']
    expect(await main(args, { ...environment, stdin: process.stdin })).toBe(0)
    await turn.cancel()
    await agent.shutdown()
    await store.close()
  })

  it('stops following a turn that is gone', async () => {
    const cwd = folders.make({ 'data/keep': '' })
    const path = join(cwd, 'data', 'holdfast.db')
    const store = openSqlite(path)
    const agent = new Agent({ contextId: 'site:live', store, model: new ScriptedModel([{ stall: true }]) })
    const turn = agent.executeTurn('hello')
    for await (const { type } of turn) if (type === 'model.start') break
    const { code, stderr } = await holdfast(['trace', '--config', FIXTURE, 'live', '--follow'], {
      cwd,
      env: { HOLDFAST_HOME: join(cwd, 'data') },
      meanwhile: (child) =>
        child.stdout?.once('data', () => void store.erase({ ...LOCAL_OWNER, contextId: 'site:live' })),
    })
    expect(stderr).toContain('Turn 1 of site:live is gone: it was pruned, or the conversation was erased.')
    expect(code).toBe(1)
    // It may learn of the erase only now.
    await agent.shutdown().catch(() => {})
    await store.close()
  })

  it('says what is wrong', async () => {
    const cwd = folders.make()
    await run(cwd, 'run', '--context', 'main', 'Pay Meyer')
    const wrong = async (...args: string[]) => {
      const { code, stderr } = await run(cwd, 'trace', ...args)
      return [code, stderr.trim()]
    }
    expect(await wrong('main', '--turn', '7')).toEqual([
      2,
      'holdfast: clerk:main has no turn 7; its newest is 1.',
    ])
    expect(await wrong('main', '--turn', 'x')).toEqual([
      2,
      'holdfast: --turn takes a number or all, not "x".',
    ])
    expect(await wrong('other')).toEqual([1, expect.stringContaining('There is no conversation "other"')])
  })
})

describe.skipIf(noTmux !== '')(`a breakpoint in the chat${noTmux}`, () => {
  it('stops, edits, goes on: the capture of the guide', async () => {
    const args = ['--context', 'main', '--break', 'pay', '--break', 'after:pay']
    const terminal = new TestTerminal({ cwd: folders.make(), config: CONFIG, args, columns: 78 })
    try {
      await terminal.until('main')
      await terminal.ask('Pay Meyer 120', 'stopped before pay', 'aborts] ›')
      await terminal.ask('e', 'arguments as JSON ›')
      await terminal.ask('nonsense', 'That is no JSON')
      await terminal.ask('{"amount": 12, "to": "Meyer"}', 'arguments: {"amount":12')
      await terminal.ask('', 'stopped after pay (ok)')
      await terminal.ask('e', 'result as JSON or text ›')
      await terminal.ask('nothing was paid', 'result: "nothing was paid"')
      const screen = await terminal.ask('', /The clerk says: "nothing was paid"\n\n›/)
      const text = screen.slice(screen.indexOf('› Pay Meyer 120'), screen.lastIndexOf('\n\n›')).trimEnd()
      expect(text).toBe(capture('breakpoint', text, 'trace'))
      await terminal.ask('/break off', 'None. Type /break TOOL')
      await terminal.ask('/break after', 'A breakpoint is TOOL')
      await terminal.leave()
    } finally {
      terminal.close()
    }
  })

  it('is not there without being asked for: the capture of a chat', async () => {
    const terminal = new TestTerminal({
      cwd: folders.make(),
      config: CONFIG,
      args: ['--context', 'main'],
      columns: 78,
    })
    try {
      await terminal.until('main')
      const screen = await terminal.ask('Pay Meyer 120', /The clerk says: .*\n\n›/)
      const text = screen.slice(screen.indexOf('clerk · '), screen.lastIndexOf('\n\n›')).trimEnd()
      expect(text).toBe(capture('chat', text, 'terminal'))
      await terminal.leave()
    } finally {
      terminal.close()
    }
  })

  it('aborts by a and by Ctrl-C', async () => {
    const args = ['--context', 'main', '--break', 'pay']
    const terminal = new TestTerminal({ cwd: folders.make(), config: CONFIG, args })
    try {
      await terminal.until('main')
      await terminal.ask('Pay', 'aborts] ›')
      terminal.say('a')
      await terminal.until(/aborts\] › a[^]*\n›/)
      await terminal.ask('Pay again', /Pay again[^]*aborts\] ›/)
      terminal.press('C-c')
      expect(await terminal.until(/Pay again[^]*\n›/)).not.toContain('The clerk says')
      await terminal.leave()
    } finally {
      terminal.close()
    }
  })
})
