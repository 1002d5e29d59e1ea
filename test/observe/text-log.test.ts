/** The text log: exact lines, who has one, names, rotation, and disks that cannot take it. */
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentTool } from '../../src/agent/index.ts'
import { flushLogs } from '../../src/observe/index.ts'
import { appendLines } from '../../src/observe/log-file.ts'
import { fileNameOf } from '../../src/observe/log-folder.ts'
import { faultyStore, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import {
  asking,
  type BenchOptions,
  bench,
  calls,
  gate,
  journal,
  openSqlite,
  probe,
  until,
} from '../turn/kit.ts'
import { filesIn, logLines, newFolder, warningsDuring } from './log-kit.ts'

/** An agent with a text log and nothing else, and the lines of it. */
function logged(config: BenchOptions = {}) {
  const folder = newFolder()
  const parts = bench({ name: 'clerk', log: { folder }, sessions: false, ...config })
  const lines = (file = 'clerk.log'): string[] => {
    flushLogs()
    return logLines(join(folder, file)).map((line) => line.replace('1970-01-01T00:00:', ''))
  }
  return { ...parts, folder, lines }
}

/** The second driver of a turn whose first one was lost in the middle of a tool. */
async function takenOver(config: BenchOptions) {
  const first = bench(config)
  const stalls = faultyStore(first.store, [{ at: 2, how: 'stall', when: 'after' }])
  // A timer that never fires: the lease is not renewed.
  first.another({ store: stalls, timer: new ManualClock() }).executeTurn('Order two')
  await until('the call has begun', async () => (await journal(first.store)).length === 6)
  first.clock.advance(31_001)
  const { store, model, clock } = first
  return logged({ ...config, store, model, clock, timer: clock, ids: first.ids })
}

const fail = () =>
  probe('fail', () => {
    throw new TypeError('no such bag')
  })

describe('a text log', () => {
  it('has a line for each turn, model call and tool', async () => {
    const order = probe('order', () => ({ ordered: 2 }))
    const { agent, lines } = logged({
      script: [calls(['order', { n: 2 }], 'fail'), 'Two bags are on their way.'],
      tools: [order, fail()],
    })
    await agent.executeTurn('Please order two bags.').outcome
    expect(lines()).toEqual([
      '01.000Z INFO  talk#1 turn began: "Please order two bags."',
      '01.000Z INFO  talk#1 model scripted/model replied in 0ms, 11 tokens: calls order, fail',
      '01.000Z ERROR talk#1 tool fail threw TypeError: no such bag',
      '    at',
      '01.000Z WARN  talk#1 tool fail {} failed in 0ms: no such bag',
      '01.000Z INFO  talk#1 tool order {"n":2} ok in 0ms',
      '01.000Z INFO  talk#1 model scripted/model replied in 0ms, 113 tokens: "Two bags are on their way."',
      '01.000Z INFO  talk#1 turn ended: stop in 0ms, 124 tokens',
    ])
  })

  it('names retries, refusals, questions, warnings and failures', async () => {
    const { agent, clock, lines } = logged({
      script: [{ error: { status: 503, message: 'busy' } }, calls('nothing', 'choose'), 'Done.'],
      tools: [asking('choose', { kind: 'text', prompt: 'Which one?' })],
    })
    const turn = agent.executeTurn('Go')
    await expect
      .poll(() => {
        clock.advance(1000)
        return agent.turn
      })
      .toBeUndefined()
    await turn.outcome
    await agent.shutdown()
    await agent.executeTurn('Hello?').outcome
    expect(lines().map((line) => line.replace(/^\S+ /, '').replace(/ in [\d.]+m?s/, ' in …'))).toEqual([
      'INFO  talk#1 turn began: "Go"',
      'WARN  talk#1 model scripted/model failed in …, next: retry: busy',
      'INFO  talk#1 model scripted/model replied in …, 6 tokens: calls nothing, choose',
      'WARN  talk#1 tool nothing {} not found: There is no tool called "nothing". The tools are: choose.',
      'INFO  talk#1 text asked: "Which one?"',
      'INFO  talk#1 tool choose {} waits',
      'INFO  talk#1 turn ended: input-required in …, 6 tokens',
      'WARN  talk turn refused (shutdown): The agent of talk was shut down. Call start() to continue; nothing is lost.',
    ])
  })

  it('has a message that waited for the turn before it', async () => {
    const held = gate()
    const { agent, lines } = logged({
      script: [calls('slow'), 'One.', 'Two.'],
      tools: [probe('slow', () => held.promise)],
    })
    const first = agent.executeTurn('First')
    const second = agent.executeTurn('Second', { whileBusy: 'queue' })
    held.resolve()
    await Promise.all([first.outcome, second.outcome])
    expect(lines().filter((line) => line.includes('began'))).toEqual([
      '01.000Z INFO  talk#1 turn began: "First"',
      '01.000Z INFO  talk#2 turn began: "Second"',
    ])
  })

  it('has a model call that a cancel stopped', async () => {
    const { agent, lines } = logged({ script: [{ stall: true, after: 'Half a reply' }] })
    const turn = agent.executeTurn('Go')
    for await (const { type } of turn) if (type === 'text.delta') break
    await agent.cancel()
    await turn.outcome
    expect(lines().slice(1, 2)).toEqual([
      '01.000Z INFO  talk#1 model scripted/model was stopped in 0ms, 9 tokens: "Half a reply"',
    ])
  })

  it('goes on with the turn of another process, and names its calls', async () => {
    const order = probe('order')
    const { agent, lines } = await takenOver({
      script: [calls(['order', { n: 2 }]), 'Asked.'],
      tools: [order],
    })
    await agent.start()
    await agent.turn?.outcome
    expect(order.ran).toEqual([])
    expect(lines()).toEqual([
      expect.stringMatching(/^32.001Z WARN {2}talk#1 turn taken over by .*#clerk/),
      expect.stringMatching(
        /^32.001Z WARN {2}talk#1 tool order {"n":2} has an unknown outcome: Started, and /,
      ),
      expect.stringMatching(/^32.001Z INFO {2}talk#1 model scripted.model replied in 0ms, .*: "Asked."/),
      expect.stringMatching(/^32.001Z INFO {2}talk#1 turn ended: stop in 31.0s/),
    ])
  })

  it('has the lines of sub-agents, with their names, and they have no log of their own', async () => {
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: { name: 'reader', model: new ScriptedModel(['42 it is.']) },
    })
    const { agent, folder, lines } = logged({
      store: openSqlite(),
      script: [calls(['helper', { message: 'How much?' }]), 'It says 42.'],
      tools: [helper],
    })
    await agent.executeTurn('Ask').outcome
    expect(lines().map((line) => line.split('Z ')[1]?.replace(/ in .*/, ''))).toEqual([
      'INFO  talk#1 turn began: "Ask"',
      'INFO  talk#1 model scripted/model replied',
      'INFO  talk/call_1#1 reader: turn began: "How much?"',
      'INFO  talk/call_1#1 reader: model scripted/model replied',
      'INFO  talk/call_1#1 reader: turn ended: stop',
      'INFO  talk#1 tool helper {"message":"How much?"} ok',
      'INFO  talk#1 model scripted/model replied',
      'INFO  talk#1 turn ended: stop',
    ])
    expect(filesIn(folder)).toEqual(['clerk.log'])
    expect(() => agentTool({ name: 'a', description: 'b', agent: { log: true } as never })).toThrow(
      'log cannot be set for a sub-agent',
    )
  })

  it('has no secret, and no character that a terminal obeys', async () => {
    const echo = probe('echo', (_, { credentials }) => ({ token: credentials?.['token'], red: '\u001b[31m' }))
    const { agent, folder } = logged({
      script: [calls('echo'), 'ok sesame-1234 \u001b[2J\u202e'],
      tools: [echo, fail()],
    })
    await agent.executeTurn('I am sesame-1234\nINFO forged', {
      auth: { credentials: { token: 'sesame-1234' } },
    }).outcome
    flushLogs()
    const text = readFileSync(join(folder, 'clerk.log'), 'utf8')
    expect(text).not.toContain('sesame')
    expect(text.replaceAll(/[\x20-\x7e\n]/g, '')).toBe('')
    expect(text).toContain('turn began: "I am [redacted]\\nINFO forged"')
  })

  it('is there by default for an agent with a name and a store on disk', async () => {
    const path = join(newFolder(), '.holdfast', 'store.db')
    mkdirSync(dirname(path), { recursive: true })
    const store = openSqlite(path)
    const turn = async (config: BenchOptions): Promise<void> => {
      await bench({ script: ['Hi.'], store, realTime: true, ...config }).agent.executeTurn('Hello').outcome
    }
    await turn({ contextId: 'unnamed' })
    await turn({ contextId: 'memory', name: 'volatile', store: bench().store })
    await turn({ contextId: 'off', name: 'off', log: false, sessions: false })
    await turn({ contextId: 'yaml', name: 'yaml', log: false })
    await turn({ contextId: 'both', name: 'both' })
    await turn({
      contextId: 'asked',
      name: 'asked',
      store: bench().store,
      log: { folder: join(dirname(path), 'logs') },
    })
    flushLogs()
    expect(filesIn(join(dirname(path), 'logs'))).toEqual(['asked.log', 'both.log'])
    const sessions = filesIn(join(dirname(path), 'sessions')).map((name) => name.replace(/_[-\dT]+/, '_TIME'))
    expect(sessions).toEqual(['both_TIME.yaml', 'yaml_TIME.yaml'])
    expect(readFileSync(join(dirname(path), '.gitignore'), 'utf8')).toBe('*\n')
    expect(statSync(join(dirname(path), 'logs', 'both.log')).mode & 0o777).toBe(0o600)
  })

  it('is checked', () => {
    expect(() => bench({ log: 'yes' as never })).toThrow(
      'log must be true, false or { folder, maxBytes, maxFiles }',
    )
    expect(() => bench({ log: { dir: 'x' } as never })).toThrow('log has no "dir". Write folder instead.')
    expect(() => bench({ sessions: { maxFiles: 0 } })).toThrow('maxFiles must be a number from 1 on')
    expect(() => bench({ quiet: 1 as never })).toThrow('quiet must be true or false')
  })
})

describe('the file name of an agent', () => {
  it.each([
    ['clerk', 'clerk'],
    ['Site-Manager_2.1', 'Site-Manager_2.1'],
    ['../../etc/passwd', '_etc_passwd-HASH'],
    ['CON', 'CON-HASH'],
    ['nul.txt', 'nul_txt-HASH'],
    ['a.', 'a_-HASH'],
    ['a-0123456789', 'a-0123456789-HASH'],
    ['', '-HASH'],
    ['Zoë 🏗️', 'Zoë_-HASH'],
  ])('%j is %s', (name, file) => {
    expect(fileNameOf(name)).toMatch(new RegExp(`^${file.replace('HASH', '[0-9a-f]{10}')}$`))
  })

  it('is short, and of two names never the same', () => {
    const names = [
      'a/b',
      'a\\b',
      'a:b',
      'a_b',
      'a b',
      'ä',
      'a\u0308',
      'x'.repeat(300),
      'x'.repeat(301),
      '\ud800',
      '\ud801',
    ]
    const hashed = names.map(fileNameOf)
    const all = [...names, ...hashed].map(fileNameOf)
    expect(new Set([...hashed, ...all]).size).toBe(new Set([...names, ...hashed]).size)
    for (const name of all) expect(Buffer.byteLength(name)).toBeLessThan(200)
  })
})

describe('a log file', () => {
  const bounds = { maxBytes: 30, maxFiles: 3 }

  it('is rotated by its size, and the oldest lines are dropped', () => {
    const path = join(newFolder(), 'deep', 'a.log')
    for (let n = 1; n <= 12; n++) appendLines(path, [`line ${n} ${'.'.repeat(4)}`], bounds)
    expect(filesIn(dirname(path))).toEqual(['a.log', 'a.log.1', 'a.log.2'])
    const all = ['a.log.2', 'a.log.1', 'a.log'].map((name) => readFileSync(join(dirname(path), name), 'utf8'))
    expect(all.join('').match(/\d+/g)).toEqual(['7', '8', '9', '10', '11', '12'])
    appendLines(path, ['x'.repeat(100), 'y', 'z'], { maxBytes: 30, maxFiles: 1 })
    expect(readFileSync(path, 'utf8')).toBe('y\nz\n')
  })

  it('begins a line after one that was written in part', () => {
    const path = join(newFolder(), 'a.log')
    writeFileSync(path, 'torn \u0000 lin')
    appendLines(path, ['whole'], bounds)
    expect(readFileSync(path, 'utf8')).toBe('torn \u0000 lin\nwhole\n')
  })

  it.runIf(process.platform === 'linux')('on a full disk costs its lines, and says so once', async () => {
    const { agent, folder } = logged({ script: ['One', 'Two', 'Three'] })
    symlinkSync('/dev/full', join(folder, 'clerk.log'))
    const warnings = await warningsDuring(async () => {
      for (const text of ['One', 'Two', 'Three']) {
        expect(await agent.input(text)).toBe(text)
        flushLogs()
      }
    })
    expect(warnings).toEqual([
      expect.stringMatching(`Logs cannot be written in ${folder} .ENOSPC.. Turns go on`),
    ])
  })

  it.each(['.holdfast', '.holdfast/logs', '.holdfast/logs/clerk.log'])(
    'is not written through a link in the place of %s, and says so once',
    async (name) => {
      const base = newFolder()
      const outside = newFolder()
      const link = join(base, name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(name.endsWith('.log') ? join(outside, 'victim') : outside, link)
      const folder = join(base, '.holdfast/logs')
      const { agent } = logged({ log: { folder }, script: ['One', 'Two'] })
      const warnings = await warningsDuring(async () => {
        for (const text of ['One', 'Two']) {
          expect(await agent.input(text)).toBe(text)
          flushLogs()
        }
      })
      expect(warnings).toEqual([expect.stringContaining(`Logs cannot be written in ${folder} (`)])
      expect(filesIn(outside)).toEqual([])
    },
  )

  it('in a folder that cannot be made costs its lines, and says so once', async () => {
    const folder = join(newFolder(), 'file', 'logs')
    writeFileSync(dirname(folder), 'no folder')
    const { agent } = bench({ name: 'clerk', log: { folder }, sessions: { folder }, script: ['One', 'Two'] })
    const warnings = await warningsDuring(async () => {
      expect(await agent.input('Hello')).toBe('One')
      flushLogs()
      expect(await agent.input('Hello')).toBe('Two')
      await agent.shutdown()
    })
    expect(warnings).toEqual([expect.stringContaining(`Logs cannot be written in ${folder} (ENOTDIR)`)])
  })
})

describe('a text log in the place of the store', () => {
  it.each(['clerk.log', 'clerk.log.2'])('is refused before anything is written: %s', (name) => {
    const folder = newFolder()
    const path = join(folder, name)
    const store = openSqlite(path)
    const other = newFolder()
    symlinkSync(folder, join(other, 'link'))
    const before = readFileSync(path)
    for (const log of [{ folder }, { folder: join(other, 'link') }])
      expect(() => bench({ name: 'clerk', store, log, sessions: false })).toThrow(
        expect.objectContaining({
          code: 'invalid-option',
          message: expect.stringContaining('is the file of the store'),
        }),
      )
    expect(readFileSync(path)).toEqual(before)
    expect(() => bench({ name: 'other', store, log: { folder }, sessions: false })).not.toThrow()
  })

  it('is refused as a folder that is a file', () => {
    const path = join(newFolder(), 'notes.txt')
    writeFileSync(path, 'Mine.')
    for (const option of ['log', 'sessions'])
      expect(() => bench({ name: 'clerk', [option]: { folder: path } })).toThrow(
        `${option}.folder must be a folder, and ${path} is a file`,
      )
    expect(readFileSync(path, 'utf8')).toBe('Mine.')
  })
})
