/** `npm start` where no terminal is attached. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { cleanEnv } from './kit.ts'

it('plays a real conversation with tools, an approval and an end', () => {
  const { status, stdout } = spawnSync(process.execPath, ['scripts/demo.ts'], {
    encoding: 'utf8',
    env: cleanEnv(),
  })
  expect(stdout).toContain('$ holdfast run --context demo "Which tasks are open?"\n')
  expect(stdout).toContain('✓ list_tasks → Roof, Windows\n')
  expect(stdout).toContain('? Order 20 bags of cement?\n')
  expect(stdout).toContain('✓ order_cement → 20 bags are on their way\n')
  expect(stdout).toContain('turn 4 · stop')
  expect(status).toBe(0)
})
