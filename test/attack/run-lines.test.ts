/** `holdfast run --json` for scripts: the last line is the outcome, whatever ends the turn. */
import type { ChildProcess } from 'node:child_process'
import { afterAll, expect, it } from 'vitest'
import { Folders, holdfast, site } from '../cli/kit.ts'

const folders = new Folders()
afterAll(() => folders.remove())

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

function signalAfter(text: string, signal: NodeJS.Signals): (child: ChildProcess) => void {
  return (child) => {
    let told = ''
    child.stdout?.on('data', (data: string) => {
      if (!told.includes(text) && (told += data).includes(text)) child.kill(signal)
    })
  }
}

it('a turn that is paused by SIGTERM has its outcome as the last line', async () => {
  const meanwhile = signalAfter('"tool.start"', 'SIGTERM')
  const cwd = folders.make()
  const { code, stdout } = await site(['run', '--json', '--context', 'a', 'medium'], { cwd, meanwhile })
  expect(code).toBe(143)
  expect(linesOf(stdout).filter(({ type }) => type === 'outcome')).toHaveLength(1)
  expect(linesOf(stdout).at(-1)).toMatchObject({ type: 'outcome', status: 'paused', exitCode: 143 })
})

const config = (on: string) => `
export default { agents: { helper: { model: 'reflex', on: { ${on} } } } }
`

it('a hook that throws makes the turn fail, by its name', async () => {
  const cwd = folders.make({ 'holdfast.config.ts': config("afterLlm: () => { throw new Error('no') }") })
  const { code, stdout } = await holdfast(['run', '--json', 'Hello'], { cwd })
  expect(code).toBe(1)
  expect(linesOf(stdout).at(-1)).toMatchObject({ type: 'outcome', error: { hook: 'afterLlm' } })
})

it('a hook that throws when the agent is ready ends the command, with one outcome', async () => {
  const cwd = folders.make({ 'holdfast.config.ts': config("onAgentReady: () => { throw new Error('no') }") })
  const { code, stdout } = await holdfast(['run', '--json', 'Hello'], { cwd })
  expect(code).toBe(1)
  expect(linesOf(stdout).filter(({ type }) => type === 'outcome')).toHaveLength(1)
  expect(linesOf(stdout).at(-1)).toMatchObject({ type: 'outcome', error: { code: 'hook-failed' } })
})

it('hooks that leave promises without a handler end the command, with one outcome', async () => {
  const reject = 'void Promise.reject(new Error("lost")); void Promise.reject(new Error("lost too"))'
  const cwd = folders.make({
    'holdfast.config.ts': config(
      `afterLlm: async () => { ${reject}; await new Promise((r) => setTimeout(r, 500)) }`,
    ),
  })
  const { code, stdout } = await holdfast(['run', '--json', 'Hello'], { cwd })
  expect(code).toBe(1)
  expect(linesOf(stdout).filter(({ type }) => type === 'outcome')).toHaveLength(1)
})
