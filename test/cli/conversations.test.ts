/** Listing, showing and erasing conversations, and what the terminal says of itself. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/help.ts'
import { END, graph, list, START } from '../../src/graph/index.ts'
import { Agent, LOCAL_OWNER } from '../../src/index.ts'
import { flushLogs } from '../../src/observe/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { inProcess, siteInProcess as site } from './in-process.ts'
import { Folders, holdfast, LAUNCH } from './kit.ts'

const folders = new Folders()
let cwd = ''

beforeAll(async () => {
  cwd = folders.make()
  await site(['run', '--context', 'a', 'quick'], { cwd })
  await site(['run', '--context', 'a', 'order'], { cwd })
  await Promise.all([
    site(['run', '--context', 'both', 'hello'], { cwd }),
    site(['run', '--context', 'both', '--agent', 'tired', 'go'], { cwd }),
  ])
})
afterAll(() => folders.remove())

describe.concurrent('conversations', () => {
  it('have the same id however its accents are written', async () => {
    const own = folders.make()
    const apart = 'bu\u0308ro'
    expect(await site(['run', '--context', apart, 'quick'], { cwd: own })).toMatchObject({ code: 0 })
    for (const id of [apart, `site:${apart}`, 'b\u00fcro'])
      expect((await site(['show', id, '--json'], { cwd: own })).stdout).toContain('"site:b\u00fcro"')
    expect((await site(['erase', apart, '--yes'], { cwd: own })).code).toBe(0)
  })

  it('are listed, the most recent first', async () => {
    const { code, stdout } = await site(['sessions'], { cwd })
    const [title, ...lines] = stdout.trimEnd().split('\n')
    expect(code).toBe(0)
    expect(title).toMatch(/^ID {8}AGENT {2}TURNS {2}ACTIVE {2}STATUS$/)
    const facts = lines.map((line) =>
      line
        .split(/ +/)
        .filter((_, column) => column !== 3)
        .join(' '),
    )
    expect(facts.toSorted()).toEqual(['a site 2 waiting', 'both site 1 idle', 'both tired 1 max-iterations'])
  })

  it('with a turn that has not ended are open: nobody may drive it', async () => {
    const own = folders.make()
    await site(['run', '--context', 'x', 'hello'], { cwd: own })
    const store = sqliteStore(join(own, 'data', 'holdfast.db'))
    const key = { ...LOCAL_OWNER, contextId: 'site:x' }
    const { seq = 0 } = (await store.head(key)) ?? {}
    const entries = [{ type: 'turn.start', turn: 2, data: { principal: LOCAL_OWNER } }]
    const claim = { driver: '1@gone', leaseMs: 1000 }
    await store.append({ key, id: 'crash', since: seq, claim, entries })
    await store.close()
    expect((await site(['sessions'], { cwd: own })).stdout).toMatch(/x +site +2 .* open\n$/)
  })

  it('with an open turn are shown with its calls that have no result', async () => {
    const own = folders.make()
    await site(['run', '--context', 'x', 'hello'], { cwd: own })
    const store = sqliteStore(join(own, 'data', 'holdfast.db'))
    const key = { ...LOCAL_OWNER, contextId: 'site:x' }
    const { seq = 0 } = (await store.head(key)) ?? {}
    const call = (callId: string, bags: number) => ({
      type: 'tool-call',
      callId,
      tool: 'order',
      args: { bags },
    })
    const start = { tool: 'order', idempotencyKey: 'k', replay: 'never' }
    const asked = { requestId: 'r', kind: 'confirmation', prompt: 'Order 7?', callId: 'c', from: 'approval' }
    const entries = [
      { type: 'turn.start', turn: 2, data: { principal: LOCAL_OWNER } },
      { type: 'model.start', turn: 2, data: { model: 'm', prompt: 'p' } },
      {
        type: 'model.end',
        turn: 2,
        data: { content: [call('a', 4), call('b', 5), call('c', 7), call('d', 8)], usage: {} },
      },
      { type: 'tool.start', turn: 2, data: { callId: 'a', args: { bags: 4 }, ...start } },
      { type: 'tool.end', turn: 2, data: { callId: 'a', status: 'ok', output: 'sent' } },
      { type: 'tool.start', turn: 2, data: { callId: 'b', args: { bags: 5 }, ...start } },
      { type: 'request.start', turn: 2, data: asked },
    ]
    await store.append({ key, id: 'crash', since: seq, claim: { driver: '1@gone', leaseMs: 1000 }, entries })
    await store.close()
    const { stdout } = await site(['show', 'x'], { cwd: own })
    expect(stdout.slice(stdout.indexOf('✓'))).toBe(`✓ order bags=4 → sent
? approval of order {"bags":7} │ Order 7?
→ order bags=5 · started, no result yet
→ order bags=7 · waits for an answer
→ order bags=8 · not started
turn 2 · not ended
`)
    const { turns } = JSON.parse((await site(['show', 'x', '--json'], { cwd: own })).stdout) as {
      turns: { openCalls?: object[] }[]
    }
    expect(turns.map(({ openCalls }) => openCalls)).toMatchObject([
      undefined,
      [
        { callId: 'b', tool: 'order', args: { bags: 5 }, state: 'started' },
        { state: 'asked' },
        { state: 'waiting' },
      ],
    ])
  })

  it('are listed as JSON, also those of one agent', async () => {
    const { stdout } = await site(['sessions', '--json', '--agent', 'tired'], { cwd })
    const [only, ...others] = JSON.parse(stdout) as object[]
    expect(others).toEqual([])
    expect(only).toMatchObject({
      id: 'both',
      agent: 'tired',
      contextId: 'tired:both',
      turns: 1,
      status: 'idle',
    })
  })

  it('are one JSON document with --json, in every command that reads them', async () => {
    for (const args of [['sessions'], ['show', 'a'], ['state', 'a'], ['trace', 'a']])
      expect(JSON.parse((await site([...args, '--json'], { cwd })).stdout)).toBeTypeOf('object')
  })

  it('of graphs are shown with what their nodes said and did', async () => {
    const folder = folders.make()
    const home = join(folder, '.holdfast')
    mkdirSync(home)
    const store = sqliteStore(join(home, 'holdfast.db'))
    const flow = graph({ state: { notes: list<string>() } })
      .addNode('look', async (_, { step }) => ({ notes: await step('read', () => 'a letter') }))
      .addNode('rest', () => ({}))
      .addNode('lose', () => {
        throw new Error('It is gone.')
      })
      .addEdge(START, 'look')
      .addEdge('look', 'rest')
      .addEdge('rest', 'lose')
      .addEdge('lose', END)
      .compile({ store })
    await flow.stream({ notes: 'begun' }, { contextId: 'post' }).outcome
    await store.close()
    const { stdout, stderr } = await inProcess(['show', 'post'], { cwd: folder })
    expect(stderr).toBe('')
    const shown = stdout.replace(/^.* · last active .*$/m, 'FACTS').replace(/[\d.]+s$/m, 'TIME')
    expect(shown).toBe(`post
FACTS

› {"notes":["begun"]}
✓ read → a letter
▸ look.1 {"notes":["a letter"]}
▸ rest.2 changed nothing
✗ lose.3 It is gone.
turn 1 · failed · 0 in, 0 out · TIME
`)
  })

  it('are shown with calls, questions, outcomes and tokens', async () => {
    const { stdout } = await site(['show', 'a'], { cwd })
    const shown = stdout
      .replaceAll(/\d+ in, \d+ out · [\d.]+s/g, 'TOKENS')
      .replace(/^.* · last active .*$/m, 'FACTS')
    expect(shown).toBe(`site:a
FACTS

› quick
✓ slow seconds=0.3 → 0.3 seconds are over
Done.
turn 1 · stop · TOKENS

› order
I will order.
? approval of order {"bags":20} │ Order 20 bags?
turn 2 · input-required · TOKENS
`)
  })

  it('have a full name, for ids that two agents use', async () => {
    const { code, stderr } = await site(['show', 'both'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'holdfast: "both" matches site:both or tired:both. Give the full name.\n',
    })
    expect((await site(['show', 'nothing'], { cwd })).stderr).toContain('There is no conversation "nothing"')
    expect((await site(['show', 'tired:both'], { cwd })).stdout).toContain('✓ slow seconds=0')
    expect((await site(['show', 'both', '--agent', 'site'], { cwd })).stdout).toContain('This is message 1.')
  })

  it('of other programs are found by their id, and all that match are named', async () => {
    const folder = folders.make()
    mkdirSync(join(folder, '.holdfast'))
    const store = sqliteStore(join(folder, '.holdfast', 'holdfast.db'))
    const longest = `other:${'x'.repeat(506)}`
    for (const contextId of ['other:h', 'more:h', 'other:only', longest])
      await new Agent({ contextId, store, model: new ScriptedModel(['Hello.']) }).executeTurn('Hi').outcome
    await store.close()
    const show = (name: string) => inProcess(['show', name], { cwd: folder })
    expect((await show('only')).stdout).toContain('other:only\n1 turn · ')
    expect((await show(longest)).stdout).toContain(`${longest}\n1 turn · `)
    expect((await show('x'.repeat(506))).stdout).toContain(`${longest}\n1 turn · `)
    expect(await show('h')).toMatchObject({
      code: 2,
      stderr: 'holdfast: "h" matches more:h or other:h. Give the full name.\n',
    })
  })

  it('of other owners are announced, listed, shown and erased by tenant and actor', async () => {
    const folder = folders.make()
    mkdirSync(join(folder, '.holdfast'))
    const store = sqliteStore(join(folder, '.holdfast', 'holdfast.db'))
    for (const actor of ['ann', 'bob']) {
      const owner = { tenant: 'acme', actor }
      const model = new ScriptedModel([`Hello, ${actor}.`])
      await new Agent({ contextId: 'support:1', owner, store, model }).executeTurn('Hi').outcome
    }
    await store.close()
    const ann = ['--tenant', 'acme', '--actor', 'ann']
    const run = (...args: string[]) => inProcess(args, { cwd: folder })
    expect(await run('sessions')).toMatchObject({
      code: 0,
      stdout: '',
      stderr:
        'No conversations yet. holdfast chat begins one.\nOther owners have conversations: acme/ann, acme/bob. To list them: holdfast sessions --tenant acme --actor ann\n',
    })
    expect(JSON.parse((await run('sessions', '--json', ...ann)).stdout)).toMatchObject([
      { contextId: 'support:1', tenant: 'acme', actor: 'ann', turns: 1 },
    ])
    expect((await run('sessions', ...ann)).stderr).toBe('')
    expect((await run('show', '1', ...ann)).stdout).toContain('Hello, ann.')
    expect((await run('trace', 'support:1', ...ann)).code).toBe(0)
    expect((await run('state', 'support:1', ...ann)).code).toBe(0)
    expect(await run('show', 'support:1')).toMatchObject({
      code: 1,
      stderr: 'holdfast: There is no conversation "support:1". Run holdfast sessions to list them.\n',
    })
    expect(await run('erase', 'support:1', '--yes', ...ann)).toMatchObject({
      stdout: 'Erased support:1 of acme/ann (1 turn). Its id is refused until it is recreated.\n',
    })
    expect(await run('show', 'support:1', ...ann)).toMatchObject({
      code: 1,
      stderr:
        'holdfast: acme/ann has no conversation "support:1". Run holdfast sessions --tenant acme --actor ann to list them.\n',
    })
    expect((await run('sessions')).stderr).toContain('Other owners have conversations: acme/bob. ')
    expect(await run('sessions', '--actor', 'ann')).toMatchObject({
      code: 2,
      stderr: 'holdfast: Give both, --tenant and --actor: they name the owner of conversations.\n',
    })
  })

  it('are erased for good', async () => {
    const own = folders.make()
    await site(['run', '--context', 'x', 'hello from the vault'], { cwd: own })
    const files = () => {
      flushLogs()
      return readdirSync(own, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => readFileSync(path).includes('hello from the vault'))
    }
    expect(files().length).toBeGreaterThan(2)
    const erased = await site(['erase', 'x', '--yes'], { cwd: own })
    expect(erased.stdout).toBe('Erased site:x (1 turn). Its id is refused until it is recreated.\n')
    expect(files()).toEqual([])
    expect((await site(['sessions', '--json'], { cwd: own })).stdout).toBe('[]\n')
    const again = await site(['run', '--context', 'x', 'hello'], { cwd: own })
    expect(again.code).toBe(1)
    expect(again.stderr).toContain(
      '✗ The conversation was erased, and its id stays refused. Begin another one: with --context and a new ID',
    )
  })
})

it('an erase whose logs cannot be removed says so, and is finished by the same command', async () => {
  const own = folders.make()
  const run = (...args: readonly string[]) => site(args, { cwd: own })
  const logs = join(own, 'data', 'logs')
  await run('run', '--context', 'x', 'hello')
  renameSync(logs, `${logs}.aside`)
  writeFileSync(logs, '')
  const failed = {
    code: 3,
    stderr: expect.stringContaining('Logs of erased conversations cannot be removed'),
  }
  expect(await run('erase', 'x', '--yes')).toMatchObject(failed)
  rmSync(logs)
  renameSync(`${logs}.aside`, logs)
  expect((await run('erase', 'x', '--yes')).stderr).toContain('There is no conversation "x"')
  expect(readFileSync(join(logs, 'site.log'), 'utf8')).not.toContain('hello')
})

describe.concurrent('the terminal about itself', () => {
  it('has a version and a help that lists every command', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect((await inProcess(['--version'], { cwd })).stdout).toBe(`${version}\n`)
    const { code, stdout } = await inProcess([], { cwd })
    expect(code).toBe(0)
    for (const { name } of COMMANDS) expect(stdout).toContain(`holdfast ${name}`)
  })

  it('explains every command with examples', async () => {
    for (const { name, examples } of COMMANDS) {
      const { code, stdout } = await inProcess([name, '--help'], { cwd })
      expect(code).toBe(0)
      expect(examples.length).toBeGreaterThan(0)
      for (const [example] of examples) expect(stdout).toContain(example)
    }
  })

  it('tells an older Node in one line which one is needed', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`
    expect(LAUNCH[0]).toBe('--import')
    const { code, stdout, stderr } = await holdfast(['--version'], {
      cwd,
      env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(pretend)}` },
    })
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toBe(
      'holdfast needs Node 22.18 or newer, and this is Node 20.20.2. Install a newer one from https://nodejs.org\n',
    )
  })
})
