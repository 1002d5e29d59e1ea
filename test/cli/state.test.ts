/** `holdfast state`: what is active, until when, and where ids came from. */
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from './in-process.ts'
import { type Finished, Folders } from './kit.ts'

const CONFIG = resolve('test/cli/fixture/state.config.ts')
const folders = new Folders()
let cwd = ''

function firm(args: readonly string[], folder = cwd): Promise<Finished> {
  const [command = '', ...rest] = args
  return inProcess([command, '--config', CONFIG, ...rest], {
    cwd: folder,
    env: { HOLDFAST_HOME: join(folder, 'data') },
  })
}

beforeAll(async () => {
  cwd = folders.make()
  await firm(['run', '--context', 'a', 'find it'])
  await firm(['run', '--context', 'a', 'its tasks'])
  await firm(['run', '--context', 'a', 'tasks of p-33'])
  await firm(['run', '--context', 'b', 'hello'])
})
afterAll(() => folders.remove())

describe('what is active', () => {
  it('is told with its end, and every id of a call with its source', async () => {
    const { code, stdout } = await firm(['state', 'a'])
    const shown = stdout.replaceAll(/(?:\d{4}-\d\d-\d\d )?\d\d:\d\d/g, 'WHEN')
    expect({ code, shown }).toEqual({
      code: 0,
      shown: `site:a

ACTIVE    LABEL      ID    UNTIL
project   Champigny  p-11  WHEN

TOOL        TURN  ARGUMENT   ID            FROM
list_tasks  2     projectId  project p-11  it is active
list_tasks  3     projectId  project p-33  written by the person
`,
    })
  })

  it('is told to programs', async () => {
    const { active, calls, ...rest } = JSON.parse((await firm(['state', 'a', '--json'])).stdout) as {
      active: { since: string; until: string }[]
      calls: unknown[]
    }
    expect(rest).toEqual({ contextId: 'site:a', agent: 'site' })
    expect(active).toMatchObject([{ entity: 'project', ids: ['p-11'], label: 'Champigny', expired: false }])
    const [only] = active
    expect(Date.parse(only?.until ?? '') - Date.parse(only?.since ?? '')).toBe(7 * 3_600_000)
    expect(calls).toMatchObject([
      { turn: 2, tool: 'list_tasks', grounds: [{ path: 'projectId', id: 'p-11', source: 'state' }] },
      { turn: 3, tool: 'list_tasks', grounds: [{ path: 'projectId', id: 'p-33', source: 'said' }] },
    ])
  })

  it('is the person’s in the other conversations too', async () => {
    const { stdout } = await firm(['state', 'b'])
    expect(stdout).toContain('project   Champigny  p-11')
    expect(stdout).toContain('No call had an id yet.')
    expect((await firm(['state', '~state'])).stdout).toContain('project   Champigny  p-11')
  })

  it('is not told of a conversation that is not there', async () => {
    const { code, stderr } = await firm(['state', 'nowhere'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'holdfast: There is no conversation "nowhere". Run holdfast sessions to list them.\n',
    })
  })
})

describe('the journal of what a person has chosen', () => {
  it('is not among the conversations', async () => {
    const { stdout } = await firm(['sessions', '--json'])
    const ids = (JSON.parse(stdout) as { contextId: string }[]).map(({ contextId }) => contextId)
    expect(ids.toSorted()).toEqual(['site:a', 'site:b'])
  })

  it('is erased by its name; from then on conversations remember for themselves', async () => {
    const own = folders.make()
    await firm(['run', '--context', 'a', 'find it'], own)
    const { code, stdout } = await firm(['erase', '~state', '--yes'], own)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Erased ~state (0 turns). Its id is refused until it is recreated.\n',
    })
    expect((await firm(['state', 'a'], own)).stdout).toContain('Nothing is active.')
    const again = await firm(['run', '--context', 'a', 'find it'], own)
    expect(again.code).toBe(0)
    expect(again.stderr).toContain('The choice holds in this conversation only')
    await firm(['run', '--context', 'a', 'hello'], own)
    expect((await firm(['state', 'a'], own)).stdout).toContain('project   Champigny  p-11')
    await firm(['run', '--context', 'b', 'hello'], own)
    expect((await firm(['state', 'b'], own)).stdout).toContain('Nothing is active.')
  })
})
