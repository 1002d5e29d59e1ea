import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { until } from '../turn/kit.ts'
import { launch } from './gate/world.ts'
import { inProcess } from './in-process.ts'
import { cleanEnv, Folders, LAUNCH } from './kit.ts'

const folders = new Folders()
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => folders.remove())

interface Line {
  readonly type: string
  readonly url?: string
  readonly [name: string]: unknown
}

/** `holdfast serve --json` in a process, with the lines that it prints. */
function serve(cwd: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [...LAUNCH, 'serve', '--json', ...args], { cwd, env: cleanEnv() })
  children.push(child)
  const lines: Line[] = []
  let errors = ''
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const listening = async (count = 1): Promise<Line> => {
    await until('it listens', () => {
      if (child.exitCode !== null) throw new Error(errors)
      return lines.filter(({ type }) => type === 'listening').length >= count
    })
    return lines.findLast(({ type }) => type === 'listening') as Line
  }
  return { child, lines, exit, listening, errors: () => errors }
}

/** A search that waits for the file `go`. */
const HELD_CORPUS = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
const text = 'The gate of the dock opens 2 hours before high tide.'
const passage = { id: 'p1', documentId: 'd1', title: 'Docks', source: 'docks.pdf', page: 3, start: 0, end: 52, text }
const search = async () => {
  writeFileSync('searching', '')
  while (!existsSync('go')) await setTimeout(10)
  return [{ ...passage, score: 0.9 }]
}
const corpus = { search, passage: async () => passage, documents: async () => [{ id: 'd1' }], close: async () => {} }
export default { agents: { helper: { model: 'reflex' } }, research: { corpus } }
`

describe('serve', () => {
  test('answers, logs requests, and stops with code 0 while a stream is open', async () => {
    const cwd = folders.make()
    // The default port is taken, by this or by another program.
    const taken = createServer()
      .on('error', () => {})
      .listen(4700, '127.0.0.1')
    const { child, lines, exit, listening } = serve(cwd)
    const { url = '', agents, journal } = await listening()
    taken.close()
    expect(Number(new URL(url).port)).toBeGreaterThan(4700)
    expect([agents, journal]).toEqual([['assistant'], join(cwd, '.holdfast', 'holdfast.db')])
    const conversation = createClient({ url, retryForMs: 0 }).conversation('assistant:x')
    expect(await conversation.ask('What is 2 + 3?')).toMatchObject({ status: 'completed' })
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'assistant' }] })
    expect((await fetch(`${url}/ui/chat/x/stream`)).status).toBe(204)
    const stream = await fetch(`${url}/conversations/assistant:x/events`)
    child.kill('SIGTERM')
    expect(await stream.text()).toContain('event: entry')
    expect(await exit).toBe(0)
    expect(lines.map(({ type, route, status }) => [type, route, status])).toEqual([
      ['listening', undefined, undefined],
      ['request', 'send', 200],
      ['request', 'openai', 200],
      ['request', 'ui', 204],
      ['request', 'events', 200],
    ])
  })

  test('serves research on the documents of the folder, and a killed server goes on with a session', async () => {
    const cwd = folders.make({ 'tides.md': '# Tides\n\nThe gauge of Dunmore was moved in May 1998.' })
    expect(await inProcess(['research', 'add', 'tides.md'], { cwd })).toMatchObject({ code: 0 })
    const first = serve(cwd, '--port', '0')
    const { url = '', agents } = await first.listening()
    expect(agents).toEqual(['assistant', 'research'])
    const chat = async (at: string, message: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${at}/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message, session_id: 'gauge' }),
      })
      return (await response.json()) as Record<string, unknown>
    }
    const asked = await chat(url, 'When was it moved?')
    expect(asked).toMatchObject({ session_id: 'gauge', sources: [], message_count: 2 })
    first.child.kill('SIGKILL')
    await first.exit
    const second = await serve(cwd, '--port', '0').listening()
    const answered = await chat(second.url ?? '', 'The gauge of Dunmore')
    expect(answered).toMatchObject({
      answer: expect.stringContaining('was moved in May 1998 [1]') as string,
      sources: [{ number: 1, title: 'Tides', page: null }],
      message_count: 4,
    })
    const [{ passage_id: passage } = {}] = answered['sources'] as { passage_id?: string }[]
    expect(await (await fetch(`${second.url}/passages/${passage}`)).json()).toMatchObject({
      title: 'Tides',
      text: expect.stringContaining('moved in May 1998') as string,
    })
    expect(await (await fetch(`${second.url}/memory/gauge`)).json()).toMatchObject({ message_count: 4 })
  })

  test('a question that kill -9 cuts in its search is answered after a restart, once', async () => {
    const cwd = folders.make({ 'holdfast.config.ts': HELD_CORPUS })
    const first = serve(cwd, '--port', '0')
    const { url = '' } = await first.listening()
    const chat = (at: string): Promise<Response> =>
      fetch(`${at}/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'gate' },
        body: JSON.stringify({ message: 'When does the gate of the dock open?', session_id: 's' }),
      })
    const cut = chat(url).catch(() => 'cut')
    await until('it searches', () => existsSync(join(cwd, 'searching')))
    first.child.kill('SIGKILL')
    await first.exit
    expect(await cut).toBe('cut')
    writeFileSync(join(cwd, 'go'), '')
    const { url: next = '' } = await serve(cwd, '--port', '0').listening()
    expect(await (await chat(next)).json()).toMatchObject({
      answer: expect.stringContaining('opens 2 hours before high tide [1]') as string,
      message_count: 2,
    })
  })

  test('lets visitors talk to a public agent of the config, and to no other', async () => {
    const cwd = folders.make({
      'holdfast.config.ts': `import { ScriptedModel } from 'holdfast/testing'
const agent = () => ({ model: new ScriptedModel(['Hello.', 'Hello.']) })
export default {
  agents: { desk: { ...agent(), trust: { public: true } }, staff: agent() },
  serve: { authenticate: () => undefined },
}
`,
    })
    const { url = '' } = await serve(cwd, '--port', '0').listening()
    const say = (name: string): Promise<Response> =>
      fetch(`${url}/conversations/${name}:1/messages?wait=true`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"message":"Hi"}',
      })
    expect(await (await say('desk')).json()).toMatchObject({ text: 'Hello.' })
    expect((await say('staff')).status).toBe(403)
    expect(await inProcess(['run', '--agent', 'desk', 'Hi'], { cwd })).toMatchObject({ code: 0 })
  })

  test('starts again when the config changes, with the protocols that it names, and goes with its parent', async () => {
    const config = (name: string) =>
      `import { ScriptedModel } from 'holdfast/testing'\nexport default { agents: { ${name}: { model: new ScriptedModel(['x']) } }, serve: { a2a: true } }\n`
    const cwd = folders.make({ 'holdfast.config.ts': config('one') })
    const { child, exit, listening, errors } = serve(cwd, '--watch', '--port', '0')
    expect((await listening()).agents).toEqual(['one'])
    writeFileSync(join(cwd, 'holdfast.config.ts'), config('two'))
    const { agents, url = '' } = await listening(2)
    expect(agents).toEqual(['two'])
    const card = await fetch(`${url}/.well-known/agent-card.json`)
    expect(await card.json()).toMatchObject({ name: 'two', url: `${url}/a2a/two` })
    child.kill('SIGINT')
    expect(await exit).toBe(0)
    expect(errors()).not.toContain('It starts again')
    await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
  })

  test('--watch sees the modules of the config and its prompts, and no file that an agent writes', async () => {
    const cwd = folders.make({
      'holdfast.config.ts': `import { ScriptedModel } from 'holdfast/testing'
import { NAME } from './names.ts'
export default { agents: { [NAME]: { model: new ScriptedModel(['x']) } } }
`,
      'names.ts': `export const NAME = 'one'\n`,
      'prompts/desk.md': 'Be brief.',
    })
    const { child, exit, lines, listening, errors } = serve(cwd, '--watch', '--port', '0')
    expect((await listening()).agents).toEqual(['one'])
    writeFileSync(join(cwd, 'names.ts'), `export const NAME = 'two'\n`)
    // Later than the module: the newest change is the one that is named.
    for (const name of ['unrelated.txt', 'data.json', 'other.ts']) writeFileSync(join(cwd, name), '{}')
    expect((await listening(2)).agents).toEqual(['two'])
    writeFileSync(join(cwd, 'prompts', 'desk.md'), 'Be very brief.')
    expect((await listening(3)).agents).toEqual(['two'])
    writeFileSync(join(cwd, 'names.ts'), `import './more.ts'\nexport const NAME = 'three'\n`)
    await until('it has ended', () => lines.some(({ type }) => type === 'ended'))
    writeFileSync(join(cwd, 'more.ts'), '')
    expect((await listening(4)).agents).toEqual(['three'])
    const restarts = lines.flatMap((line) => (line.type === 'restart' ? [line['file']] : []))
    expect(restarts).toEqual(['names.ts', 'prompts/desk.md', 'names.ts', 'more.ts'])
    child.kill('SIGINT')
    expect(await exit).toBe(0)
    expect(errors()).not.toContain('has changed')
  })

  test.each([
    [['--host', '0.0.0.0'], 3, 'serve: { authenticate }'],
    [['--host', '192.0.2.1.'], 3, 'can be reached from other machines'],
    [['--port', '70000'], 2, 'from 0 to 65535'],
    [['--port', 'taken'], 3, 'is taken. Choose another port'],
    [['none.ts'], 3, 'none.ts does not exist'],
    [['a.ts', '--config', 'b.ts'], 2, 'given twice'],
    [['auth.ts'], 3, 'serve has no "auth". Known are authenticate, cors'],
    [['lost.ts'], 3, 'serve: authenticate must be a function, not undefined'],
    [['ttl.ts'], 3, 'serve: This host has no agent or graph "other"'],
  ])('%j is refused with %i', async (args, code, text) => {
    const cwd = folders.make({
      'auth.ts': `export default { agents: { a: { model: 'reflex' } }, serve: { auth: 1 } }`,
      'lost.ts': `export default { agents: { a: { model: 'reflex' } }, serve: { authenticate: undefined } }`,
      'ttl.ts': `export default { agents: { a: { model: 'reflex' } }, serve: { ttlMs: { other: 1 } } }`,
    })
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const given = args.map((arg) => (arg === 'taken' ? String(port) : arg))
    const recorded = await launch({ args: ['serve', ...given], isTTY: false, cwd })
    taken.close()
    expect([recorded.code, recorded.stderr]).toEqual([code, expect.stringContaining(text)])
  })
})
