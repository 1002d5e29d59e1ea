/** A process that is killed in the middle of a command: nothing of it goes on, and it does not run again. */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { CommandFolder, processesWith, whyNoSandbox } from './command-kit.ts'

const missing = await whyNoSandbox()

it('kill -9 ends a command in the sandbox with its process, and its result is unknown', async (context) => {
  context.skip(missing !== undefined, missing)
  const folder = new CommandFolder()
  // Outside of the folder, which commands can write.
  const data = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
  const path = join(data, 'store.db')
  const mark = `96${process.pid}${Math.floor(Math.random() * 1e6)}`
  const command = `trap '' TERM HUP; setsid -f sleep ${mark}; sleep ${mark} & echo ran >> log; sleep ${mark}`
  const child = fork(join(import.meta.dirname, 'command-process.ts'), [path, folder.path, command], {
    stdio: 'inherit',
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await expect.poll(() => folder.has('log') || child.exitCode !== null).toBe(true)
  // Three, and the shells and the sandbox that have the command in their command lines.
  expect(processesWith(mark).length).toBeGreaterThan(3)
  child.kill('SIGKILL')
  await exited
  await expect.poll(() => processesWith(mark)).toEqual([])

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
  rmSync(data, { recursive: true })
  folder.remove()
})
