/** Every import is legal, is stable when imported again, and loses nothing without a repair. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  type Imported,
  type ImportFormat,
  importContext,
  importMessages,
  LiveWindow,
  newSession,
  readWindow,
  transcript,
} from '../../src/journal/index.ts'
import { HoldfastError, LOCAL_OWNER, type Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import {
  accidents,
  afterwards,
  brokenScript,
  FORMAT_NAMES,
  type Line,
  wholeScript,
  written,
} from './foreign-histories.ts'
import { illegal } from './legal.ts'
import { PATIENCE } from './property.ts'

const KEY = { ...LOCAL_OWNER, contextId: 'moved-in' }
const RUNS = Math.max(50, Math.round(Number(process.env['HOLDFAST_RUNS'] ?? 100) / 2))

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) frozen(inner)
    Object.freeze(value)
  }
  return value
}

function expectSound(imported: Imported): void {
  expect(illegal(imported.messages)).toBeUndefined()
  expect(JSON.parse(JSON.stringify(imported))).toEqual(imported)
  const again = importMessages(imported.messages, { format: 'holdfast' })
  expect(again).toEqual({ messages: imported.messages, repairs: [], format: 'holdfast' })
}

const textsOf = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ role, content }) => {
    if (role === 'tool') return []
    return typeof content === 'string'
      ? [content]
      : content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  })

const callsOf = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'assistant'
      ? content.flatMap((part) =>
          part.type === 'tool-call' ? [`${part.tool} ${JSON.stringify(part.args)}`] : [],
        )
      : [],
  )

/** All texts and calls must be found again. */
function expectNothingLost(script: readonly Line[], { messages, system = '', repairs }: Imported): void {
  const said = [...textsOf(messages), ...system.split('\n\n')].join('\n')
  const words = script.flatMap((line) => (line.by === 'tool' ? [] : [line.text.trim()]))
  expect(words.filter((text) => !said.includes(text))).toEqual([])
  const asked = script.flatMap((line) => (line.by === 'model' ? line.calls : []))
  expect(callsOf(messages)).toEqual(asked.map(({ tool, city }) => `${tool} ${JSON.stringify({ city })}`))
  const results = script.filter(({ by }) => by === 'tool').length
  const left = repairs.filter(({ kind }) => kind === 'result-orphan' || kind === 'result-duplicate').length
  const missing = repairs.filter(({ kind }) => kind === 'result-missing').length
  expect(results - left).toBe(asked.length - missing)
}

const withoutIds = (messages: readonly Message[]): unknown =>
  JSON.parse(
    JSON.stringify(messages, (key, value: unknown) =>
      key === 'providerId' || key === 'callId' ? undefined : value,
    ),
  )

describe.each(FORMAT_NAMES)('a history of the format %s', (format) => {
  it('that is whole needs no repair, and is recognised', PATIENCE, () => {
    const law = fc.property(wholeScript, (script) => {
      const history = frozen(written(script, format))
      const imported = importMessages(history, { format })
      expect(imported.repairs).toEqual([])
      expectSound(imported)
      expectNothingLost(script, imported)
      const recognised = importMessages(history)
      expect(recognised.messages).toEqual(imported.messages)
      const isTelling = script.some(({ by }) => by === 'tool')
      expect(recognised.format).toBe(isTelling ? format : recognised.format)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  it('in any order is made legal, always in the same way, and nothing is lost unsaid', PATIENCE, () => {
    const law = fc.property(brokenScript, (script) => {
      const kept = format === 'holdfast' ? script.filter(({ by }) => by !== 'system') : script
      const history = frozen(written(kept, format))
      const imported = importMessages(history, { format })
      expectSound(imported)
      expectNothingLost(kept, imported)
      expect(importMessages(structuredClone(history), { format })).toEqual(imported)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  it('that had accidents is made legal or refused with its place', PATIENCE, () => {
    const law = fc.property(brokenScript, accidents, (script, happened) => {
      const history = frozen(afterwards(written(script, format), happened))
      const { imported, refusal } = attempt(history, format)
      expect(refusal?.code).toBe(imported === undefined ? 'invalid-option' : undefined)
      expect(typeof refusal?.details['at']).toBe(imported === undefined ? 'number' : 'undefined')
      expectSound(imported ?? importMessages([]))
    })
    fc.assert(law, { numRuns: RUNS })
  })
})

it(
  'a window over imports never splits a round, and one that is held equals one that is read',
  PATIENCE,
  async () => {
    const law = fc.asyncProperty(
      fc.array(wholeScript, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 30 }),
      async (scripts, maxMessages) => {
        const store = memoryStore()
        for (const script of scripts) await importContext(store, KEY, { history: written(script, 'openai') })
        const entries = await store.read(KEY)
        const held = await LiveWindow.over([], KEY, { session: newSession(), maxMessages })
        let session = newSession()
        for (const entry of entries) {
          session = fold([entry], session)
          held.add([entry])
          const read = transcript(await readWindow(store, KEY, { session, maxMessages }))
          expect(illegal(read)).toBeUndefined()
          expect(await held.messages(session)).toEqual(read)
        }
        expect(session.window.messages).toBe(scripts.flat().length - repeats(scripts))
      },
    )
    await fc.assert(law, { numRuns: RUNS })
  },
)

/** Number of lines of repeated scripts, which are imported once. */
function repeats(scripts: readonly (readonly Line[])[]): number {
  const texts = scripts.map((script) => JSON.stringify(script))
  return scripts.filter((_, index) => texts.indexOf(texts[index] ?? '') < index).flat().length
}

it('the same conversation reads the same in all formats', PATIENCE, () => {
  const law = fc.property(wholeScript, (script) => {
    const [first, ...others] = FORMAT_NAMES.map((format) =>
      importMessages(written(script, format), { format }),
    )
    for (const { messages } of others) expect(withoutIds(messages)).toEqual(withoutIds(first?.messages ?? []))
  })
  fc.assert(law, { numRuns: RUNS })
})

function attempt(
  history: readonly object[],
  format: ImportFormat,
): { readonly imported?: Imported; readonly refusal?: HoldfastError } {
  try {
    return { imported: importMessages(history, { format }) }
  } catch (error) {
    if (HoldfastError.is(error)) return { refusal: error }
    throw error
  }
}
