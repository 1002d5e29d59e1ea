/**
 * The table of rooms, rule by rule: for each room that is to come, imports that it needs and imports that it must not
 * have are planted in an empty project. Rooms that are there are checked in check.test.ts, on the project itself.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { findCycles } from '../scripts/cycles.ts'
import { checkImports } from '../scripts/imports.ts'
import { rooms } from '../scripts/rooms.ts'

interface Rule {
  readonly may: readonly string[]
  readonly mayNot: readonly string[]
}

/** By folder of src; a rule names folders of src, builtins and packages. */
const RULES: Readonly<Record<string, Rule>> = {
  net: { may: ['protocol', 'base', 'node:http'], mayNot: ['tool', 'toolbox', 'host'] },
  toolbox: {
    may: ['tool', 'grounding', 'net', 'node:fs'],
    mayNot: ['agent', 'turn', 'store', 'mcp', 'node:sqlite'],
  },
  mcp: { may: ['tool', 'grounding', 'node:child_process'], mayNot: ['agent', 'toolbox', 'host'] },
  plugin: { may: ['hook', 'tool', 'model'], mayNot: ['agent', 'turn', 'drive', 'store', 'flow/research'] },
  observe: { may: ['store', 'journal', 'hook', 'loop'], mayNot: ['agent', 'drive', 'store/sqlite', 'host'] },
  corpus: { may: ['tool', 'model'], mayNot: ['corpus/sqlite', 'node:sqlite', 'agent', 'store'] },
  'corpus/sqlite': { may: ['corpus', 'node:sqlite'], mayNot: ['store/sqlite', 'agent'] },
  'corpus/web': { may: ['corpus', 'net'], mayNot: ['toolbox', 'tool', 'corpus/sqlite', 'agent'] },
  'flow/research': {
    may: ['plugin', 'mcp', 'toolbox', 'agent', 'graph', 'flow'],
    mayNot: ['flow/review', 'host', 'serve/http', 'store/sqlite'],
  },
  replay: {
    may: ['agent', 'graph', 'journal', 'store'],
    mayNot: ['evals', 'host', 'testing', 'store/sqlite'],
  },
  evals: { may: ['replay', 'observe', 'agent'], mayNot: ['host', 'flow/research', 'vitest'] },
  host: {
    may: ['agent', 'graph', 'drive', 'observe', 'net'],
    mayNot: ['toolbox', 'serve', 'serve/http', 'flow/research', 'client'],
  },
  'serve/http': {
    may: ['host', 'serve', 'protocol', 'node:http'],
    mayNot: ['serve/a2a', 'agent', 'store', 'client'],
  },
  client: { may: ['protocol'], mayNot: ['base', 'host', 'serve/http', 'node:http', 'node:crypto'] },
  'engine/queue': {
    may: ['host', 'agent', 'drive', 'engine'],
    mayNot: ['engine/other', 'serve/http', 'client'],
  },
  'store/postgres': {
    may: ['store'],
    mayNot: ['store/sqlite', 'store/memory', 'journal', 'node:sqlite', 'pg'],
  },
  'store/sqlite': { may: ['store', 'node:sqlite'], mayNot: ['corpus/sqlite', 'store/postgres'] },
}

const OUTSIDE: Readonly<Record<string, string>> = {
  'studio/page/app.tsx':
    "import 'holdfast/client'\nimport './view.tsx'\nimport '../../src/client/index.ts'\n",
  'src/serve/unsorted/deep/file.ts': 'export const a = 1\n',
  'src/store/mysql/index.ts': 'export const a = 1\n',
}

let complaints: readonly string[]

beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-rooms-'))
  try {
    const planted = Object.entries(RULES).flatMap(([room, { may, mayNot }]) => [
      [fileOf(room, 'may'), linesOf(room, may)] as const,
      [fileOf(room, 'may-not'), linesOf(room, mayNot)] as const,
    ])
    for (const [file, text] of [...planted, ...Object.entries(OUTSIDE)]) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), text)
    }
    complaints = checkImports(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

function fileOf(room: string, name: string): string {
  return `src/${room}/planted-${name}.ts`
}

/** One import for each target: the line of a complaint is its position in the rule. */
function linesOf(room: string, targets: readonly string[]): string {
  const top = '../'.repeat(room.split('/').length)
  const isFolder = (target: string): boolean =>
    !target.startsWith('node:') && !['vitest', 'pg'].includes(target)
  return targets
    .map((target) => `import '${isFolder(target) ? `${top}${target}/index.ts` : target}'\n`)
    .join('')
}

function complaintsAbout(file: string): string[] {
  return complaints.filter((complaint) => complaint.startsWith(`${file}:`))
}

describe.each(Object.entries(RULES))('the room %s', (room, { may, mayNot }) => {
  it(`may import ${may.join(', ')}`, () => {
    expect(complaintsAbout(fileOf(room, 'may'))).toEqual([])
  })

  it(`may not import ${mayNot.join(', ')}`, () => {
    const file = fileOf(room, 'may-not')
    const refused = complaintsAbout(file).filter((complaint) =>
      complaint.includes(` room ${room} may not import `),
    )
    expect(refused.map((complaint) => Number(complaint.slice(file.length + 1).split(' ')[0]))).toEqual(
      mayNot.map((_, index) => index + 1),
    )
  })
})

describe('folders and rooms', () => {
  it('the studio imports public entries only', () => {
    expect(complaintsAbout('studio/page/app.tsx')).toEqual([
      expect.stringContaining('studio/page/app.tsx:3 studio may not import src/client/index.ts'),
    ])
  })

  it('every folder of serve is a room, and one beside the stores is none', () => {
    expect(complaintsAbout('src/serve/unsorted/deep/file.ts')).toEqual([])
    expect(complaintsAbout('src/store/mysql/index.ts')).toEqual([
      'src/store/mysql/index.ts:1 is in no room (scripts/rooms.ts lists them)',
    ])
  })

  it('the table names only rooms that exist in it, and has no cycle', () => {
    const byName = new Map(rooms.map((room) => [room.name, room.rooms]))
    // A folder of flow, such as flow/plan-verify, is in the table by its pattern.
    const isThere = (name: string) => byName.has(name) || byName.has(name.replace(/\/[^/]+$/, '/*'))
    expect(rooms.flatMap((room) => room.rooms).filter((name) => !isThere(name))).toEqual([])
    expect(findCycles([...byName.keys()], (name) => byName.get(name) ?? [])).toEqual([])
  })
})
