/** A child process in the hands of a test: what is asked of it really happens to it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { ControlledProcess, freeze, thaw } from './controlled-process.ts'
import type { Counted } from './counting-process.ts'

const FIXTURE = new URL('./counting-process.ts', import.meta.url)
const living: ControlledProcess[] = []

afterEach(async () => {
  for (const child of living.splice(0)) await child.kill()
})

function start(options = {}): ControlledProcess {
  const child = new ControlledProcess(FIXTURE, { execArgv: [], ...options })
  living.push(child)
  return child
}

/** Everything that it counts, as it comes. */
function counted(child: ControlledProcess): number[] {
  const counts: number[] = []
  const listen = async () => {
    for (;;) {
      const said = await child.hear()
      if (said === undefined) return
      counts.push((said as Counted).count)
    }
  }
  void listen()
  return counts
}

async function until(test: () => boolean): Promise<void> {
  while (!test()) await sleep(5)
}

describe('a controlled process', () => {
  it('hears what it is sent, with its arguments and its environment, and is heard', async () => {
    const child = start({ args: ['a', 'b'], env: { FIXTURE: 'set' } })
    child.send({ question: 1 })
    let said: unknown
    do said = await child.hear()
    while (!Object.hasOwn(said as object, 'heard'))
    expect(said).toEqual({ heard: { question: 1 }, args: ['a', 'b'], env: 'set' })
  })

  it('stands still when it is frozen, goes on when it is thawed', async () => {
    const child = start()
    const counts = counted(child)
    await until(() => counts.length > 2)
    await freeze(child.pid)
    // What it said before is still on its way; one that is not frozen never falls silent.
    let before = -1
    while (before !== counts.length) {
      before = counts.length
      await sleep(300)
    }
    await thaw(child.pid)
    await until(() => counts.length > before)
    expect(counts).toEqual(counts.map((_, index) => index + 1))
  })

  it('is killed, frozen or not, and then has nothing more to say', async () => {
    const child = start()
    await child.hear()
    await freeze(child.pid)
    expect(child.isGone).toBe(false)
    expect(await child.kill()).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(child.isGone).toBe(true)
    child.send({ question: 'too late' })
    while ((await child.hear()) !== undefined);
  })

  it('tells how it ended by itself, with what it complained about', async () => {
    const child = start()
    child.send('leave')
    expect(await child.ended).toEqual({ code: 3, signal: null, stderr: 'I was told to leave' })
  })

  it('that cannot be started is gone at once', async () => {
    const child = new ControlledProcess('/no/such/module.ts', { execArgv: [] })
    expect(await child.hear()).toBeUndefined()
    expect(await child.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('no/such/module') })
  })
})
