/** `npm start` where no terminal is attached. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { cleanEnv } from './kit.ts'

it('plays a real conversation with tools, a question and an end', () => {
  const { status, stdout } = spawnSync(process.execPath, ['scripts/demo.ts'], {
    encoding: 'utf8',
    env: cleanEnv(),
  })
  expect(stdout).toContain('$ holdfast run --context demo "Which tasks are open?"\n')
  expect(stdout).toContain('✓ list_tasks → 1. Peinture · open 2. Pose des fenêtres · open\n')
  expect(stdout).toContain('✓ list_documents → 1. Devis des cloisons\n')
  expect(stdout).toContain('? select_project │ Which project do you mean?\n')
  expect(stdout).toContain('✓ select_project → Les Tilleuls (Nantes)\n')
  expect(stdout).toContain('turn 6 · stop')
  expect(status).toBe(0)
})
