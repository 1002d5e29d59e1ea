/** The places where a model, a tool or a question can say something, and how a test shares them with its config. */

export const FIELDS = [
  'text',
  'tool',
  'argumentName',
  'argument',
  'progress',
  'printed',
  'output',
  'display',
  'toolError',
  'providerError',
  'approval',
  'question',
  'option',
  'fieldName',
  'fieldHint',
  'fieldChoice',
  'label',
  'id',
] as const

export type Fields = Readonly<Record<(typeof FIELDS)[number], string>>

export interface Shared {
  fields: Fields | undefined
  /** Prints as `console.log` does in a real process. */
  print?: (text: string) => void
  store?: unknown
}
