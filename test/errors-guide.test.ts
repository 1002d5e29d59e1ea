/** docs/guide/errors.md has every code that the sources have, and no other. */
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const GUIDE = readFileSync('docs/guide/errors.md', 'utf8')

/** The codes in the first column of the tables between two headings. */
function listed(from: string, to = '\n## '): string[] {
  const start = GUIDE.indexOf(from) + from.length
  const end = GUIDE.indexOf(to, start)
  const rows = GUIDE.slice(start, end < 0 ? undefined : end).matchAll(/^\| (`[^|]*`) \|/gm)
  return [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code))
}

function unionIn(file: string, type: string): string[] {
  const text = readFileSync(file, 'utf8')
  const declaration = text.slice(text.indexOf(`export type ${type} =`))
  return [...declaration.slice(0, declaration.indexOf('\n\n')).matchAll(/\| '([\w-]+)'/g)].map(
    ([, code = '']) => code,
  )
}

const THROWN = unionIn('src/protocol/error.ts', 'ErrorCode')

it('has every code of a HoldfastError', () => {
  expect(THROWN.length).toBeGreaterThan(40)
  expect(listed('## Codes that are thrown').toSorted()).toEqual(THROWN.toSorted())
})

it('has every kind of failure of a model', () => {
  const kinds = unionIn('src/model/failure.ts', 'FailureKind')
  expect(listed('| kind |').toSorted()).toEqual(kinds.toSorted())
})

it('has every code and name that results of calls have for the model', () => {
  const names = ['ungrounded', 'unreadable-arguments']
  const codes = [...unionIn('src/tool/tool-errors.ts', 'CallErrorCode'), ...names]
  expect(listed('## Codes that the model reads').toSorted()).toEqual(codes.toSorted())
  const texts = ['src/grounding/refusal.ts', 'src/turn/grounding.ts'].map((file) =>
    readFileSync(file, 'utf8'),
  )
  expect(names.map((name) => texts.findIndex((text) => text.includes(`error: '${name}'`)))).toEqual([0, 1])
})

it('has every code that turns write into outcomes, results and warnings', () => {
  const rooms = '{agent,drive,graph,grounding,journal,loop,model,plugin,tool,turn}'
  const files = globSync(`src/${rooms}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'))
  const texts = files.map((file) => readFileSync(file, 'utf8'))
  const written = texts.flatMap((text) =>
    [...text.matchAll(/\bcode: '([\w-]+)'/g)].map(([, code = '']) => code),
  )
  const constants = ['over-max-messages', 'prompt-cut', 'input-dropped']
  for (const code of constants) expect(texts.some((text) => text.includes(`= '${code}'`))).toBe(true)
  const further = [...listed('## Codes of outcomes', '`error.kind` of'), ...listed('## Warnings')]
  const codes = new Set([...written, ...constants])
  const ofCalls = listed('## Codes that the model reads')
  codes.delete('HOLDFAST')
  expect([...codes].filter((code) => ![...further, ...ofCalls, ...THROWN].includes(code))).toEqual([])
  expect(further.filter((code) => !codes.has(code))).toEqual([])
})
