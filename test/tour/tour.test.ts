/** The tour of `npm start`: what it prints, that it finds faults, and how it is left. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sqliteStore } from 'holdfast/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { openSupplier } from '../../examples/site-manager/supplier.ts'
import * as claims from '../../scripts/tour/claims.ts'
import { playTour, type TourOptions } from '../../scripts/tour/tour.ts'
import { KEY } from '../../scripts/tour/tour-context.ts'
import { openWiring } from '../../scripts/tour/wiring.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { Output } from '../../src/terminal/index.ts'
import { cleanEnv, Folders } from '../cli/kit.ts'
import { noTmux, TestTerminal } from '../cli/tmux.ts'

const folders = new Folders()
afterAll(() => folders.remove())

const START: readonly string[] = [
  '--import',
  pathToFileURL(resolve('scripts/from-source.ts')).href,
  resolve('scripts/demo.ts'),
]

/** Names of processes and folders are new in each run; everything else is the same. */
function plain(text: string): string {
  return text
    .replace(/Journal:\s\S+\/tour-\w+\//, 'Journal: TOUR/')
    .replaceAll(/(process|kill -9) \d+/g, '$1 PID')
}

/** `npm start` without a terminal. */
function start(home: string, ...more: readonly string[]) {
  const env = cleanEnv({ HOLDFAST_HOME: home })
  return spawnSync(process.execPath, [...more, ...START], { encoding: 'utf8', env })
}

describe('npm start without a terminal', () => {
  const home = folders.make()
  const { status, stdout, stderr } = start(home)

  it('prints the tour, which is the one in the README, and ends well', () => {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const [, shown = ''] =
      /<!-- tour -->\s*```text\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
    expect(plain(stdout).replaceAll(/\s+/g, ' ')).toBe(plain(shown).replaceAll(/\s+/g, ' '))
    expect(stdout).not.toContain('\u001B')
  })

  it('makes no claim that other journals and records would bear out', async () => {
    const folder = join(home, readdirSync(home).find((name) => name.startsWith('tour-')) ?? '')
    const store = sqliteStore(join(folder, 'holdfast.db'))
    const [entries, head] = [await store.read(KEY), await store.head(KEY)]
    await store.close()
    const orders = openSupplier(join(folder, 'orders.jsonl')).orders()
    const updates = openWiring(folder).updates()
    const without = (type: string, tool = ''): readonly Entry[] =>
      entries.filter((entry) => entry.type !== type || !JSON.stringify(entry.data).includes(tool))
    const [order] = orders
    const pid = Number(/process (\d+): opens/.exec(stdout)?.[1])
    const killed = { pid: order?.pid ?? 0, signal: 'SIGKILL' }
    const midway = entries.slice(0, entries.findLastIndex(({ type }) => type === 'tool.start') + 1)
    const asking = entries.slice(0, entries.findLastIndex(({ type }) => type === 'request.start') + 1)
    const lease = { driver: 'x', until: 0, renewedAt: 0, leaseMs: 1 }
    const verdicts = [
      claims.askedClaim(entries),
      claims.askedClaim(without('request.end')),
      claims.askedClaim(without('tool.start', 'select_project')),
      claims.refusedClaim(entries, updates),
      claims.refusedClaim(without('tool.end'), updates),
      claims.refusedClaim(entries, ['tsk-9999', ...updates]),
      claims.recoveredClaim(entries, updates),
      claims.recoveredClaim(without('tool.start', 'update_task'), updates),
      claims.recoveredClaim(entries, [...updates, ...updates]),
      claims.waitsClaim(asking, [], head),
      claims.waitsClaim(asking, orders, head),
      claims.waitsClaim(midway, [], head),
      claims.waitsClaim(asking, [], head && { ...head, lease }),
      claims.diedClaim(midway, orders, killed),
      claims.diedClaim(entries, orders, killed),
      claims.diedClaim(midway, [], killed),
      claims.diedClaim(midway, orders, { ...killed, signal: null }),
      claims.onceClaim(entries, orders, pid),
      claims.onceClaim(midway, orders, pid),
      claims.onceClaim(entries, [...orders, ...orders], pid),
      claims.onceClaim(entries, orders, killed.pid),
    ]
    const T = true
    const F = false
    expect(verdicts.map(({ holds }) => holds)).toEqual(
      [
        [T, F, F],
        [T, F, F],
        [T, F, F],
        [T, F, F, F],
        [T, F, F, F],
        [T, F, F, F],
      ].flat(),
    )
  })
})

/** The tour in this process, without waiting; what it printed. */
class Trial {
  text = ''
  readonly leaving = new AbortController()
  readonly #options: Partial<TourOptions>

  constructor(options: Partial<TourOptions> = {}) {
    this.#options = options
  }

  play(onText: (text: string) => void = () => {}): Promise<boolean> {
    const write = (text: string, done?: () => void) => {
      this.text += text
      onText(this.text)
      done?.()
    }
    const out = new Output({ columns: 80, write, on: () => {} }, false)
    return playTour({ out, pace: 0, signal: this.leaving.signal, home: folders.make(), ...this.#options })
  }
}

const wiringOf = (name: string): URL => pathToFileURL(resolve(`test/tour/${name}.ts`))

it('says so and fails where the guard lets an invented id through', () => {
  const breaking = pathToFileURL(resolve('test/tour/with-broken-guard.ts')).href
  const { status, stdout } = start(folders.make(), '--import', breaking)
  expect(stdout).toContain('✗ NOT REFUSED: the tool was run with tsk-9999 once, by its own record;')
  expect(stdout).not.toContain('3  An approval')
  expect(status).toBe(1)
})

it('says so and ends where the next process runs the effect again', async () => {
  const trial = new Trial({ wiring: wiringOf('broken-recovery') })
  expect(await trial.play()).toBe(false)
  expect(trial.text).toMatch(
    /✗ NOT ONCE: the supplier has 2 orders, and the result in the journal is ok\.\n$/,
  )
})

it('leaves no process behind when it is left in mid-effect', async () => {
  const trial = new Trial()
  const playing = trial.play((text) => {
    if (text.includes(': order_cement runs')) trial.leaving.abort(new Error('left'))
  })
  await expect(playing).rejects.toThrow('left')
  const pid = Number(/process (\d+): order_cement runs/.exec(trial.text)?.[1])
  await expect.poll(() => isAlive(pid)).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.skipIf(noTmux !== '')(`npm start in a terminal${noTmux}`, () => {
  const open = (...args: string[]) => new TestTerminal({ cwd: folders.make(), command: [...START, ...args] })

  it('goes from the tour to the prompt at any key, with things to try', async () => {
    const terminal = open()
    try {
      const opening = await terminal.until('› List the')
      expect(opening).toMatch(
        /^Holdfast: .*\nModel: reflex, .* Journal:\s\S+\/holdfast\.db\nA tour .* Any key/,
      )
      terminal.press('Space')
      const screen = await terminal.until(/\n›$/)
      expect(screen).toContain('Your turn. Three things to try:')
      expect(screen).not.toContain('4  kill -9')
      await terminal.leave()
    } finally {
      terminal.close()
    }
  })

  it('is left with Ctrl-C, and goes to the prompt at once with --no-tour', async () => {
    const terminal = open()
    const chat = open('--no-tour')
    try {
      await terminal.until('› List the')
      terminal.press('C-c')
      expect(await terminal.until('left with 130')).not.toContain('Your turn.')
      expect(await chat.until(/\n›$/)).toMatch(/^\s*Your turn\./)
    } finally {
      terminal.close()
      chat.close()
    }
  })
})
