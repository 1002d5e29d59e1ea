/** The example of the guide: real files, edits and tests, and the capture of its output. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { capture } from '../capture.ts'
import { cleanEnv, LAUNCH } from '../cli/kit.ts'

test('a task goes from a failing test to a passing one, as the guide shows it', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  try {
    const [how = '', from = ''] = LAUNCH
    const args = [how, from, resolve('examples/16-task-agent.ts')]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env: cleanEnv() })
    const text = stdout.trim()
    expect(text).toBe(capture('task', text, 'task-agent'))
    expect(text).toContain('not ok 3 - no dash at the ends')
    expect(text).toContain('verified after 2 plans')
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
})
