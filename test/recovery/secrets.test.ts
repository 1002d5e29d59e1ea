/** R19: what a turn was given to act with is nowhere to be found afterwards, whatever its tools do and whoever dies. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentConfig, type Turn } from '../../src/agent/index.ts'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, defineTool, type Tool, type ToolContext, toolResult } from '../../src/tool/index.ts'
import { type Death, livenessOf, Mortal } from './mortal.ts'

const TOKEN = 'sentinel-5f1d0c7a9b'
const auth = { credentials: { token: TOKEN, nested: { header: `Bearer ${TOKEN}` } } }
const KEY = { ...LOCAL_OWNER, contextId: 'talk' }

let folder = ''
const stores: Store[] = []
const mortals: Mortal[] = []
/** Everything that anybody was shown. */
const shown: unknown[] = []
const METHODS = ['log', 'info', 'warn', 'error', 'debug'] as const
const original = Object.fromEntries(METHODS.map((name) => [name, console[name]]))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  shown.length = 0
  mortals.length = 0
  for (const name of METHODS) console[name] = (...said: unknown[]) => void shown.push(said.map(String))
})

afterEach(async () => {
  Object.assign(console, original)
  for (const store of stores.splice(0)) await store.close()
  rmSync(folder, { recursive: true, force: true })
})

type Given = ToolContext & { readonly token: string }

/** A tool that treats its token as carelessly as a tool can, in the way that it is told. */
function careless(name: string, run: (context: Given) => unknown, more = {}): Tool {
  return defineTool({
    name,
    description: `does ${name}`,
    input: z.object({}),
    ...more,
    run: (_, context) => run({ ...context, token: String(context.credentials['token']) }) as never,
  })
}

const tools: readonly Tool[] = [
  careless('returns', ({ token, credentials }) =>
    toolResult({ token, [token]: [credentials, `a${token}b`] }, `used ${token}`),
  ),
  careless('throws', ({ token }) => {
    throw Object.assign(new Error(`401 for ${token}`), { code: token })
  }),
  careless('reports', async function* ({ token, progress }: Given) {
    progress({ token })
    yield `with ${token}`
    return 'reported'
  }),
  careless('writes', async ({ token, artifacts }) => {
    await artifacts.writeFile('text', `the token is ${token}`)
    await artifacts.writeData('value', { token, [token]: token })
    await artifacts.createDataset('rows')
    await artifacts.appendRows('rows', [{ token }])
    return (await artifacts.read('text')).content
  }),
  careless('asks', ({ token, answers }) =>
    answers['which'] === undefined
      ? ask({ kind: 'text', prompt: `Is ${token} right?`, name: 'which', about: { token } })
      : `${token} it is`,
  ),
  careless('looks', ({ token }) => `looked with ${token}`, { replay: 'safe' }),
]

/** Replies by how often it has replied to what was said. */
function modelOf(...rounds: readonly (readonly string[])[]): ScriptedModel {
  return new ScriptedModel(({ prompt }): ScriptedStep => {
    const round = rounds[prompt.filter(({ role }) => role === 'assistant').length]
    return round === undefined ? 'Done.' : { calls: round.map((tool) => ({ tool })) }
  })
}

function open(): Store {
  const store = sqliteStore(join(folder, 'store.db'), {
    synchronous: 'NORMAL',
    liveness: (driver) => livenessOf(mortals)(driver),
  })
  stores.push(store)
  return store
}

/** An agent in a process of its own. */
function process(model: ScriptedModel, more: Partial<AgentConfig> = {}, death?: Death): Agent {
  const mortal = new Mortal(`p${mortals.length + 1}`, open(), death)
  mortals.push(mortal)
  return new Agent({ contextId: 'talk', store: mortal.store, ids: mortal.ids, model, tools, ...more })
}

async function watch(turn: Turn): Promise<string> {
  turn.subscribe((event) => void shown.push(event))
  const { died = new Promise<void>(() => {}) } = mortals.at(-1) ?? {}
  const outcome = await Promise.race([turn.outcome, died])
  shown.push(outcome)
  return outcome?.reason ?? 'died'
}

/** Looks at every byte of every file, and at everything that was shown or asked. */
async function expectNoTrace(...models: readonly ScriptedModel[]): Promise<void> {
  for (const store of stores.splice(0)) await store.close()
  const files = readdirSync(folder)
  expect(files).toContain('store.db')
  expect(files.filter((file) => readFileSync(join(folder, file)).includes(TOKEN))).toEqual([])
  const asked = models.flatMap(({ calls }) => calls)
  expect(asked.length).toBeGreaterThan(0)
  expect(JSON.stringify([asked, shown])).not.toContain(TOKEN)
}

async function endsOf(type: string): Promise<readonly Entry['data'][]> {
  return (await open().read(KEY)).filter((entry) => entry.type === type).map(({ data }) => data)
}

describe('a credential', () => {
  it('is not in the file, the prompts, the events or the console, whatever tools do with it', async () => {
    const model = modelOf(['returns', 'throws'], ['reports', 'writes'], ['asks'])
    const agent = process(model)
    expect(await watch(agent.executeTurn('go', { auth }))).toBe('input-required')
    const [request] = await agent.requests()
    shown.push(request)
    expect(await watch(agent.answer({ [request?.requestId ?? '']: 'yes' }, { auth }))).toBe('stop')
    const statuses = (await endsOf('tool.end')).map(({ status }) => status)
    expect(statuses.filter((status) => status === 'ok')).toHaveLength(4)
    expect(statuses.filter((status) => status === 'error')).toHaveLength(1)
    expect(JSON.stringify(await endsOf('tool.end'))).toContain('[redacted]')
    await expectNoTrace(model)
  })

  it('stays out when the process dies and another goes on with it', async () => {
    const models: ScriptedModel[] = []
    const ends: string[] = []
    for (const at of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const model = modelOf(['returns', 'writes'], ['looks'], ['throws', 'reports'])
      const config = { contextId: `talk${at}`, credentials: () => auth.credentials }
      const first = process(model, config, { of: 'append', at, when: 'after' })
      expect(await watch(first.executeTurn('go', { auth }))).toBe('died')
      const second = process(model, config)
      await second.start()
      ends.push(second.turn === undefined ? 'stop' : await watch(second.turn))
      models.push(model)
    }
    expect(new Set(ends)).toEqual(new Set(['stop']))
    await expectNoTrace(...models)
  })
})

describe('a turn that was begun with credentials, in a process that has none', () => {
  const begun = async (tool: string, death: Death) => {
    const model = modelOf([tool])
    expect(await watch(process(model, {}, death).executeTurn('go', { auth }))).toBe('died')
    return model
  }

  it.each([
    ['before its tool was started', 'returns', { of: 'append', at: 2, when: 'before' }],
    ['while its tool ran', 'looks', { of: 'append', at: 3, when: 'before' }],
  ] as const)('waits for them if it was cut off %s, and goes on with them', async (_, tool, death) => {
    const model = await begun(tool, death)
    const next = process(model)
    await next.start()
    expect(await watch(next.turn as Turn)).toBe('auth-required')
    expect(await next.requests()).toMatchObject([{ kind: 'auth', from: 'credentials' }])
    expect(await watch(next.executeTurn(null, { auth }))).toBe('stop')
    expect(await endsOf('tool.end')).toMatchObject([{ status: 'ok' }])
    expect(JSON.stringify(await endsOf('tool.end'))).toContain('[redacted]')
    await expectNoTrace(model)
  })

  it('just goes on if it knows where to get them', async () => {
    const model = await begun('looks', { of: 'append', at: 3, when: 'before' })
    const asked: unknown[] = []
    const credentials: AgentConfig['credentials'] = (principal) => {
      asked.push(principal)
      return auth.credentials
    }
    const next = process(model, { credentials })
    await next.start()
    expect(await watch(next.turn as Turn)).toBe('stop')
    expect(asked).toContainEqual(LOCAL_OWNER)
    expect(await endsOf('tool.end')).toMatchObject([{ status: 'ok', output: 'looked with [redacted]' }])
    await expectNoTrace(model)
  })
})
