/** Two hosts that call each other over A2A, in processes; `npm run hosts` kills them at every kind of point. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Hosts } from './trial.ts'

test('an agent asks one of another host, which asks back; and both are killed in the middle of an effect, one while a person is asked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hosts-'))
  const hosts = await Hosts.start(folder)
  onTestFinished(() => {
    hosts.close()
    rmSync(folder, { recursive: true, force: true })
  })
  expect(await hosts.askBack()).toEqual([])
  expect(await hosts.trial('after-effect', 'both')).toEqual([])
  expect(await hosts.trial('waiting', 'b')).toEqual([])
})
