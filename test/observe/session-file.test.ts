/** Session files: every field, read back by another parser; when they are written, and what bounds them. */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { agentTool } from '../../src/agent/index.ts'
import { transcript } from '../../src/journal/index.ts'
import { flushLogs } from '../../src/observe/index.ts'
import { yamlJson, yamlNumber, yamlText } from '../../src/observe/yaml.ts'
import { faultyStore, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { asking, type BenchOptions, bench, calls, journal, KEY, probe, until } from '../turn/kit.ts'
import { filesIn, messagesOf, newFolder, readYaml, type SessionYaml, warningsDuring } from './log-kit.ts'

function recorded(config: BenchOptions = {}) {
  const folder = newFolder()
  const parts = bench({ name: 'clerk', log: false, sessions: { folder }, ...config })
  const yaml = (at?: number): SessionYaml => {
    flushLogs()
    return readYaml(folder, at)
  }
  return { ...parts, folder, yaml }
}

const STAMP = '1970-01-01T00-00-01'
const ORDER = { text: 'I order.', calls: [{ tool: 'order', args: { n: 2 } }] }
const PRICES = { 'scripted/model': { input: 3, output: 15 } }

it('is not written through a link in the place of its folder', async () => {
  const [base, outside] = [newFolder(), newFolder()]
  mkdirSync(join(base, '.holdfast'))
  symlinkSync(outside, join(base, '.holdfast/sessions'))
  const { agent } = recorded({ sessions: { folder: join(base, '.holdfast/sessions') }, script: ['One'] })
  const warnings = await warningsDuring(async () => {
    await agent.input('Go')
    flushLogs()
  })
  expect(warnings).toEqual([expect.stringContaining('sessions is a link')])
  expect(filesIn(outside)).toEqual([])
})

describe('a session file', () => {
  it('has every field of every turn, and is read back equal', async () => {
    const { agent, clock, store, folder, yaml } = recorded({
      script: [ORDER, 'It’s done:\n- two "bags"', 'You are welcome.'],
      tools: [probe('order', () => clock.advance(250))],
      settings: { prices: PRICES },
    })
    const [first, second] = [
      await agent.executeTurn('Order 2:\n bags').outcome,
      await agent.executeTurn('Thanks').outcome,
    ]
    expect(yaml()).toEqual({
      conversation: 'talk',
      agent: 'clerk',
      model: 'scripted/model',
      started: '1970-01-01T00:00:01.000Z',
      turns: [
        {
          input: 'Order 2:\n bags',
          model: 'scripted/model',
          duration_ms: 250,
          tokens: first.usage.inputTokens + first.usage.outputTokens,
          cost: Number(first.usage.costUsd.toFixed(10)),
          tools_called: ['order'],
          result: 'It’s done:\n- two "bags"',
          messages: JSON.stringify(transcript(await store.read(KEY, { turn: 1 }))),
        },
        {
          input: 'Thanks',
          model: 'scripted/model',
          duration_ms: 0,
          tokens: second.usage.inputTokens + second.usage.outputTokens,
          cost: Number(second.usage.costUsd.toFixed(10)),
          tools_called: [],
          result: 'You are welcome.',
          messages: JSON.stringify(transcript(await store.read(KEY, { turn: 2 }))),
        },
      ],
    })
    expect(first.usage.costUsd).toBeGreaterThan(0)
    expect(filesIn(folder)).toEqual([`clerk_${STAMP}.yaml`])
    expect(statSync(join(folder, `clerk_${STAMP}.yaml`)).mode & 0o777).toBe(0o600)
  })

  it('begins at the first input, and has the turn before onComplete runs', async () => {
    const seen: SessionYaml[] = []
    const { agent, folder, yaml } = recorded({
      script: ['Done'],
      // A parser reads the file itself: nothing is flushed here.
      on: { onComplete: () => void seen.push(readYaml(folder)), beforeLlm: () => void seen.push(yaml()) },
    })
    flushLogs()
    expect(filesIn(folder)).toEqual([])
    await agent.executeTurn('Go').outcome
    expect(seen.map(({ agent: name, turns }) => [name, turns?.map(({ result }) => result)])).toEqual([
      ['clerk', undefined],
      ['clerk', ['Done']],
    ])
    expect(yaml()).toEqual(seen[1])
  })

  it('has what a turn asks, and why it failed', async () => {
    const { agent, folder, yaml } = recorded({
      script: [calls('choose'), { error: { status: 401, message: 'wrong key' } }],
      tools: [asking('choose', { kind: 'text', prompt: 'Which one?' })],
    })
    await agent.executeTurn('Go').outcome
    const [request] = await agent.requests()
    await agent.answer({ [request?.requestId ?? '']: 'that one' }).outcome
    expect(yaml().turns?.map(({ input, result, tools_called: tools }) => [input, result, tools])).toEqual([
      ['Go', 'Which one?', ['choose']],
      ['that one', 'failed: wrong key', ['choose']],
    ])
    expect(filesIn(folder)).toHaveLength(1)
  })

  it('has the whole of a turn that another process began', async () => {
    const first = bench({ script: [ORDER, 'Asked.'], tools: [probe('order')] })
    const stalls = faultyStore(first.store, [{ at: 2, how: 'stall', when: 'after' }])
    first.another({ store: stalls, timer: new ManualClock() }).executeTurn('Order two')
    await until('the call has begun', async () => (await journal(first.store)).length === 6)
    first.clock.advance(31_001)
    const folder = newFolder()
    const second = first.another({ name: 'clerk', sessions: { folder } })
    await second.start()
    await second.turn?.outcome
    await second.shutdown()
    const { turns } = readYaml(folder)
    expect(turns).toHaveLength(1)
    expect(turns?.[0]).toMatchObject({ input: 'Order two', tools_called: ['order'], result: 'Asked.' })
    expect(messagesOf(turns?.[0])).toEqual(transcript(await first.store.read(KEY)))
  })

  it('has no secret, and none for a sub-agent', async () => {
    const echo = probe('echo', (_, { credentials }) => ({ token: credentials?.['token'] }))
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: {
        name: 'reader',
        model: new ScriptedModel([calls('echo'), 'It is sesame-1234.']),
        tools: [echo],
      },
    })
    const { agent, folder } = recorded({
      script: [calls('echo', ['helper', { message: 'sesame-1234?' }]), 'sesame-1234'],
      tools: [echo, helper],
    })
    await agent.executeTurn('I am sesame-1234', { auth: { credentials: { token: 'sesame-1234' } } }).outcome
    await agent.shutdown()
    expect(filesIn(folder)).toEqual([`clerk_${STAMP}.yaml`])
    const text = readFileSync(join(folder, `clerk_${STAMP}.yaml`), 'utf8')
    expect(text).not.toContain('sesame')
    expect(text).toContain('input: "I am [redacted]"')
  })

  it('is never that of another: of agents with one name, each has its own', async () => {
    const folder = newFolder()
    const same = (contextId: string) =>
      bench({ name: 'clerk', contextId, script: ['One', 'Two'], sessions: { folder } }).agent
    const agents = ['a', 'b', 'c'].map(same)
    await Promise.all(agents.map((agent) => agent.input('Hello')))
    await Promise.all(agents.map((agent) => agent.input('Again')))
    flushLogs()
    expect(filesIn(folder)).toEqual([`clerk_${STAMP}-2.yaml`, `clerk_${STAMP}-3.yaml`, `clerk_${STAMP}.yaml`])
    for (const at of [0, 1, 2])
      expect(readYaml(folder, at).turns?.map(({ input }) => input)).toEqual(['Hello', 'Again'])
    // Numbers count on: a thousand agents of one second must not try every name.
    rmSync(join(folder, `clerk_${STAMP}-2.yaml`))
    await same('d').input('Hello')
    flushLogs()
    expect(filesIn(folder)).toEqual([`clerk_${STAMP}-3.yaml`, `clerk_${STAMP}-4.yaml`, `clerk_${STAMP}.yaml`])
  })

  it('that was changed or removed is followed by a new one', async () => {
    const { agent, clock, folder } = recorded({ script: ['One', 'Two', 'Three'] })
    const turn = async (text: string): Promise<void> => {
      await agent.input(text)
      flushLogs()
      clock.advance(1000)
    }
    await turn('Hello')
    appendFileSync(join(folder, `clerk_${STAMP}.yaml`), '\u0000: [broken')
    await turn('Again')
    rmSync(join(folder, 'clerk_1970-01-01T00-00-02.yaml'))
    await turn('Once more')
    expect(filesIn(folder)).toEqual([`clerk_${STAMP}.yaml`, 'clerk_1970-01-01T00-00-03.yaml'])
    expect(readYaml(folder, 1).turns?.map(({ input }) => input)).toEqual(['Once more'])
  })

  it('is bounded in number and size, by those of this name alone', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'clerk_notes.yaml'), 'mine')
    writeFileSync(join(folder, `clerk_two_${STAMP}.yaml`), 'of another agent')
    const sessions = { folder, maxFiles: 3, maxBytes: 8000 }
    const clock = new ManualClock(1000)
    for (let n = 0; n < 6; n++) {
      const model = new ScriptedModel(() => 'x'.repeat(200))
      const { agent } = bench({ name: 'clerk', model, sessions, store: bench({ clock }).store })
      for (let turn = 0; turn < 5; turn++) await agent.input('Hello')
      await agent.shutdown()
      const own = filesIn(folder).filter((name) => name.includes('clerk_1970'))
      expect(own.length).toBeLessThanOrEqual(3)
      expect(own.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)).toBeLessThan(9000)
    }
    expect(filesIn(folder)).toEqual(expect.arrayContaining(['clerk_notes.yaml', `clerk_two_${STAMP}.yaml`]))
  })

  it.runIf(canMount())('on a full or read-only disk costs its turns, and says so once', async () => {
    const disk = join(newFolder(), 'disk')
    mkdirSync(disk)
    mount('-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', disk)
    try {
      const model = new ScriptedModel(() => 'x'.repeat(3000))
      const { agent } = bench({ name: 'clerk', model, log: { folder: disk }, sessions: { folder: disk } })
      const warnings = await warningsDuring(async () => {
        for (let turn = 0; turn < 10; turn++) expect(await agent.input('Hello')).toHaveLength(3000)
        flushLogs()
        mount('-o', 'remount,ro', disk)
        expect(await agent.input('Hello')).toHaveLength(3000)
        await agent.shutdown()
      })
      expect(warnings.map((text) => /\((E\w+)\)/.exec(text)?.[1])).toEqual(['ENOSPC', 'EROFS'])
      const yaml = filesIn(disk).findIndex((name) => name.endsWith('.yaml'))
      expect(readYaml(disk, yaml).turns?.every(({ result }) => result.length === 3000)).toBe(true)
    } finally {
      execFileSync('/bin/umount', ['-l', disk])
    }
  })
})

describe('a value in YAML', () => {
  it('is read back equal, whatever is in it', () => {
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    })
    fc.assert(
      fc.property(text, fc.json(), fc.double({ min: 0, max: 1e9, noNaN: true }), (word, json, number) => {
        const value = JSON.parse(json) as unknown
        const yaml = `a: ${yamlText(word)}\nb: ${yamlJson([word, value])}\nc: ${yamlNumber(number)}\n`
        const { a, b, c } = parse(yaml) as { a: string; b: string; c: number }
        expect(a).toBe(word)
        expect(JSON.parse(b)).toEqual([word, value])
        expect(c).toBe(Number(number.toFixed(10)))
      }),
      { numRuns: 200 },
    )
  })

  it('shows characters that a person could not see as their numbers, and keeps joiners', () => {
    const hidden = 'pay \u202eMeyer\u200b\u2066 \u001b[31m\u007f'
    expect(yamlText(hidden)).toBe('"pay \\u202eMeyer\\u200b\\u2066 \\u001b[31m\\u007f"')
    expect(parse(yamlText(hidden))).toBe(hidden)
    expect(yamlText('👩\u200d🚀')).toBe('"👩\u200d🚀"')
  })
})

function mount(...args: readonly string[]): void {
  execFileSync('/bin/mount', args, { stdio: 'ignore' })
}

/** Only a superuser of Linux may, and not in every container. */
function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const folder = newFolder()
  try {
    mount('-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder)
    execFileSync('/bin/umount', [folder])
    return true
  } catch {
    return false
  }
}
