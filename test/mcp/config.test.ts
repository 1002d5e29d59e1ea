/** The config of servers: the shapes that people have, and errors that name the server and the field. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type McpServersOption, readServers } from '../../src/mcp/config.ts'
import { connectMcp } from '../../src/mcp/index.ts'
import { toolName } from '../../src/mcp/names.ts'
import { folder } from './kit.ts'

const read = (option: unknown, env: Readonly<Record<string, string>> = {}) =>
  readServers(option as McpServersOption, env)

const refused = (server: object) => read({ s: server })

describe('the config', () => {
  it('may have a password with a percent sign that begins no escape', async () => {
    const mcp = await connectMcp({ servers: { web: { url: 'http://me:100%@127.0.0.1/mcp' } }, lazy: true })
    expect(mcp.status()).toMatchObject([{ name: 'web', state: 'idle' }])
    await mcp.close()
  })

  it('is the same below mcpServers, as it is, and in a file', async () => {
    const servers = {
      fs: { command: 'npx', args: ['-y', 'server'], env: { KEY: '${TOKEN}' }, cwd: '/tmp' },
      web: { type: 'http', url: 'https://example.com/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
      seed: { transport: 'streamable_http', url: 'http://localhost:${PORT:-8000}/mcp' },
      off: { command: 'x', disabled: true },
    }
    const path = join(folder(), 'mcp.json')
    writeFileSync(path, `\uFEFF${JSON.stringify({ mcpServers: servers, theme: 'dark' })}`)
    const expected = [
      {
        name: 'fs',
        target: { kind: 'stdio', command: 'npx', args: ['-y', 'server'], env: { KEY: 't-1' }, cwd: '/tmp' },
        options: {},
      },
      {
        name: 'web',
        target: { kind: 'http', url: 'https://example.com/mcp', headers: { Authorization: 'Bearer t-1' } },
        options: {},
      },
      { name: 'seed', target: { kind: 'http', url: 'http://localhost:8000/mcp', headers: {} }, options: {} },
    ]
    for (const option of [servers, { mcpServers: servers }, path])
      expect(await read(option, { TOKEN: 't-1' })).toEqual(expected)
  })

  it('says what is wrong, and in which server', async () => {
    await expect(refused({ command: 'x', env: { KEY: '${NOPE}' } })).rejects.toThrow(
      'The MCP server "s" needs the environment variable NOPE for env.KEY. Set NOPE.',
    )
    await expect(refused({ command: 'x', autoApprove: [] })).rejects.toThrow(
      'The MCP server "s" has no "autoApprove". Write trust: ["tool"] instead.',
    )
    await expect(refused({ command: 'x', arg: [] })).rejects.toThrow(
      'The MCP server "s" has no "arg". Did you mean args?',
    )
    await expect(refused({ command: 'x', url: 'http://x' })).rejects.toThrow(
      'must have either command, to start it, or url',
    )
    await expect(refused({})).rejects.toThrow('must have either command')
    await expect(refused({ comand: 'x' })).rejects.toThrow(
      'The MCP server "s" has no "comand". Did you mean command?',
    )
    await expect(refused({ serverUrl: 'http://x' })).rejects.toThrow(
      'The MCP server "s" has no "serverUrl". Write url instead.',
    )
    await expect(refused({ url: 'file:///etc/passwd' })).rejects.toThrow('no http or https address')
    await expect(refused({ url: 'http://x', type: 'sse' })).rejects.toThrow('uses SSE')
    await expect(refused({ command: 'x', trust: 'yes' })).rejects.toThrow(
      'trust that must be a list of texts, true or false',
    )
    await expect(refused({ command: 'x', timeoutMs: 0 })).rejects.toThrow(
      'The MCP server "s" is wrong: timeoutMs must be',
    )
    await expect(refused({ url: 'http://x', headers: { A: 'a\nb' } })).rejects.toThrow(
      'headers that cannot be sent',
    )
    await expect(read('/no/such/file.json')).rejects.toThrow('/no/such/file.json cannot be read (ENOENT)')
    await expect(read([])).rejects.toThrow('must be MCP servers by name, not a list')
    await expect(connectMcp({ mcpServers: {} } as never)).rejects.toThrow('Write servers instead')
  })

  it('shows no value of env or headers in an error', async () => {
    const secret = 'sk-4711'
    for (const server of [
      { command: 1, env: { KEY: secret } },
      { url: 'http://x', headers: { 'bad name': secret } },
      { url: `http:${secret}\u0000//`, headers: { A: secret } },
    ])
      await expect(read({ s: server })).rejects.toSatisfy(
        (error) => error instanceof Error && !error.message.includes(secret),
      )
  })
})

describe('the name of a tool', () => {
  it('is legal, unique, and the same whatever other tools and servers there are', () => {
    const names = [
      ['git', 'log'],
      ['git', 'hub_log'],
      ['git_hub', 'log'],
      ['git', 'hub--log'],
      ['git_hub', '-log'],
      ['git_hub-', 'log'],
      ['git_hub--log', 'all'],
      ['git_hub', 'log--all'],
      ['9', 'lives'],
      ['ünï', 'code'],
      ['git', 'a b'],
      ['git', 'a_b'],
      ['git', 'a/b'],
      ['git', ''],
      ['git', 'x'.repeat(100)],
      ['git', `${'x'.repeat(100)}y`],
    ].map(([server = '', tool = '']) => toolName(server, tool))
    expect(names.slice(0, 3)).toEqual(['git_log', 'git_hub_log', 'git_hub--log'])
    expect(names).toContain('git_a_b')
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/)
  })
})
