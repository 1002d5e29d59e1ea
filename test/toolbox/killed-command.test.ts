/** A process that is killed in the middle of a command: nothing of it goes on, and it does not run again. */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { CommandFolder, processesWith, whyNoSandbox } from './command-kit.ts'

const missing = await whyNoSandbox()

/** A process in the middle of a command, in files of its own, and what is left of them. */
class KilledCommand {
  readonly folder: CommandFolder = new CommandFolder()
  /** Outside of the folder, which commands can write. */
  readonly data: string = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
  readonly path: string = join(this.data, 'store.db')
  readonly mark: string = `96${process.pid}${Math.floor(Math.random() * 1e9)}`
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(sandbox: 'required' | 'off', command: string) {
    const args = [this.path, this.folder.path, command.replaceAll('MARK', this.mark), sandbox]
    this.#child = fork(join(import.meta.dirname, 'command-process.ts'), args, {
      stdio: 'inherit',
      // A killed process leaves the home of its command there.
      env: { ...process.env, TMPDIR: this.data },
    })
    this.#exited = new Promise((resolve) => this.#child.once('exit', resolve))
  }

  running(): readonly number[] {
    return processesWith(this.mark).filter((pid) => pid !== this.#child.pid)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  remove(): void {
    rmSync(this.data, { recursive: true })
    this.folder.remove()
  }
}

const HIDDEN = `trap '' TERM HUP; setsid -f sleep MARK; sleep MARK & echo ran >> log; sleep MARK`

it.concurrent('kill -9 ends a command in the sandbox with its process, and its result is unknown', async ({
  expect,
  skip,
}) => {
  skip(missing !== undefined, missing)
  const killed = new KilledCommand('required', HIDDEN)
  const { folder, path } = killed
  await expect.poll(() => folder.has('log')).toBe(true)
  // Three, and the shells and the sandbox that have the command in their command lines.
  expect(killed.running().length).toBeGreaterThan(3)
  await killed.kill()
  await expect.poll(() => killed.running()).toEqual([])

  const store = sqliteStore(path)
  const tools = await loadTools({ cwd: folder.path, toolIds: ['execute_command'], sandbox: 'required' })
  const agent = new Agent({ contextId: 'talk', store, tools, model: new ScriptedModel(['I do not know.']) })
  await agent.start()
  expect(await agent.turn?.outcome).toMatchObject({ reason: 'stop', text: 'I do not know.' })
  await agent.shutdown()
  const entries = await store.read({ ...LOCAL_OWNER, contextId: 'talk' })
  const calls = entries.filter(({ type }) => type === 'tool.start' || type === 'tool.end')
  expect(calls.map(({ type, data: { status } }) => [type, status])).toEqual([
    ['tool.start', undefined],
    ['tool.end', 'unknown'],
  ])
  expect(folder.read('log')).toBe('ran\n')
  await store.close()
  killed.remove()
})

it.concurrent('kill -9 while the sandbox starts leaves nothing running', async ({ expect, skip }) => {
  skip(missing !== undefined, missing)
  const killed = new KilledCommand('required', HIDDEN)
  await expect.poll(() => killed.running().length, { interval: 1 }).toBeGreaterThan(0)
  await killed.kill()
  await expect.poll(() => killed.running()).toEqual([])
  killed.remove()
})

it.concurrent('kill -9 ends a command without a sandbox, too, unless it has left its group', async ({
  expect,
}) => {
  const killed = new KilledCommand('off', `trap '' TERM HUP; nohup sleep MARK & echo ran >> log; sleep MARK`)
  await expect.poll(() => killed.folder.has('log')).toBe(true)
  await killed.kill()
  await expect.poll(() => killed.running()).toEqual([])
  killed.remove()
})
