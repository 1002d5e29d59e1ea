/** Helpers of all format tests: messages in short, and the invariants of every import. */
import { expect, it } from 'vitest'
import { type ImportFormat, type ImportOptions, importMessages } from '../../src/journal/index.ts'
import type { AssistantPart, Json, Message, SettledStatus, UserContent } from '../../src/protocol/index.ts'
import { illegal } from './legal.ts'

export const user = (content: UserContent): Message => ({ role: 'user', content })
export const reply = (...parts: (string | AssistantPart)[]): Message => ({
  role: 'assistant',
  content: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
})
export const call = (n: number, providerId?: string, more: Partial<AssistantPart> = {}): AssistantPart =>
  ({
    type: 'tool-call',
    callId: `import-${n}`,
    ...(providerId === undefined ? {} : { providerId }),
    tool: 'weather',
    args: { city: `city ${n}` },
    ...more,
  }) as AssistantPart
export const results = (...settled: (readonly [number, Json, SettledStatus?])[]): Message => ({
  role: 'tool',
  content: settled.map(([n, output, status = 'ok']) => ({
    type: 'tool-result',
    callId: `import-${n}`,
    tool: 'weather',
    status,
    output,
  })),
})
export const NO_RESULT = 'The imported history has no result of this call. It is not known whether it ran.'
export const OPENING: Message = {
  role: 'user',
  content: '[This conversation was imported. What it began with is not known.]',
  by: 'program',
}

export interface Case {
  readonly name: string
  readonly history: unknown
  readonly options?: ImportOptions
  readonly messages: readonly Message[]
  /** As `at kind`. */
  readonly repairs?: readonly string[]
  readonly system?: string
  /** The detected format. */
  readonly format?: ImportFormat
}

export function check(one: Case): void {
  it.each([one])('$name', ({ history, options, messages, repairs = [], system, format }) => {
    const before = JSON.stringify(history)
    const imported = importMessages(history, options)
    expect(imported.messages).toEqual(messages)
    expect(imported.repairs.map(({ at, kind }) => `${at} ${kind}`)).toEqual(repairs)
    expect(imported.repairs.every(({ said }) => /^[A-Z].*\.$/.test(said))).toBe(true)
    expect(imported.system).toBe(system)
    expect(imported.format).toBe(format ?? imported.format)
    expect(illegal(imported.messages)).toBeUndefined()
    expect(JSON.stringify(history)).toBe(before)
    expect(importMessages(history, options)).toEqual(imported)
    const again = importMessages(imported.messages, { format: 'holdfast' })
    expect(again).toEqual({ messages: imported.messages, repairs: [], format: 'holdfast' })
  })
}

/** Two calls at once, both answered, and a reply. */
export const WHOLE: readonly Message[] = [
  user('Compare the weather.'),
  reply('I will look.', call(1, 'a'), call(2, 'b')),
  results([1, 'sun'], [2, 'rain']),
  reply('Sun and rain.'),
]
export const WITHOUT_IDS: readonly Message[] = [
  user('Compare the weather.'),
  reply('I will look.', call(1), call(2)),
  results([1, 'sun'], [2, 'rain']),
  reply('Sun and rain.'),
]
