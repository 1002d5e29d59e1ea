/** The command of the package in a clone that was not built. */
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Folders } from './kit.ts'

const folders = new Folders()
afterAll(() => folders.remove())

it('says what to run where nothing is built', () => {
  const clone = folders.make({ 'package.json': '{ "type": "module" }' })
  cpSync('bin', join(clone, 'bin'), { recursive: true })
  const { status, stderr } = spawnSync(process.execPath, [join(clone, 'bin/holdfast.js'), 'chat'], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({
    status: 3,
    stderr:
      'holdfast is not built in this clone. Run: npm run build (the chat of npm start needs no build)\n',
  })
})
