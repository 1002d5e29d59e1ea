/** Whether a value fits a parameter, and how it has to be written for it. It never changes what the value means. */
import type { Json } from '../protocol/index.ts'
import type { Param } from './tools.ts'
import type { Span } from './values.ts'
import { DATE_WORDS, EMAIL_WORDS, FALSE, TRUE, URL_WORDS } from './vocabulary.ts'
import { foldText, stemsOf } from './words.ts'

/** The kind of text that a parameter takes, if its schema or its words say so. */
export type TextForm = 'email' | 'url' | 'date' | 'datetime' | 'uuid'

export function formOfParam({ format, stems, about, type }: Param): TextForm | undefined {
  if (type !== 'string' && type !== 'any') return undefined
  if (format === 'email') return 'email'
  if (format === 'uri' || format === 'url') return 'url'
  if (format === 'date') return 'date'
  if (format === 'date-time') return 'datetime'
  if (format === 'uuid') return 'uuid'
  const last = stems.at(-1) ?? ''
  if (EMAIL_WORDS.has(last)) return 'email'
  if (URL_WORDS.has(last)) return 'url'
  const speaksOfDate = DATE_WORDS.has(last) || (about.has('date') && (about.has('iso') || about.has('yyyy')))
  return speaksOfDate ? 'date' : undefined
}

/** A found value as the parameter wants it, or undefined if it does not fit. */
export function fitSpan(param: Param, span: Span): Json | undefined {
  const form = formOfParam(param)
  if (form !== undefined && span.kind !== 'quoted' && span.kind !== 'literal' && !fitsForm(form, span.kind))
    return undefined
  return fitText(param, span.raw, span)
}

function fitsForm(form: TextForm, kind: Span['kind']): boolean {
  return form === kind || (form === 'date' && kind === 'datetime')
}

/** A written value as the parameter wants it, or undefined if it does not fit. */
export function fitText(param: Param, raw: string, span?: Span): Json | undefined {
  const text = raw.trim()
  if (text === '') return undefined
  if (param.choices !== undefined) return choiceOf(param.choices, text)
  switch (param.type) {
    case 'number':
    case 'integer':
      return fitNumber(param, span?.kind === 'number' ? Number(span.value) : plainNumber(text))
    case 'boolean': {
      const word = foldText(text)
      return TRUE.has(word) ? true : FALSE.has(word) ? false : undefined
    }
    case 'string':
    case 'any':
      if (param.type === 'any' && span?.kind === 'number') return span.value
      return text
    case 'array':
    case 'object':
    default:
      return undefined
  }
}

function plainNumber(text: string): number {
  return /^[+-]?\d{1,15}(?:\.\d{1,10})?$/.test(text) ? Number(text) : Number.NaN
}

function fitNumber({ type, minimum, maximum }: Param, value: number): number | undefined {
  if (!Number.isFinite(value) || (type === 'integer' && !Number.isInteger(value))) return undefined
  if ((minimum !== undefined && value < minimum) || (maximum !== undefined && value > maximum))
    return undefined
  return value
}

function choiceOf(choices: NonNullable<Param['choices']>, text: string): Json | undefined {
  const wanted = stemsOf(text).join(' ')
  return (
    choices.find((choice) => String(choice) === text) ??
    choices.find((choice) => foldText(String(choice)) === foldText(text)) ??
    choices.find((choice) => wanted !== '' && stemsOf(String(choice)).join(' ') === wanted)
  )
}
