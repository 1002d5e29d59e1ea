/** Logs of real processes: how they end, and several that share the files of one name. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { programFile } from '../build/programs.ts'
import { ControlledProcess, type ProcessEnd } from '../crash/controlled-process.ts'
import { filesIn, newFolder, readYaml } from './log-kit.ts'

const MODULE = programFile('test/observe/logging-process.ts')

function start(home: string, ...args: readonly string[]): ControlledProcess {
  return new ControlledProcess(MODULE, {
    args: [home, ...args],
    env: { HOLDFAST_HOME: home, NO_COLOR: '1' },
    execArgv: [],
  })
}

async function run(home: string, ...args: readonly string[]): Promise<ProcessEnd> {
  return start(home, ...args).ended
}

function logOf(home: string): string[] {
  return readFileSync(join(home, 'logs', 'clerk.log'), 'utf8')
    .trimEnd()
    .split('\n')
}

const LINE = /^\S+Z INFO {2}c\d+#\d+ (?:turn began|model scripted.model replied|turn ended)/

it('processes with one name share the log line by line, lose none at exit, and have their own session files', async () => {
  const home = newFolder()
  const ends = await Promise.all([run(home, 'exit', '20'), run(home, 'throw', '20')])
  expect(ends.map(({ code }) => code)).toEqual([0, 1])
  const lines = logOf(home)
  expect(lines).toHaveLength(2 * 20 * 3)
  for (const line of lines) expect(line).toMatch(LINE)
  const sessions = filesIn(join(home, 'sessions'))
  expect(sessions.map((_, at) => readYaml(join(home, 'sessions'), at).turns?.length)).toEqual([20, 20])
})

it('a process that is killed leaves whole lines and a whole file, and the next one begins its own', async () => {
  const home = newFolder()
  const killed = start(home, 'wait', '3')
  await killed.hear()
  const written = (at: number) => readYaml(join(home, 'sessions'), at).turns?.length
  await expect.poll(() => filesIn(join(home, 'sessions')).map((_, at) => written(at))).toEqual([3])
  await killed.kill()
  const { code, stderr } = await run(home, 'print')
  expect(code).toBe(0)
  const turns = filesIn(join(home, 'sessions')).map((_, at) => written(at))
  expect(new Set(turns)).toEqual(new Set([1, 3]))
  for (const line of logOf(home)) expect(line).toMatch(LINE)
  expect(stderr.replaceAll(/\d+/g, 'N')).toBe(
    '› clerk Message N\nReply N of N\n◦ scripted/model N tokens, Nms\n● stop in Nms, N tokens\n',
  )
})

it('a process that prints to a closed pipe goes on', async () => {
  const home = newFolder()
  const child = fork(MODULE, [home, 'print', '3'], {
    env: { ...process.env, HOLDFAST_HOME: home },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  child.stderr?.destroy()
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(logOf(home)).toHaveLength(3 * 3)
})
