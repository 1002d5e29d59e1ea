/** What cannot be done is said in one message, with a code of its own, and nothing is left behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inProcess } from './in-process.ts'
import { cleanEnv, Folders, holdfast, LAUNCH } from './kit.ts'

const folders = new Folders()
afterAll(() => folders.remove())

interface Refused {
  readonly args: readonly string[]
  readonly code: number
  readonly says: string
  readonly input?: string | Buffer
  /** In a process of its own, with a pipe. */
  readonly isPiped?: true
}

const MB = 1024 * 1024

const refusals: Readonly<Record<string, Refused>> = {
  'an empty message': { args: ['run', ''], code: 2, says: 'The message is empty. Write it in quotes' },
  'no message': { args: ['run'], code: 2, says: 'The message is empty. Write it in quotes', input: '' },
  'empty standard input': {
    args: ['run', '-'],
    code: 2,
    says: 'nothing came from standard input',
    input: ' \n',
  },
  'ten megabytes': {
    args: ['run', '-'],
    code: 2,
    says: 'larger than 4 MB',
    input: Buffer.alloc(10 * MB, 'a'),
    isPiped: true,
  },
  'text that is not UTF-8, after a million characters that replace others': {
    args: ['run', '-'],
    code: 2,
    says: 'not UTF-8 text (byte 3000001).',
    input: Buffer.concat([Buffer.from('\ufffd'.repeat(1_000_000)), Buffer.from([0xff])]),
  },
  'text that is not UTF-8': {
    args: ['run', '-'],
    code: 2,
    says: 'not UTF-8 text (byte 4). Nothing was sent. Convert it first, such as with: iconv',
    input: Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20]),
  },
  'an unknown model': {
    args: ['run', '--model', 'bogus', 'hi'],
    code: 3,
    says: 'No vendor is known for the model "bogus"',
  },
  'a model without its key': {
    args: ['run', '--model', 'openai/gpt-4.1', 'hi'],
    code: 3,
    says: 'needs a key: set OPENAI_API_KEY',
    input: '',
  },
  'an unknown command': {
    args: ['sesions'],
    code: 2,
    says: '"sesions" is no command. Did you mean sessions?',
  },
  'help on an unknown command': {
    args: ['sesions', '--help'],
    code: 2,
    says: '"sesions" is no command. Did you mean sessions?',
  },
  'a message that begins with a hyphen': {
    args: ['run', '- buy milk'],
    code: 2,
    says: 'For words that begin with a hyphen: holdfast run -- "…".',
  },
  'a message without a command': {
    args: ['do it now'],
    code: 2,
    says: 'To send a message: holdfast run "…".',
  },
  'an unknown option': {
    args: ['run', '--contxt', 'a', 'hi'],
    code: 2,
    says: '--contxt is no option of run. Did you mean --context?',
  },
  'an option of another command': {
    args: ['show', 'x', '--model', 'reflex'],
    code: 2,
    says: '--model is no option of show',
  },
  'an option without its value': {
    args: ['run', 'hi', '--context'],
    code: 2,
    says: '--context needs a value',
  },
  'an option that is given twice': {
    args: ['run', 'hi', '--context', 'a', '--context', 'b'],
    code: 2,
    says: '--context is given twice',
  },
  'a switch with a value': { args: ['run', 'hi', '--json=yes'], code: 2, says: '--json takes no value' },
  'too many words': { args: ['show', 'a', 'b'], code: 2, says: '"b" is too much: holdfast show ID' },
  'too few words': { args: ['show'], code: 2, says: 'Something is missing: holdfast show ID' },
  'a context id with odd characters': {
    args: ['run', '--context', 'a b', 'hi'],
    code: 2,
    says: 'Use letters, digits and',
  },
  'a context id that is a path': { args: ['run', '--context', '../x', 'hi'], code: 2, says: 'has a "/"' },
  'an unknown agent': {
    args: ['run', '--agent', 'asistant', 'hi'],
    code: 2,
    says: 'Did you mean assistant?',
  },
  'a config that is not there, in the home folder': {
    args: ['run', '--config=~/no/such.ts', 'hi'],
    code: 3,
    says: `The config ${join(homedir(), 'no/such.ts')} does not exist.`,
  },
  'a config of a server, in the home folder': {
    args: ['serve', '~/no/such.ts'],
    code: 3,
    says: `The config ${join(homedir(), 'no/such.ts')} does not exist.`,
  },
  'selections where there are none': {
    args: ['state', '~state'],
    code: 1,
    says: 'You have selected nothing for all conversations yet.',
  },
  'a corpus whose folder cannot be made': {
    args: ['research', 'add', import.meta.filename, '--corpus', `${import.meta.filename}/c.db`],
    code: 3,
    says: `its folder ${import.meta.filename} cannot be made (EEXIST)`,
  },
  'a config that is not there': {
    args: ['run', '--config', 'no.ts', 'hi'],
    code: 3,
    says: 'does not exist. Check --config',
  },
  'a chat without a terminal': { args: ['chat'], code: 2, says: 'chat needs a terminal', input: '' },
  'a conversation that is not there': {
    args: ['show', 'nope'],
    code: 1,
    says: 'There is no conversation "nope"',
  },
  'an answer to nothing': {
    args: ['run', '--context', 'a', '--answer', 'x=1'],
    code: 1,
    says: 'There is no conversation',
  },
  'an answer without a conversation': {
    args: ['run', '--answer', 'x=1'],
    code: 2,
    says: '--answer needs --context',
  },
  'a config that is given twice': {
    args: ['mcp', 'a.ts', '--config', 'b.ts'],
    code: 2,
    says: 'The config is given twice. Keep one: holdfast mcp CONFIG',
  },
  'a policy for an editor that is not there': {
    args: ['acp', '--agent', 'assistant', '--policy', 'no.json'],
    code: 3,
    says: 'no.json cannot be read',
  },
  'a folder for an editor that is not there': {
    args: ['acp', '--agent', 'assistant', '--cwd', 'nowhere'],
    code: 2,
    says: 'nowhere is not a folder',
  },
  'to erase without being asked': { args: ['erase', 'x'], code: 2, says: 'Add --yes' },
}

describe.concurrent('before anything is written, it', () => {
  for (const [what, { args, code, says, input = '', isPiped }] of Object.entries(refusals)) {
    it(`refuses ${what}`, async () => {
      const cwd = folders.make()
      const result = await (isPiped ? holdfast : inProcess)(args, { cwd, input })
      expect(result.stderr).toContain(says)
      expect(result.stderr).toMatch(/^holdfast: .*\n$/)
      expect({ code: result.code, stdout: result.stdout, left: readdirSync(cwd) }).toEqual({
        code,
        stdout: '',
        left: [],
      })
    })
  }

  it('makes the refusal the outcome with --json', async () => {
    const { code, stdout } = await inProcess(['run', '--json', ''], { cwd: folders.make() })
    const outcome = { type: 'outcome', status: 'failed', exitCode: 2, error: { code: 'usage' } }
    expect(JSON.parse(stdout)).toMatchObject(outcome)
    expect(code).toBe(2)
  })

  it('shows a stack only to those who ask for it', async () => {
    const { stderr } = await inProcess(['run', ''], { cwd: folders.make(), env: { HOLDFAST_DEBUG: '1' } })
    expect(stderr).toMatch(/\n {4}at /)
  })
})

it.skipIf(process.platform === 'win32')('refuses to run in a folder that was removed', async () => {
  const cwd = folders.make()
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@" 2>&1'
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ...LAUNCH, 'run', 'hi'], {
    cwd,
    env: cleanEnv(),
  })
  const said = (await child.stdout.setEncoding('utf8').toArray()).join('')
  expect(said).toBe(
    'holdfast: The working folder was removed. Change to one that exists, and type the command again.\n',
  )
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(3)
})

it.skipIf(!existsSync('/dev/full'))('an output on a full disk is a failure', async () => {
  const script = '"$@" --version > /dev/full'
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ...LAUNCH], { env: cleanEnv() })
  const said = (await child.stderr.setEncoding('utf8').toArray()).join('')
  expect(said).toBe('holdfast: The output cannot be written: ENOSPC: no space left on device, write.\n')
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(1)
})

it('keeps conversations and logs in the home folder if HOLDFAST_HOME begins with ~', async () => {
  const cwd = folders.make()
  const env = { HOME: cwd, USERPROFILE: cwd, HOLDFAST_HOME: '~/state' }
  expect(await holdfast(['run', 'hi'], { cwd, env })).toMatchObject({ code: 0 })
  expect(readdirSync(cwd)).toEqual(['state'])
  expect(readdirSync(join(cwd, 'state')).toSorted()).toEqual(
    expect.arrayContaining(['holdfast.db', 'logs', 'sessions']),
  )
})

describe.concurrent('a store that cannot be used', () => {
  const used = async () => {
    const cwd = folders.make()
    await inProcess(['run', '--context', 'a', 'hi'], { cwd })
    return { cwd, path: join(cwd, '.holdfast/holdfast.db') }
  }

  it('is left as it is when it is damaged', async () => {
    const cwd = folders.make({ '.holdfast/holdfast.db': 'this is no database' })
    for (const args of [['run', 'hi'], ['sessions']]) {
      const { code, stderr } = await inProcess(args, { cwd })
      expect(code).toBe(3)
      expect(stderr).toContain('Nothing was changed: restore a backup')
    }
  })

  it('is waited for when it is locked, and then named', async () => {
    const path = join(folders.make(), 'busy.db')
    const config = `import { sqliteStore } from 'holdfast/sqlite'
export default { agents: { a: { model: 'reflex' } }, store: () => sqliteStore(${JSON.stringify(path)}, { busyMs: 200 }) }`
    const cwd = folders.make({ 'holdfast.config.mjs': config })
    await inProcess(['run', 'hi'], { cwd })
    const lock = `const { DatabaseSync } = await import('node:sqlite')
const db = new DatabaseSync(${JSON.stringify(path)}); db.exec('BEGIN EXCLUSIVE'); console.log('locked'); setInterval(() => db, 1000)`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', lock], { env: cleanEnv() })
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    const { code, stderr } = await inProcess(['run', 'hi'], { cwd })
    holder.kill()
    expect(stderr).toContain('is locked by another process and stayed so. Nothing was written')
    expect(code).toBe(3)
  })

  it('is named when its folder cannot be made', async () => {
    const cwd = folders.make({ file: '' })
    const { code, stderr } = await inProcess(['run', 'hi'], { cwd, env: { HOLDFAST_HOME: 'file/below' } })
    expect(stderr).toContain('or name another folder in HOLDFAST_HOME')
    expect(code).toBe(3)
  })

  const isRoot = process.getuid?.() === 0
  it.skipIf(isRoot)(
    'is named when it is read-only, and can still be read (root may write to everything: not shown to root)',
    async () => {
      const { cwd, path } = await used()
      chmodSync(path, 0o444)
      const { code, stderr } = await inProcess(['run', 'hi'], { cwd })
      expect(stderr).toContain('cannot be written to')
      expect(code).toBe(3)
      expect((await inProcess(['sessions'], { cwd })).stdout).toContain('a ')
    },
  )

  it('is kept out of git, and private', async () => {
    const { cwd } = await used()
    const files = (...path: readonly string[]): string[] =>
      readdirSync(join(cwd, '.holdfast', ...path)).toSorted()
    expect(files()).toEqual(['.gitignore', 'holdfast.db', 'logs', 'sessions'])
    expect(files('logs')).toEqual(['assistant.log'])
    expect(files('sessions')).toEqual([expect.stringMatching(/^assistant_[-\dT]+\.yaml$/)])
  })
})

describe.concurrent('a config', () => {
  const tool = `import { defineTool, jsonSchema } from 'holdfast'
const make = (schema) => defineTool({ name: 'add', description: 'Adds.', input: jsonSchema(schema), run: () => 1 })
const tool = make({ type: 'object' })
`
  const broken: Readonly<Record<string, readonly [text: string, says: string]>> = {
    'with a syntax error': ['export default {\n  agents: { a: {} \n', 'holdfast.config.ts:2: '],
    'that throws': [
      "const a: string = 'x'\nthrow new Error(`No database ${a}`)\n",
      'holdfast.config.ts:2: No database x.',
    ],
    'that throws no error': ["throw 'nothing'\n", 'holdfast.config.ts: nothing.'],
    'without agents': ['export default {}\n', 'names no agents. Write export default defineConfig('],
    'with a wrong option': [
      "export default { agents: { a: { modle: 'reflex' } } }\n",
      'agent a: The config of an agent has no "modle". Did you mean model?',
    ],
    'with a wrong option at the top': [
      'export default { agnets: {} }\n',
      'has no "agnets". Did you mean agents?',
    ],
    'with a wrong default': [
      "export default { agents: { site: {} }, default: 'sit' }\n",
      'default is "sit", and there is no such agent. Did you mean site?',
    ],
    'with a name that cannot be one': [
      "export default { agents: { 'a:b': {} } }\n",
      'cannot be the name of an agent',
    ],
    'with the name of a command that has conversations of its own': [
      'export default { agents: { task: {} } }\n',
      '"task" cannot be the name of an agent: holdfast task keeps its conversations under it. Choose another.',
    ],
    'with a context id': [
      "export default { agents: { a: { contextId: 'x' } } }\n",
      'leave contextId out of the agent a',
    ],
    'with two tools of one name': [
      `${tool}export default { agents: { a: { tools: [tool, tool] } } }\n`,
      'agent a: Two tools are called "add". Rename one of them.',
    ],
    'with a schema that is none': [
      `${tool}make({ type: 'string' })\n`,
      'holdfast.config.ts:2: Tool "add" cannot be used',
    ],
    'with a schema that points nowhere': [
      `${tool}export default { agents: { a: { tools: [make({ type: 'object', $ref: '#/x' })] } } }\n`,
      'The schema of the tool "add" cannot be used',
    ],
    'with more than types': [
      'enum A { x }\nexport default { agents: { a: {} } }\n',
      'holdfast.config.ts:1: TypeScript enum is not supported',
    ],
    'that needs a package': [
      "import z from 'nowhere-to-be-found'\nexport default z\n",
      'which is not installed: npm install nowhere-to-be-found',
    ],
    'that asks for what is not there': [
      "import { defineTol } from 'holdfast'\nexport default defineTol\n",
      "holdfast.config.ts:1: The requested module 'holdfast' does not provide an export named 'defineTol'.",
    ],
    'with a store that is none': [
      'export default { agents: { a: {} }, store: {} }\n',
      'store must be a store',
    ],
    'with a function that returns no store': [
      'export default { agents: { a: {} }, store: async () => ({}) }\n',
      'or a function that returns one; a promise is none.',
    ],
    'with a store that cannot be opened': [
      "export default { agents: { a: {} }, store: () => {\n  throw new Error('No database')\n} }\n",
      'holdfast.config.ts:2: store: No database.',
    ],
    'whose agents cannot be read': [
      "export default { get agents() { throw new Error('No agents today') } }\n",
      'holdfast.config.ts:1: No agents today.',
    ],
    'with graphs that are none': [
      'export default { agents: { a: {} }, serve: { graphs: null } }\n',
      'holdfast.config.ts: serve.graphs must be an object of names.',
    ],
    'with flows that are none': [
      'export default { agents: { a: {} }, serve: { flows: 5 } }\n',
      'holdfast.config.ts: serve.flows must be an object of names.',
    ],
    'with a protocol that is none': [
      'export default { agents: { a: {} }, serve: { mounts: [null] } }\n',
      'holdfast.config.ts: serve.mounts must be a list of protocols, such as [openai()].',
    ],
    'with a corpus that is none': [
      'export default { agents: { a: {} }, research: { corpus: 5 } }\n',
      'holdfast.config.ts: research.corpus must be a corpus, or a function that opens one.',
    ],
    'with web searches that are none': [
      'export default { agents: { a: {} }, research: { web: null } }\n',
      'holdfast.config.ts: research.web must be an object, such as { searxng: searxng() }.',
    ],
    'with an unknown model': [
      "export default { agents: { a: { model: 'gtp-4' } } }\n",
      'No vendor is known for the model "gtp-4"',
    ],
  }

  for (const [what, [text, says]] of Object.entries(broken)) {
    it(`${what} is told in one message, and nothing is written`, async () => {
      const cwd = folders.make({ 'holdfast.config.ts': text })
      const { code, stdout, stderr } = await inProcess(['run', 'hi'], { cwd })
      expect(stderr).toContain(says)
      expect(stderr).toMatch(/^holdfast: .*\n$/)
      expect({ code, stdout, left: readdirSync(cwd) }).toEqual({
        code: 3,
        stdout: '',
        left: ['holdfast.config.ts'],
      })
    })
  }

  it('may have null for the logs of an agent: erase takes it as the default', async () => {
    const text = 'export default { agents: { a: { log: null, sessions: null } } }\n'
    const cwd = folders.make({ 'holdfast.config.ts': text })
    await inProcess(['run', 'hi', '--context', 'x'], { cwd })
    const { code, stderr } = await inProcess(['erase', 'x', '--yes'], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('is found upward, and conversations are kept beside it', async () => {
    const cwd = folders.make({ 'holdfast.config.js': "export const helper = { model: 'reflex' }\n" })
    mkdirSync(join(cwd, 'deep/er'), { recursive: true })
    const { code, stderr } = await inProcess(['run', '--context', 'x', 'hi'], { cwd: join(cwd, 'deep/er') })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'helper · reflex · x\n' })
    expect(existsSync(join(cwd, '.holdfast/holdfast.db'))).toBe(true)
    expect(readdirSync(join(cwd, 'deep/er'))).toEqual([])
  })

  it('that throws where nobody waits for it is told without a stack, after what it has printed', async () => {
    const text = `process.stdout.write('half a line')
setTimeout(() => { throw new Error('boom') }, 0)
await new Promise((resolve) => setTimeout(resolve, 200))
export default { agents: { a: { model: 'reflex' } } }\n`
    const { code, stderr } = await holdfast(['run', 'hi'], {
      cwd: folders.make({ 'holdfast.config.mjs': text }),
    })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'half a line\nholdfast: boom (unexpected; set HOLDFAST_DEBUG=1 for the stack)\n',
    })
  })

  it('may leave timers running: the process ends all the same', async () => {
    const text = "setInterval(() => {}, 1000)\nexport default { agents: { a: { model: 'reflex' } } }\n"
    const { code } = await holdfast(['run', 'hi'], { cwd: folders.make({ 'holdfast.config.mjs': text }) })
    expect(code).toBe(0)
  })
})
