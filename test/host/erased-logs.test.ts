/** Erasing a conversation leaves nothing of it in the folder: not in the store, the session files or the text logs. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agentTool, viewsOf } from '../../src/agent/index.ts'
import { createHost, type Host, type HostConfig } from '../../src/host/index.ts'
import { eraseLogs, flushLogs } from '../../src/observe/index.ts'
import { appendLines } from '../../src/observe/log-file.ts'
import { type ContextKey, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { newFolder } from '../observe/log-kit.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const SECRET = 'the vault opens with 4711'
const ANN = { tenant: 'acme', actor: 'ann' }

function key(contextId: string, owner = LOCAL_OWNER as { tenant: string; actor: string }): ContextKey {
  return { ...owner, contextId }
}

function home(): string {
  const folder = join(newFolder(), '.holdfast')
  mkdirSync(folder)
  return folder
}

function openHost(folder: string, more: Partial<Parameters<typeof createHost>[0]> = {}): Host {
  const store = sqliteStore(join(folder, 'holdfast.db'))
  closing.push(() => store.close())
  const talker = { model: ScriptedModel.forever('Noted.') }
  const host = createHost({ store, agents: { talker }, ...more })
  closing.push(() => host.shutdown())
  return host
}

/** The files below a folder that contain one of the texts. */
function grep(folder: string, ...texts: readonly string[]): string[] {
  flushLogs()
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => texts.some((text) => readFileSync(path).includes(text)))
    .map((path) => path.slice(folder.length + 1).replace(/_.*\.yaml$/, '.yaml'))
    .toSorted()
}

const say = async (host: Host, to: ContextKey, text = SECRET) => (await host.send(to, text)).outcome

describe('host.erase', () => {
  test('leaves nothing of the conversation in the folder, and all of the others', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:gone'))
    await say(host, key('talker:gone2'), 'kept')
    const files = ['logs/talker.log', 'sessions/talker.yaml']
    expect(grep(folder, SECRET)).toEqual(['holdfast.db-wal', ...files])
    const before = readFileSync(join(folder, 'logs/talker.log'), 'utf8').split('\n')
    await host.erase(key('talker:gone'))
    expect(grep(folder, SECRET, 'gone#', '"talker:gone"')).toEqual([])
    expect(grep(folder, 'gone2')).toEqual(expect.arrayContaining(files))
    const after = readFileSync(join(folder, 'logs/talker.log'), 'utf8').split('\n')
    expect(after.map((line) => line.trim())).toEqual(
      before.map((line) => (line.includes('talker:gone#') ? 'erased' : line.trim())),
    )
  })

  test('removes a stack with empty lines, and with lines that look like those of a conversation', async () => {
    const folder = home()
    const fails = defineTool({
      name: 'fails',
      description: 'Fails.',
      input: z.object({}),
      run: () => {
        const error = new TypeError('no')
        const frames = [
          'at a (a.js:1)',
          '',
          `Caused by: ${SECRET}`,
          `at aaaaaaaaaaaaaaaaa INFO  other ${SECRET}`,
        ]
        error.stack = ['TypeError: no', ...frames, `at b (b.js:2) ${SECRET}`].join('\n')
        throw error
      },
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'fails' }] }, 'Noted.'])
    const host = openHost(folder, { agents: { talker: { model, tools: [fails] } } })
    await say(host, key('talker:1'), 'Hi')
    expect(grep(join(folder, 'logs'), SECRET)).toEqual(['talker.log'])
    await host.erase(key('talker:1'))
    expect(grep(join(folder, 'logs'), SECRET, 'a.js', 'b.js')).toEqual([])
  })

  test('removes forks, sub-agents, stacks and rotated files, also if the host was opened anew', async () => {
    const folder = home()
    const clerk = agentTool({
      name: 'clerk',
      description: 'Works.',
      input: z.object({}),
      prompt: () => `Work, ${SECRET}`,
      agent: { name: 'clerk', model: new ScriptedModel(() => `${SECRET} in the sub-agent`) },
    })
    const fails = defineTool({
      name: 'fails',
      description: 'Fails.',
      input: z.object({}),
      run: () => {
        throw new TypeError(SECRET)
      },
    })
    const replies = [
      {
        calls: [
          { tool: 'clerk', args: {} },
          { tool: 'fails', args: {} },
        ],
      },
      SECRET,
    ]
    const model = new ScriptedModel(({ call }) => replies[call - 1] ?? SECRET)
    const agents = { talker: { model, tools: [clerk, fails], log: { maxBytes: 600 } } }
    const first = openHost(folder, { agents })
    await say(first, key('talker:1'))
    await first.fork(key('talker:1'), { to: 'talker:copy' })
    await say(first, key('talker:copy'))
    expect(grep(join(folder, 'logs'), SECRET).length).toBeGreaterThan(1)
    await first.shutdown()
    const again = openHost(folder, { agents })
    expect(await again.erase(key('talker:1'))).toBeGreaterThan(2)
    expect(
      grep(folder, SECRET, 'talker:1', 'talker:copy').filter((name) => !name.startsWith('holdfast')),
    ).toEqual([])
  })

  test('keeps the lines and files of another owner with the same id', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1', ANN))
    await say(host, key('talker:1'))
    await host.erase(key('talker:1'))
    expect(grep(folder, SECRET).filter((name) => name.includes('/'))).toEqual([
      'logs/talker.log',
      'sessions/talker.yaml',
    ])
    expect(readFileSync(join(folder, 'logs/talker.log'), 'utf8')).toMatch(
      /talker:1#1\[acme\/ann\] turn began/,
    )
    await host.erase(key('talker:1', ANN))
    expect(grep(folder, SECRET)).toEqual([])
  })

  test('finds the folders of a config, of a function, and of an agent with a name of its own', async () => {
    const folder = home()
    const logs = { log: { folder: join(folder, 'x') }, sessions: { folder: join(folder, 'y') } }
    const model = () => new ScriptedModel(() => SECRET)
    const agents = {
      object: { ...logs, name: 'other', model: model() },
      made: () => ({ model: model(), log: { folder: join(folder, 'made') } }),
    }
    const first = openHost(folder, { agents })
    for (const id of ['object:1', 'made:1']) await say(first, key(id))
    await first.shutdown()
    const again = openHost(folder, { agents })
    for (const id of ['object:1', 'made:1']) await again.erase(key(id))
    expect(grep(folder, SECRET)).toEqual([])
  })

  test('is what ttlMs does, too', async () => {
    const folder = home()
    const host = openHost(folder, { ttlMs: { talker: 1 } })
    await say(host, key('talker:1'))
    host.start()
    await expect.poll(() => grep(folder, SECRET)).toEqual([])
  })

  test('is finished by the next start if the process died before the logs were reached', async () => {
    const folder = home()
    const first = openHost(folder)
    await say(first, key('talker:1'))
    await first.shutdown()
    await first.store.erase(key('talker:1'))
    expect(grep(folder, SECRET)).toEqual(['logs/talker.log', 'sessions/talker.yaml'])
    openHost(folder).start()
    await expect.poll(() => grep(folder, SECRET)).toEqual([])
  })
})

test('an agent may have null for its logs: the default', () => {
  const agents = { a: { model: 'reflex', log: null, sessions: null } } as unknown as HostConfig['agents'] & {}
  expect(createHost({ store: memoryStore(), agents }).names).toEqual(['a'])
})

describe('eraseLogs', () => {
  test('removes what an erase of the library leaves', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1'))
    await host.shutdown()
    await host.store.erase(key('talker:1'))
    expect(await eraseLogs(host.store)).toEqual({ files: 1, lines: 3 })
    expect(grep(folder, SECRET)).toEqual([])
    expect(await eraseLogs(host.store)).toEqual({ files: 0, lines: 0 })
  })

  test('finds a name whose characters the log has escaped', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1\u034f'))
    await host.shutdown()
    await host.store.erase(key('talker:1\u034f'))
    expect(await eraseLogs(host.store)).toEqual({ files: 1, lines: 3 })
    expect(grep(folder, SECRET)).toEqual([])
  })

  test('is part of the delete of stateStore', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1'))
    await host.shutdown()
    await viewsOf(host.store, LOCAL_OWNER).stateStore.delete('talker:1')
    expect(grep(folder, SECRET)).toEqual([])
  })

  test('loses no line of others while the log is written and rotated', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1'))
    await host.shutdown()
    await host.store.erase(key('talker:1'))
    const path = join(folder, 'logs/talker.log')
    const line = (at: number) => `2026-11-15T10:30:00.000Z INFO  talker:kept#${at} turn began: "${at}"`
    const erasing = eraseLogs(host.store)
    const count = 300
    for (let at = 0; at < count; at++) {
      appendLines(path, [line(at)], { maxBytes: 1000, maxFiles: 100 })
      await new Promise((resolve) => setImmediate(resolve))
    }
    await erasing
    expect(grep(folder, SECRET)).toEqual([])
    const names = readdirSync(join(folder, 'logs'))
    const kept = names.flatMap((name) => readFileSync(join(folder, 'logs', name), 'utf8').split('\n'))
    expect(new Set(kept.filter((text) => text.includes('kept')))).toEqual(
      new Set(Array.from({ length: count }, (_, at) => line(at))),
    )
  })

  test('touches no file of others, and no line that only looks alike', async () => {
    const folder = home()
    const host = openHost(folder)
    await say(host, key('talker:1'))
    await host.shutdown()
    await host.store.erase(key('talker:1'))
    const logs = join(folder, 'logs')
    const mine = [
      'talker:1 is what I noted',
      '2026-11-15T10:30:00.000Z INFO  talker:12#1 turn began: "talker:1#1 x"',
      '    talker:1 below it',
      '2026-11-15T10:30:00.000Z INFO  (main) of another program',
      '',
      'x'.repeat(300_000),
    ].join('\n')
    writeFileSync(join(logs, 'mine.log'), mine)
    writeFileSync(join(folder, 'sessions', 'notes.yaml'), 'conversation: "talker:1"\n')
    const other = join(folder, 'sessions', 'other_2026-11-15T10-30-00.yaml')
    writeFileSync(other, 'conversation: "(main)"\nagent: "x"\n')
    appendFileSync(join(logs, 'half.log'), '2026-11-15T10:30:00.000Z INFO  talker:1#1 turn beg')
    await eraseLogs(host.store)
    expect(readFileSync(join(logs, 'mine.log'), 'utf8')).toBe(mine)
    expect(existsSync(other)).toBe(true)
    expect(readFileSync(join(logs, 'half.log'), 'utf8').trim()).toBe('erased')
    expect(grep(folder, SECRET)).toEqual([])
  })
})
