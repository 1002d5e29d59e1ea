/**
 * Paths that try to leave a working folder, and folders that another process swaps for links meanwhile. Everything
 * outside holds a canary: a result that contains it, or an outside that has changed, is an escape.
 */
import { fork } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../src/protocol/index.ts'
import type { Workspace } from '../../src/toolbox/workspace.ts'
import { memoryFolder } from '../memory-folder.ts'
import type { Call } from './caller.ts'
import type { Swap } from './swapper.ts'

const CANARY = 'CANARY-5f1d'

/** A working folder with links in it, and an outside with a canary in every name and content. */
export class Arena {
  readonly base: string = memoryFolder('holdfast-hostile-')
  readonly root: string = join(this.base, 'root')
  readonly outside: string = join(this.base, 'outside')
  readonly #before: string

  constructor() {
    for (const folder of ['in/deep/er', 'p/q', 'g/h/i', 'flip-a', 'flip-b'])
      mkdirSync(join(this.root, folder), { recursive: true })
    for (const file of ['in/f.txt', 'in/deep/f.txt', 'p/q/f.txt', 'g/h/i/f.txt', 'leaf.txt', 'flip-a/f.txt'])
      writeFileSync(join(this.root, file), 'inside')
    for (const folder of [`q-${CANARY}`, `g-${CANARY}/h/i`, 'root-twin'])
      mkdirSync(join(this.outside, folder), { recursive: true })
    for (const file of ['canary.txt', `q-${CANARY}/f.txt`, `q-${CANARY}/${CANARY}`, `g-${CANARY}/h/i/f.txt`])
      writeFileSync(join(this.outside, file), CANARY)
    writeFileSync(join(this.base, 'canary.txt'), CANARY)
    for (const [name, target] of this.#links()) symlinkSync(target, join(this.root, name))
    this.#before = this.#snapshot()
  }

  #links(): readonly (readonly [string, string])[] {
    return [
      ['up', '..'],
      ['up-up', '../../..'],
      ['out', '../outside'],
      ['out-absolute', this.outside],
      ['out-file', '../canary.txt'],
      ['out-file-absolute', join(this.base, 'canary.txt')],
      ['out-new', '../created-by-a-link'],
      ['out-new-absolute', join(this.base, 'created-by-a-link')],
      ['in/deep/zigzag', '../../in/../../canary.txt'],
      ['in/deep/chain-1', 'chain-2'],
      ['in/deep/chain-2', '../../out'],
      ['via-proc', '/proc/self/cwd'],
      ['via-proc-root', `/proc/self/root${this.base}`],
      ['loop-1', 'loop-2'],
      ['loop-2', 'loop-1'],
      ['to-in', 'in'],
      ['to-in-absolute', join(this.root, 'in')],
      ['through-itself', join(this.root, '..', 'canary.txt')],
      ['twin', `${this.root}-twin`],
    ]
  }

  /** Undefined: nothing has escaped. */
  escape(result: string): string | undefined {
    if (result.includes(CANARY)) return `the canary was read: ${result.slice(0, 200)}`
    return this.#snapshot() === this.#before ? undefined : 'the outside has changed'
  }

  isShown(result: string): boolean {
    return result.includes(CANARY)
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true })
  }

  /** All names, contents and inodes outside of the working folder. */
  #snapshot(): string {
    const lines: string[] = []
    const walk = (folder: string): void => {
      for (const name of readdirSync(folder).toSorted()) {
        const path = join(folder, name)
        if (path === this.root || path.startsWith(`${this.root}.`)) continue
        const stats = lstatSync(path)
        const content = stats.isFile()
          ? readFileSync(path, 'utf8')
          : stats.isSymbolicLink()
            ? readlinkSync(path)
            : ''
        lines.push(`${path} ${stats.ino} ${stats.mode} ${content}`)
        if (stats.isDirectory()) walk(path)
      }
    }
    walk(this.base)
    return lines.join('\n')
  }
}

/** Every way out, behind every way in. None names a place outside of `base` that a broken tool could damage. */
export function hostilePaths({ base, root, outside }: Arena): readonly string[] {
  const name = base.slice(base.lastIndexOf('/') + 1)
  const ins = [
    '',
    './',
    'in/../',
    'in/deep/er/../../../',
    'to-in/../',
    'to-in-absolute/deep/../../',
    'none/../',
    `${root}/`,
  ]
  const outs = [
    '../canary.txt',
    '../outside/canary.txt',
    '..//..//outside/canary.txt',
    '.././canary.txt',
    '..',
    '../',
    '../.',
    '../new.txt',
    '../new/folder/new.txt',
    `../../${name}/canary.txt`,
    '../root/../canary.txt',
    '../root-twin/canary.txt',
    '../outside/root-twin',
    'up/canary.txt',
    'up/new.txt',
    'up',
    'up/outside',
    `up-up/${name}/canary.txt`,
    'out/canary.txt',
    'out/new.txt',
    'out',
    'out/',
    'out-absolute/canary.txt',
    'out-absolute',
    'out-file',
    'out-file/',
    'out-file-absolute',
    'out-new',
    'out-new-absolute',
    'in/deep/zigzag',
    'in/deep/chain-1/canary.txt',
    'in/deep/chain-1',
    'via-proc/../../canary.txt',
    'via-proc-root/canary.txt',
    'via-proc-root',
    'through-itself',
    'loop-1',
    'loop-1/canary.txt',
    'twin/canary.txt',
    'in/../../canary.txt',
    'in/f.txt/../../../canary.txt',
    'in\0/../../canary.txt',
    '../canary.txt\0.txt',
  ]
  const absolute = [
    `${base}/canary.txt`,
    `${base}/new.txt`,
    outside,
    `${outside}/canary.txt`,
    `/${base}/canary.txt`,
    `//${base.slice(1)}//canary.txt`,
    `${root}/../canary.txt`,
    `${root}-twin/new.txt`,
    `${root}${base}/../../canary.txt`,
    `/proc/self/root${base}/canary.txt`,
    `/proc/self/cwd/../../../../../..${base}/canary.txt`,
    `/proc/${process.pid}/root${base}/canary.txt`,
    `/./${base.slice(1)}/canary.txt`,
    `/tmp/../${base.slice(1)}/canary.txt`,
    `file://${base}/canary.txt`,
    `file:${base}/canary.txt`,
    `FILE://localhost${base}/canary.txt`,
    `file:../canary.txt`,
    `vscode://file${base}/canary.txt`,
    '~',
    '~/canary.txt',
    `~/../..${base}/canary.txt`,
    `~root/../..${base}/canary.txt`,
    `$HOME/../..${base}/canary.txt`,
    `\${PWD}/../canary.txt`,
    '..\\canary.txt',
    '..%2fcanary.txt',
    '%2e%2e/canary.txt',
    '%2e%2e%2fcanary.txt',
    '\u2024\u2024/canary.txt',
    '\uFF0E\uFF0E/canary.txt',
    '..\u2215canary.txt',
    '..\uFF0Fcanary.txt',
    '.\u200B./canary.txt',
    '..\u0000/canary.txt',
    '.. /canary.txt',
    ' ../canary.txt',
    '../canary.txt ',
    '...',
    '.../canary.txt',
    '....//canary.txt',
    '',
    '/',
    '//',
    '///',
    '/..',
    `${'../'.repeat(40)}${base.slice(1)}/canary.txt`,
    `${'in/../'.repeat(60)}../canary.txt`,
    `${'in/deep/../../'.repeat(20)}up/canary.txt`,
    `${'x'.repeat(300)}/../../canary.txt`,
    `${'a/'.repeat(140)}f.txt`,
    'a'.repeat(5000),
    '\uD800/../../canary.txt',
    '-',
    '--help',
    '*',
    '`cat ../canary.txt`',
    '$(cat ../canary.txt)',
    '|cat ../canary.txt',
  ]
  return [...new Set([...ins.flatMap((way) => outs.map((out) => way + out)), ...absolute])]
}

const DIFF = '------- SEARCH\nCANARY-5f1d\n=======\nreplaced\n+++++++ REPLACE'

/** One call of each of the tools. */
function callsWith(path: string): readonly (readonly [tool: string, args: JsonObject])[] {
  return [
    ['read_file', { path }],
    ['list_files', { path, recursive: true }],
    ['write_to_file', { path, content: 'written' }],
    ['replace_in_file', { path, diff: DIFF }],
  ]
}

/** Every escape by one of these paths, as a sentence. */
export async function escapes(arena: Arena, call: Call, paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    const results: string[] = []
    for (const [tool, args] of callsWith(path)) results.push(await call(tool, args))
    const escape = arena.escape(results.join('\n'))
    if (escape !== undefined) found.push(`${JSON.stringify(path)}: ${escape}`)
  }
  return found
}

/** What is swapped, and a path of a file and of a folder that go through it. */
export interface Race {
  readonly swap: Swap
  readonly file: string
  readonly folder: string
}

export function racesIn({ root, outside }: Arena): readonly Race[] {
  const folder = join(outside, `q-${CANARY}`)
  return [
    {
      swap: { what: 'file', at: join(root, 'leaf.txt'), to: join(outside, 'canary.txt') },
      file: 'leaf.txt',
      folder: '.',
    },
    { swap: { what: 'folder', at: join(root, 'p/q'), to: folder }, file: 'p/q/f.txt', folder: 'p/q' },
    {
      swap: { what: 'folder', at: join(root, 'g'), to: `../outside/g-${CANARY}` },
      file: 'g/h/i/f.txt',
      folder: 'g/h',
    },
    {
      swap: { what: 'link', at: join(root, 'flip'), to: folder, inside: 'flip-a' },
      file: 'flip/f.txt',
      folder: 'flip',
    },
  ]
}

/** Works while another process swaps. */
export async function whileSwapped<T>({ swap }: Race, work: () => Promise<T>): Promise<T> {
  const child = fork(join(import.meta.dirname, 'swapper.ts'), [JSON.stringify(swap)])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  try {
    await new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', () => reject(new Error('The swapping process ended by itself.')))
    })
    const done = await work()
    if (child.exitCode !== null) throw new Error('The swapping process ended by itself.')
    return done
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

export interface Outcomes {
  readonly ok: number
  readonly refused: number
  /** Escapes, as sentences. */
  readonly found: readonly string[]
}

/** Calls one after the other, `count` of each kind, while another process swaps. */
export async function raceAll(
  arena: Arena,
  race: Race,
  { call, workspace, count }: Racing,
): Promise<Outcomes> {
  const { file, folder } = race
  const ways: readonly (readonly [share: number, once: (n: number) => Promise<string>])[] = [
    [1, () => call('read_file', { path: file })],
    [0.2, () => call('list_files', { path: folder, recursive: true })],
    [0.2, (n) => call('write_to_file', { path: `${folder}/new-${n % 5}/x`, content: String(n) })],
    [0.5, () => workspace.write(file, { content: 'inside', id: 'x' }).then(() => 'ok', String)],
  ]
  let [ok, refused] = [0, 0]
  const found: string[] = []
  await whileSwapped(race, async () => {
    for (const [share, once] of ways)
      for (let n = 0; n < count * share; n++) {
        const result = await once(n)
        if (result.startsWith('ok')) ok += 1
        else refused += 1
        // A listing shows the targets of links.
        if (arena.isShown(result.replaceAll(/-> \S+/g, ''))) found.push(`${file}: ${result.slice(0, 200)}`)
      }
  })
  const escape = arena.escape('')
  return { ok, refused, found: escape === undefined ? found : [...found, `${file}: ${escape}`] }
}

interface Racing {
  readonly call: Call
  readonly workspace: Workspace
  readonly count: number
}
