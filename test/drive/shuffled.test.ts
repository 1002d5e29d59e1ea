/** The driver is correct however many ticks an await takes. `npm run shuffle` runs many more seeds. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { withDelays } from './with-delays.ts'

describe('awaits that take a random time', () => {
  it('lose no message, take none twice, and let every turn come to its end', async () => {
    const args = ['--import', './test/drive/delayed-awaits.ts', 'scripts/shuffle.ts', '--seeds', '40']
    const { stdout } = await promisify(execFile)(process.execPath, args)
    expect(stdout).toBe('40 conversations, 0 with problems\n')
  })

  it('are all that there are', () => {
    const source = 'async () => { await (await a).b; for await (const c of d()) e(await f ?? g) }'
    expect(withDelays('a.ts', source)).toBe(
      'async () => { await globalThis.delayed((await globalThis.delayed(a)).b); for await (const c of globalThis.delayedEach(d())) e(await globalThis.delayed(f) ?? g) }',
    )
  })
})
