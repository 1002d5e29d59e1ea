/** A server that breaks every rule: its calls fail, its tools are left out, and the agent and other servers go on. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fakeToolContext } from '../../src/testing/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { moduleFile } from '../build/programs.ts'
import { until } from '../turn/kit.ts'
import { call, connected, folder, isAlive, script } from './kit.ts'

const error = (message: string | RegExp) => ({ output: { error: expect.stringMatching(message) } })

describe('a server that lies in its answers', () => {
  it('fails the call, is started again for the next, and its standard error is bounded', async () => {
    const mcp = await connected({
      liar: script('liar.ts', 'tools'),
      hasty: { ...script('liar.ts', 'tools'), timeoutMs: 200, tools: ['silent'] },
    })
    const pids = new Set<number>()
    const status = () => {
      const [first] = mcp.status()
      if (first?.pid !== undefined) pids.add(first.pid)
      return first
    }
    expect(status()).toMatchObject({ state: 'connected', tools: 11, protocolVersion: '2025-06-18' })
    expect(await call(mcp, 'liar_garbage')).toMatchObject({ status: 'ok', output: 'and yet it works' })
    expect(status()?.problems.join('\n')).toContain('424242')
    expect(await call(mcp, 'hasty_silent')).toMatchObject({ status: 'unknown', output: { code: 'timeout' } })
    expect(await call(mcp, 'liar_nonsense')).toMatchObject({
      status: 'unknown',
      ...error(/^The MCP server "liar" answered, but its answer breaks the protocol: content: .+; isError: /),
    })
    expect(await call(mcp, 'liar_torn')).toMatchObject({
      ...error(/its answer breaks the protocol: content\[0\]\.data: Invalid Base64 string\./),
    })
    expect(await call(mcp, 'liar_unfit')).toMatchObject({
      status: 'error',
      output: { error: expect.stringContaining('does not fit its own schema'), data: { m: 1 } },
    })
    expect(await call(mcp, 'liar_big')).toMatchObject({
      status: 'unknown',
      ...error(/was lost in this call\. It sent a message of more than 10485760 bytes, and was stopped\./),
    })
    expect(await call(mcp, 'liar_chatter')).toMatchObject({ status: 'ok' })
    await expect.poll(() => status()?.stderr?.length).toBe(8 * 1024)
    expect(await call(mcp, 'liar_endless')).toMatchObject({
      status: 'unknown',
      output: { code: 'connection-lost' },
    })
    expect(await call(mcp, 'liar_garbage')).toMatchObject({ status: 'ok' })
    status()
    expect(pids.size).toBeGreaterThan(2)
    await mcp.close()
    for (const pid of pids) expect(isAlive(pid)).toBe(false)
  })

  it('repeats the key of its config: it is cut out of results, artifacts, progress, questions and errors', async () => {
    const liar = { ...script('liar.ts', 'leaks'), env: { API_KEY: 'sk-verysecret-123456' }, timeoutMs: 500 }
    const mcp = await connected({ liar: { ...liar, resources: true } })
    const kept: unknown[] = []
    const artifacts = {
      ...fakeToolContext().artifacts,
      writeFile: async (_: string, content: unknown) => kept.push(content) as never,
    }
    const stop = new AbortController()
    const progress = (value: unknown) => {
      kept.push(value)
      stop.abort()
    }
    const read = (uri: string) => call(mcp, 'liar_read_resource', { args: { uri }, artifacts })
    const ends = [
      await call(mcp, 'liar_deep'),
      await call(mcp, 'liar_tell', { progress, signal: stop.signal }),
      await read('shop://large'),
      await read('shop://refused'),
      await read('shop://silent'),
      await mcp.readResource('liar', 'shop://large'),
      await call(mcp, 'liar_ask'),
    ]
    expect(ends).toMatchObject([
      { status: 'ok', output: { error: expect.stringContaining('nested more than 200 levels') } },
      { status: 'unknown', output: { code: 'cancelled' } },
      { status: 'ok', output: [{ text: { bytes: 70_011 } }] },
      { status: 'error', ...error(/^The MCP server "liar" refused the call: bad key \[redacted\]$/) },
      { status: 'unknown', output: { code: 'timeout' } },
      [{ uri: 'shop://large' }],
      { requests: [{ prompt: 'Is [redacted] right?' }] },
    ])
    expect(kept).toHaveLength(2)
    expect(JSON.stringify([ends, kept])).not.toContain('verysecret')
  })

  it('answers while its question waits: the call is over, and does not run again', async () => {
    const mcp = await connected({ liar: script('liar.ts', 'leaks') })
    expect(await call(mcp, 'liar_both')).toMatchObject({ status: 'ok', output: 'done' })
  })

  it('returns content that cannot be kept: the call has happened all the same', async () => {
    const mcp = await connected({ liar: script('liar.ts', 'leaks') })
    const writeFile = () => Promise.reject(new Error('The store is full.'))
    const artifacts = { ...fakeToolContext().artifacts, writeFile }
    expect(await call(mcp, 'liar_album', { artifacts })).toMatchObject({
      status: 'ok',
      output: { 0: { type: 'image', error: 'It could not be kept: The store is full.' } },
    })
  })

  it('returns thousands of images: the first hundred are kept, and the result says how many are not', async () => {
    const mcp = await connected({ liar: script('liar.ts', 'tools') })
    const { output } = (await call(mcp, 'liar_album')) as { readonly output: unknown }
    expect(output).toHaveLength(101)
    expect(output).toMatchObject({
      0: { artifact: 'mcp-call_1-1' },
      99: { artifact: 'mcp-call_1-100' },
      100: {
        type: 'text',
        text: '2900 more parts of the result were left out: it has 3000, and 100 are kept.',
      },
    })
  })

  it('changes its tools while it runs, and the next turn has them', async () => {
    const mcp = await connected({ liar: script('liar.ts', 'tools') })
    expect((await mcp.tools()).map(({ name }) => name)).not.toContain('liar_later')
    await call(mcp, 'liar_change')
    expect(await call(mcp, 'liar_later')).toMatchObject({ output: 'later' })
  })

  it('dies in mid-call: the outcome is unknown, its last words are there, and the next call starts it again', async () => {
    const log = join(folder(), 'log')
    const mcp = await connected({ liar: script('liar.ts', 'tools', log) })
    const tools = await mcp.tools()
    expect(await call(mcp, 'liar_die')).toMatchObject({
      status: 'unknown',
      output: { code: 'connection-lost', error: expect.stringContaining('It ended with exit code 3.') },
    })
    expect(readFileSync(log, 'utf8')).toBe('died\n')
    expect(mcp.status()).toMatchObject([{ state: 'failed', stderr: 'about to die\n' }])
    expect(tools.find(({ name }) => name === 'liar_garbage')?.origin).toEqual({ kind: 'mcp', server: 'liar' })
    expect(await call(mcp, 'liar_garbage')).toMatchObject({ status: 'ok' })
  })
})

describe('a server that lies in its list of tools', () => {
  it('loses the tools that cannot be used, and keeps the others under legal, stable names', async () => {
    const mcp = await connected({ odd: { ...script('liar.ts', 'odd'), trust: true } })
    const tools = await mcp.tools()
    expect(tools.map(({ name, replay, approve }) => `${name} ${replay} ${String(approve)}`)).toEqual([
      'odd_read safe never',
      expect.stringMatching(/^odd_na_me_31m_x_[0-9a-f]{8} never always$/),
      expect.stringMatching(/^odd_(long)+lon_[0-9a-f]{8} never always$/),
      'odd_loud never always',
      'odd_hidden never always',
      'odd_whisper never always',
      'odd_nothing never always',
      'odd_tree never always',
      'odd_slow never always',
      'odd_forked never always',
    ])
    const described = Object.fromEntries(tools.map(({ name, description }) => [name, description]))
    expect(described['odd_loud']).toHaveLength(8001)
    expect(described['odd_hidden']).toBe('plain text')
    expect(tools.find(({ name }) => name === 'odd_whisper')?.parameters).toEqual({
      type: 'object',
      description: 'all of it',
      properties: {
        description: { type: 'string', title: 'ab', description: 'one two' },
        long: { type: 'string', description: `${'d'.repeat(8000)}…` },
        choice: { enum: ['a\u200Bb'] },
      },
    })
    expect(described['odd_nothing']).toBe('nothing of the MCP server odd')
    expect(JSON.stringify(tools.map(({ parameters }) => parameters))).not.toContain('x-entity')
    expect(mcp.status()[0]?.problems).toEqual([
      'Its tool "read" is left out: another one has the same name.',
      'Its tool "cycle" is left out: its input schema cannot be used: a $ref in it leads back to itself.',
      expect.stringContaining('"outside" is left out: its input schema cannot be used: its $ref'),
      'Its tool "list" is left out: its input schema cannot be used: its top level is not of type object.',
      expect.stringContaining('"huge" is left out'),
      'Its tool "doubled" is left out: its input schema cannot be used: its parts refer to each other so often that a check takes too many steps.',
      expect.stringContaining('"unschemed" is left out'),
    ])
    // A regular expression of the server would run here for hours.
    expect(await call(mcp, 'odd_slow', { args: { a: `${'a'.repeat(40)}!` } })).toMatchObject({ status: 'ok' })
    expect(await call(mcp, 'odd_tree', { args: { child: { child: { n: 'x' } } } })).toMatchObject({
      status: 'rejected',
      output: { code: 'invalid-arguments' },
    })
  })

  it('has arguments that take too many steps checked by the top level of the schema alone', async () => {
    const mcp = await connected({ odd: { ...script('liar.ts', 'odd'), tools: ['forked'] } })
    const nested = (levels: number, inner: object): object =>
      levels === 0 ? inner : { n: 1, child: nested(levels - 1, inner) }
    const forked = (args: object) => call(mcp, 'odd_forked', { args })
    expect(await forked(nested(3, { n: 'x' }))).toMatchObject({ status: 'rejected' })
    expect(await forked(nested(24, { n: 'x' }))).toMatchObject({ status: 'ok' })
    expect(await forked(nested(60, { n: 1 }))).toMatchObject({ status: 'ok' })
    expect(await forked({ child: nested(24, {}) })).toMatchObject({ status: 'rejected' })
  })

  it('with 10,000 tools gives the first 500, or those that the config names', async () => {
    const many = script('liar.ts', 'many')
    const mcp = await connected({ all: many, some: { ...many, tools: ['tool9999', 'nope'] } })
    expect((await mcp.tools()).length).toBe(501)
    expect(mcp.status().map(({ problems }) => problems)).toEqual([
      ['It has 10000 tools, and the first 500 are used. Name those that you need in `tools`.'],
      ['It has no tool "nope".'],
    ])
  })

  it('keeps the tools of a page that has 500,000 other values', async () => {
    const mcp = await connected({ padded: script('liar.ts', 'padded') })
    expect((await mcp.tools()).length).toBe(11)
  })
})

describe('loadTools', () => {
  it('adds the tools of servers to those of the folder, and ends them when it is closed', async () => {
    const tools = await loadTools({
      cwd: folder(),
      toolIds: [],
      mcpServers: { liar: script('liar.ts', 'tools') },
    })
    expect(tools.map(({ name }) => name)).toContain('liar_garbage')
    await tools.close()
    const garbage = tools.find(({ name }) => name === 'liar_garbage')
    await expect(garbage?.run({}, fakeToolContext())).rejects.toThrow('The MCP server "liar" is closed.')
  })

  it('says which servers do not work, and why', async () => {
    const last = `console.error('no licence'); process.exit(4)`
    const tools = await loadTools({
      cwd: folder(),
      toolIds: ['read_file'],
      mcpServers: {
        missing: { command: 'no-such-command' },
        brief: { command: process.execPath, args: ['-e', last] },
        closed: { command: 'sh', args: ['-c', 'exec 0<&-; echo "no input" >&2; sleep 0.3; exit 5'] },
      },
    })
    expect(tools.map(({ name }) => name)).toEqual(['read_file'])
    expect(tools.status()).toMatchObject([
      { name: 'missing', state: 'failed', error: expect.stringContaining('no command "no-such-command"') },
      { error: 'It ended with exit code 4. Its standard error ends with: no licence' },
      { error: 'It ended with exit code 5. Its standard error ends with: no input' },
    ])
    expect(JSON.stringify(tools.status())).not.toContain('EPIPE')
    await tools.close()
  })
})

describe('a server that does not end', () => {
  it('is killed with the processes that it started, when it is closed and when the program ends', async () => {
    const log = join(folder(), 'log')
    const mcp = await connected({ parent: script('liar.ts', 'parent', log) })
    const pids = [mcp.status()[0]?.pid ?? 0, Number(readFileSync(log, 'utf8'))]
    expect(pids.map(isAlive)).toEqual([true, true])
    await mcp.close()
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false])
    expect(mcp.status()).toEqual([
      { name: 'parent', transport: 'stdio', state: 'closed', tools: 11, problems: [] },
    ])

    const other = join(folder(), 'log')
    const program = `
      const { connectMcp } = await import(${JSON.stringify(moduleFile('mcp/index.ts'))})
      await connectMcp({ servers: { parent: ${JSON.stringify(script('liar.ts', 'parent', other))} } })
      process.exit(0)`
    spawnSync(process.execPath, ['--input-type=module', '-e', program])
    const orphan = Number(readFileSync(other, 'utf8'))
    await expect.poll(() => isAlive(orphan)).toBe(false)
  })
})

describe('a server that is closed while it is connected to', () => {
  it('is ended at once, and not started again', async () => {
    const log = join(folder(), 'log')
    const mute = { ...script('liar.ts', 'mute', log), connectTimeoutMs: 3_600_000 }
    const mcp = await connected({ mute }, { lazy: true })
    const tools = mcp.tools()
    await until('it runs', () => existsSync(log))
    await mcp.close()
    expect(await tools).toEqual([])
    expect(readFileSync(log, 'utf8')).toBe('started\n')
  })
})

describe('a server that cannot be reached', () => {
  it('is an error about that server, and the others go on', async () => {
    const problems: string[] = []
    const mcp = await connected(
      {
        missing: { command: 'no-such-command' },
        mute: { ...script('liar.ts', 'mute'), connectTimeoutMs: 300 },
        gone: { url: 'http://127.0.0.1:1/mcp' },
        named: { url: 'http://me:secret@127.0.0.1:8080/mcp' },
        brief: script('liar.ts', 'brief', join(folder(), 'log')),
        strict: script('liar.ts', 'strict'),
      },
      { onProblem: ({ server }) => problems.push(server) },
    )
    for (const { origin } of await mcp.tools()) expect(origin).toEqual({ kind: 'mcp', server: 'strict' })
    expect(mcp.status()).toMatchObject([
      { state: 'failed', error: 'It cannot be started: there is no command "no-such-command" in PATH.' },
      { state: 'failed', error: 'It did not answer within 300 ms.' },
      { state: 'failed', error: expect.stringContaining('Port 1 of its url is one') },
      {
        state: 'failed',
        error:
          'Its url has a user or a password, with which `fetch` never connects. Set `Authorization` in `headers` instead.',
      },
      { state: 'failed', error: 'It ended with exit code 7.' },
      { state: 'connected', tools: 11 },
    ])
    // The number of a process that has ended may be that of another one by now.
    expect(mcp.status().map(({ pid }) => typeof pid)).toEqual([
      ...Array<string>(5).fill('undefined'),
      'number',
    ])
    expect(new Set(problems)).toEqual(new Set(['missing', 'mute', 'gone', 'named', 'brief']))
  })

  it('holds up no turn after its list has failed', async () => {
    const mcp = await connected({ liar: { ...script('liar.ts', 'unlisted'), connectTimeoutMs: 3_600_000 } })
    expect(mcp.status()).toMatchObject([
      { state: 'connected', problems: ['Its tools cannot be listed: not now'] },
    ])
    expect(await mcp.tools()).toEqual([])
  })

  it('is tried again less and less often', async () => {
    const log = join(folder(), 'log')
    const mcp = await connected({ brief: script('liar.ts', 'brief', log) })
    for (let turn = 0; turn < 20; turn += 1) expect(await mcp.tools()).toEqual([])
    const starts = readFileSync(log, 'utf8').split('\n').length - 1
    expect(starts).toBeLessThan(20)
    expect(mcp.status()).toMatchObject([{ state: 'failed', error: 'It ended with exit code 7.' }])
    await expect(mcp.prompts('breif')).rejects.toThrow('There is no MCP server "breif". Did you mean brief?')
  })
})
