/**
 * One trial: an agent that says hostile things everywhere, and every command of the terminal about it, with a terminal
 * and without. Where the terminal prints what was said, the screen must equal that of a second agent that says the same
 * in visible characters. Where the runtime has put it into a sentence of its own first, nothing may be obeyed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { emulate, type Seen } from './emulator.ts'
import { FIELDS, type Fields } from './fields.ts'
import { leaks, reference } from './reference.ts'
import { launch, type Recorded, shared } from './world.ts'

const CONFIG = resolve('test/cli/fixture/payload.config.ts')
/** Where half a character arrives as it is; the runtime repairs or refuses it everywhere else. */
const UNREPAIRED: readonly (keyof Fields)[] = ['text', 'tool', 'argumentName', 'argument', 'approval']
/** The runtime keeps only so much of these. */
const MOST: Partial<Record<keyof Fields, number>> = {
  providerError: 100,
  toolError: 100,
  tool: 60,
  label: 60,
  id: 60,
}

interface Scene {
  readonly command: string
  readonly args: readonly string[]
  readonly typed?: readonly string[]
  /** Requests of an MCP client; there is none at a terminal. */
  readonly requests?: readonly object[]
  /** The payload is in a sentence of the runtime, or in JSON: compared with nothing. */
  readonly quoted?: true
  readonly json?: true
}

const WORDS = [
  'say text',
  'call act',
  'call told',
  'call broken',
  'call guard',
  'call form',
  'call find',
  'ask me',
  'provider fails',
]
const PASTE = '\u001b[200~'
const PASTED = '\u001b[201~'
const QUOTED: { readonly quoted: true } = { quoted: true }

/** Lines for a chat: every slash command, and everything that can be asked. */
export const TYPED: readonly string[] = [
  'say text',
  'call act',
  'call told',
  'call broken',
  'call guard',
  'y',
  'call guard',
  '',
  '/answer',
  'n, not that',
  'call form',
  'here',
  'XL',
  'L',
  'ask me',
  '7',
  '1',
  'call find',
  'provider fails',
  '/continue',
  '/help',
  '/sessions',
  '/agent',
  '/model',
  '/show',
  '/tools',
  '/cost',
  '/cancel',
  '/break pay',
  '/break off',
  '/grants',
  '/compact',
  '/fork copy',
  '/new other',
  '/switch d',
  '/clear',
  '/exit',
]

/** What is done with every command; a command that is not here fails the test. */
export function scenes(payload: string): readonly Scene[] {
  const chat = { command: 'chat', args: ['--context', 'd'] }
  const run = (...args: string[]) => ({ command: 'run', args: ['--context', 'c', ...args] })
  // A task is a graph, and its state repairs half characters.
  const repaired = payload.isWellFormed() ? {} : QUOTED
  const task = (...args: string[]) => ({ command: 'task', args: ['--agent', 'site', ...args], ...repaired })
  // Citations are checked sentence by sentence: a payload may break sentences apart, so the screens are not compared.
  const research = (...args: string[]) => ({ command: 'research', args, ...QUOTED })
  return [
    ...WORDS.map((word) => run(word)),
    research('--context', 'r', 'say gate'),
    research('--context', 'r', `${payload} ask gate`),
    research('--context', 'r', 'fail gate'),
    research('--web', payload, 'gate'),
    { command: 'research', args: ['--context', 'r', '--json', 'say gate'], json: true as const },
    task('call list'),
    task('--no-planning', 'call act'),
    task('--no-planning', `${payload} call broken`),
    { ...task('--continue'), ...QUOTED },
    { ...task('call guard'), typed: ['y'] },
    { ...task('ask me'), typed: ['7', ''] },
    { ...task('--continue'), typed: ['1'] },
    { ...task('provider fails'), ...QUOTED },
    { ...task('--json', 'call told'), json: true as const },
    { ...task('--continue', `${payload} again`), ...QUOTED },
    { ...task('--criterion', payload, 'x'), ...QUOTED },
    { ...task('--policy', payload, 'x'), ...QUOTED },
    run(`${payload} say text`),
    { command: 'run', args: ['--context', 'unknown', 'call unknown'], ...QUOTED },
    ...['say text', 'call act', 'call guard'].map((word) => ({
      ...run('--json', word),
      json: true as const,
    })),
    { ...chat, typed: TYPED },
    { command: 'show', args: ['c'] },
    { command: 'show', args: ['c', '--json'], json: true },
    { command: 'show', args: [payload], ...QUOTED },
    { command: 'sessions', args: [] },
    { command: 'sessions', args: ['--json'], json: true },
    { ...chat, typed: ['call unknown', '/show', `${PASTE}/${payload}${PASTED}`, '/exit'], ...QUOTED },
    { command: 'sessions', args: ['--agent', payload], ...QUOTED },
    { command: 'trace', args: ['c', '--turn', 'all'] },
    { command: 'trace', args: ['c', '--turn', 'all', '--json'], json: true },
    { command: 'trace', args: [payload], ...QUOTED },
    { command: 'trace', args: ['c', '--turn', payload], ...QUOTED },
    { command: 'state', args: ['c'] },
    { command: 'state', args: ['c', '--json'], json: true },
    { command: 'mcp', args: [], requests: MCP_REQUESTS, json: true },
    { command: 'mcp', args: [payload], ...QUOTED },
    { command: 'acp', args: ['--agent', 'site'], requests: ACP_REQUESTS, json: true },
    { command: 'acp', args: [payload], ...QUOTED },
    ...[['add', 'paper.md', payload], ['list'], ['remove', payload], [payload]].map((words) => ({
      command: 'research',
      args: ['--corpus', 'corpus.db', ...words],
      ...QUOTED,
    })),
    { command: 'research', args: ['--corpus', 'corpus.db', '--json', 'list'], json: true as const },
    { command: 'run', args: ['--mcp', 'mcp.json', '--context', 'm', 'say text'], ...QUOTED },
    { command: 'run', args: ['--model', payload, 'hi'], ...QUOTED },
    { command: 'run', args: [`--${payload}`, 'hi'], ...QUOTED },
    { command: 'serve', args: ['--port', payload], ...QUOTED },
    { command: 'serve', args: ['--host', payload], ...QUOTED },
    { command: 'erase', args: [payload, '--yes'], ...QUOTED },
    { command: 'erase', args: ['c', '--yes'] },
  ]
}

const MCP_REQUESTS: readonly object[] = [
  {
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'client', version: '1' } },
  },
  ...['say text', 'call act', 'call broken', 'call guard', 'ask me'].map((message, at) => ({
    method: 'tools/call',
    params: { name: 'send_message', arguments: { message, conversation: `mcp-${at}` } },
  })),
]

const ACP_REQUESTS: readonly object[] = [
  { method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } },
]

export interface Problem {
  readonly where: string
  readonly what: string
}

export interface Tried {
  readonly problems: readonly Problem[]
  readonly screens: number
  /** Which streams had something to print. */
  readonly streams: ReadonlySet<'stdout' | 'stderr'>
}

/** @param texts one payload for each field, in turn */
export async function trial(texts: readonly string[]): Promise<Tried> {
  const raw = Object.fromEntries(
    FIELDS.map((field, index) => {
      const text = texts[index % texts.length] ?? ''
      const said = `A${text.slice(0, MOST[field] ?? text.length)}Z`
      return [field, UNREPAIRED.includes(field) ? said : said.toWellFormed()]
    }),
  ) as Fields
  const escaped = Object.fromEntries(FIELDS.map((field) => [field, reference(raw[field])])) as Fields
  const problems: Problem[] = []
  const streams = new Set<'stdout' | 'stderr'>()
  let screens = 0
  for (const isTTY of [true, false]) {
    const payload = `A${texts[0]?.slice(0, 200) ?? ''}Z`
    const wanted = await play(escaped, reference(payload), isTTY)
    const found = await play(raw, payload, isTTY)
    for (const [index, { scene, recorded }] of found.entries()) {
      const where = `${isTTY ? 'terminal' : 'pipe'}: ${scene.command} ${scene.args.join(' ')}`
      const add = (what: string) => problems.push({ where, what })
      if (recorded.stdout !== '') streams.add('stdout')
      if (recorded.stderr !== '') streams.add('stderr')
      screens += 1
      const expected = wanted[index]?.recorded
      if (expected === undefined) add('has no counterpart')
      else await compare({ scene, recorded, expected, add })
    }
  }
  return { problems, screens, streams }
}

interface Played {
  readonly scene: Scene
  readonly recorded: Recorded
}

/** Everything that the commands print about an agent with these fields. */
export async function printed(fields: Fields): Promise<string> {
  const played = [...(await play(fields, 'payload', true)), ...(await play(fields, 'payload', false))]
  return played.map(({ recorded }) => recorded.both).join('\n')
}

async function play(fields: Fields, payload: string, isTTY: boolean): Promise<Played[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-gate-'))
  shared.fields = fields
  shared.store = undefined
  const servers = { [`A${payload.slice(0, 80)}Z`]: { command: '/no/such/server' } }
  writeFileSync(join(cwd, 'paper.md'), `# ${payload.replaceAll('\n', ' ')}\n\n${payload}`)
  writeFileSync(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: servers }))
  try {
    const played: Played[] = []
    for (const scene of scenes(payload)) {
      const isForTerminal = scene.command === 'chat'
      const isForProgram = scene.requests !== undefined
      if (isTTY ? isForProgram : isForTerminal) continue
      const { command, args, typed, requests } = scene
      const config = ['--config', CONFIG]
      const recorded = await launch({
        args: [command, ...config, ...args],
        isTTY,
        cwd,
        ...(typed === undefined ? {} : { typed }),
        ...(requests === undefined ? {} : { requests }),
      })
      played.push({ scene, recorded })
    }
    return played
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

interface Compared {
  readonly scene: Scene
  readonly recorded: Recorded
  readonly expected: Recorded
  readonly add: (what: string) => void
}

async function compare({ scene, recorded, expected, add }: Compared): Promise<void> {
  const found = leaks(recorded.both)
  if (found.length > 0) add(`prints ${[...new Set(found)].join(' ')}`)
  const seen = await emulate(recorded.both)
  for (const what of obeyed(seen)) add(what)
  if (scene.json === true) {
    for (const line of ['run', 'task', 'research', 'mcp', 'acp'].includes(scene.command)
      ? recorded.stdout.trimEnd().split('\n')
      : [recorded.stdout])
      if (!isJson(line)) add(`is no JSON: ${line.slice(0, 80)}`)
  } else if (scene.quoted !== true) {
    const other = await emulate(expected.both)
    const at = difference(seen.lines.map(steady), other.lines.map(steady))
    if (at !== undefined) add(at)
  }
}

/** What a terminal did that nobody but the payload asked for. */
function obeyed({ lines, hidden, title, clipboard, buffer, bells, typed }: Seen): string[] {
  return [
    ...(lines[0] === 'before' ? [] : ['erased what was there before']),
    ...(hidden ? ['hides text'] : []),
    ...(title === '' ? [] : [`set the title to ${title}`]),
    ...(clipboard === '' ? [] : ['set the clipboard']),
    ...(buffer === 'normal' ? [] : ['changed the buffer']),
    ...(bells === 0 ? [] : ['rang']),
    ...(typed === '' ? [] : ['made the terminal type']),
  ]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Without what differs between two runs of the same: ids, times, and tokens, which are counted from the text. */
function steady(line: string): string {
  return line
    .replaceAll(/call_\w+/g, 'call')
    .replaceAll(/task-\d{8}-\d{6}-\w{4}/g, 'task')
    .replaceAll(/\d+(?= (?:tokens )?in\b)|\d+(?= out\b)/g, 'tokens')
    .replaceAll(/(?<=tokens in, )\d+|\d+(?= in?$)/g, 'tokens')
    .replaceAll(/\d+→\d+/g, 'tokens')
    .replaceAll(/ *(█+|·) *(\d+(\.\d)? m?s…?)?$/gm, ' bar')
    .replaceAll(/\d+(\.\d)? ?m?s\b/g, 'time')
    .replaceAll(/\d\d:\d\d/g, 'time')
}

function difference(found: readonly string[], wanted: readonly string[]): string | undefined {
  for (let row = 0; row < Math.max(found.length, wanted.length); row++)
    if (found[row] !== wanted[row])
      return `row ${row} is ${JSON.stringify(found[row])}, not ${JSON.stringify(wanted[row])}`
  return undefined
}
