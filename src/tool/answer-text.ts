/** Reads the answer of a request from plain text, for surfaces where people only type. The runtime checks the answer. */
import type { Json, RequestData } from '../protocol/index.ts'

/** `yes`, a number of a list, a JSON value or plain text, by the kind of the request. */
export function answerFrom(request: RequestData, typed: string): Json {
  const text = typed.trim()
  switch (request.kind) {
    case 'confirmation':
      return confirmationFrom(text)
    case 'choice':
      return choiceFrom(request, text)
    case 'data':
      return jsonFrom(text)
    default:
      return text
  }
}

const YES = /^(y|yes|true|ok|approved?)[.!]?$/i
/** `no`, with an optional reason. */
const NO = /^(n|no|false|reject(?:ed)?)(?:[\s,;:.!-]+(.+)?)?$/is
/** A rejection that ends the turn. */
const STOP = /^stop(?:[\s,;:.-]+(.+))?$/is
const SCOPE = /^(session|always)$/i

function confirmationFrom(text: string): Json {
  if (YES.test(text)) return true
  const no = NO.exec(text)
  if (no !== null) return no[2] === undefined ? false : { approved: false, reason: no[2] }
  const stop = STOP.exec(text)
  if (stop !== null)
    return { approved: false, stop: true, ...(stop[1] === undefined ? {} : { reason: stop[1] }) }
  const scope = SCOPE.exec(text)?.[1]?.toLowerCase()
  return scope === undefined ? jsonFrom(text) : { approved: true, scope }
}

function choiceFrom({ options = [], multiple }: RequestData, text: string): Json {
  if (!multiple) return optionFrom(options, text)
  const list = jsonFrom(text)
  return Array.isArray(list) ? (list as readonly Json[]) : optionsFrom(options, text)
}

/** The options of a list with commas. An option that has commas itself takes several pieces of it. */
function optionsFrom(options: readonly Json[], text: string): readonly Json[] {
  const typed = piecesOf(text)
  const long = options
    .map((option) => ({ option, pieces: piecesOf(optionText(option).toLowerCase()) }))
    .filter(({ pieces }) => pieces.length > 1)
    .toSorted((a, b) => b.pieces.length - a.pieces.length)
  const chosen: Json[] = []
  for (let at = 0; at < typed.length; ) {
    const whole = long.find(({ pieces }) =>
      pieces.every((piece, i) => piece === typed[at + i]?.toLowerCase()),
    )
    chosen.push(whole?.option ?? optionFrom(options, typed[at] ?? ''))
    at += whole?.pieces.length ?? 1
  }
  return chosen
}

function piecesOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
}

/** An option by its text comes before one by its number: options may be numbers. */
function optionFrom(options: readonly Json[], text: string): Json {
  const byText = options.find((option) => optionText(option).toLowerCase() === text.toLowerCase())
  if (byText !== undefined) return byText
  const byNumber = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined
  return byNumber ?? byWords(options, text) ?? jsonFrom(text)
}

/** The only option that has all these words: `nantes` is enough for `Les Tilleuls (Nantes)`. */
function byWords(options: readonly Json[], text: string): Json | undefined {
  const words = wordsOf(text)
  const having = options.filter((option) => {
    const known = wordsOf(optionText(option))
    return words.every((word) => known.includes(word))
  })
  return words.length > 0 && having.length === 1 ? having[0] : undefined
}

function wordsOf(text: string): readonly string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[\p{L}\p{N}]+/gu) ?? []
}

export function optionText(option: Json): string {
  return typeof option === 'string' ? option : JSON.stringify(option)
}

/** The JSON value, or the text itself if it is no JSON. */
function jsonFrom(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
