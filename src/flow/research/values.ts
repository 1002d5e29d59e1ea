/** Values in a sentence: quantities with their units, dates, times of day and names; and kinds of answers. Pure. */
import { foldText, isContentWord, isFigure, stemOf, type Token, tokensOf } from './words.ts'

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Unit words with the base unit of their dimension, and the factor to it. */
const UNITS: ReadonlyMap<string, readonly [dimension: string, factor: number]> = new Map(
  Object.entries({
    length:
      'm 1 metre 1 meter 1 metres 1 meters 1 cm 0.01 centimetre 0.01 centimetres 0.01 mm 0.001 millimetres 0.001 km 1000 kilometre 1000 kilometres 1000 kilometer 1000 kilometers 1000 mile 1609 miles 1609 foot 0.3048 feet 0.3048 inch 0.0254 inches 0.0254',
    mass: 'kg 1 g 0.001 gram 0.001 grams 0.001 t 1000 tonne 1000 tonnes 1000 ton 1000 tons 1000 kilo 1 kilos 1 kilograms 1',
    duration:
      's 1 second 1 seconds 1 minute 60 minutes 60 min 60 h 3600 hour 3600 hours 3600 heure 3600 heures 3600 day 86400 days 86400 jour 86400 jours 86400 night 86400 nights 86400 week 604800 weeks 604800 semaine 604800 semaines 604800 month 2629800 months 2629800 mois 2629800 year 31557600 years 31557600 an 31557600 ans 31557600 annees 31557600 decade 315576000 decades 315576000 century 3155760000',
    temperature: '°c 1 °f 1 degree 1 degrees 1 degres 1 kelvin 1',
    percent: '% 1 percent 1 percentage 1',
    speed: 'm/s 1 km/h 0.2778 mph 0.447 knot 0.5144 knots 0.5144 noeuds 0.5144',
    money:
      '€ 1 euro 1 euros 1 eur 1 $ 1 dollar 1 dollars 1 usd 1 £ 1 pound 1 pounds 1 gbp 1 franc 1 francs 1 pence 0.01 cents 0.01 ¥ 1 yen 1',
    frequency: 'hz 1 khz 1000 mhz 1000000 ghz 1000000000',
    pressure: 'hpa 100 mbar 100 bar 100000 pa 1 kpa 1000',
    force: 'n 1 kn 1000 nm 1',
    power: 'w 1 kw 1000 mw 1000000',
    voltage: 'v 1 kv 1000 volt 1 volts 1',
    volume: 'l 1 litre 1 litres 1 liter 1 liters 1 ml 0.001 m³ 1000 gallons 3.785',
    area: 'm² 1 hectare 10000 hectares 10000 ha 10000 km² 1000000 acres 4047',
  }).flatMap(([dimension, units]) => {
    const words = units.split(' ')
    return words.flatMap((word, at) =>
      at % 2 === 0 ? [[word, [dimension, Number(words[at + 1])] as const] as const] : [],
    )
  }),
)

const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ...'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'
    .split(' ')
    .map((word, at) => [word, at] as const),
  ...'thirty forty fifty sixty seventy eighty ninety hundred'
    .split(' ')
    .map((word, at) => [word, (at + 3) * 10] as const),
  ...'deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize'
    .split(' ')
    .map((word, at) => [word, at + 2] as const),
  ...([
    ['vingt', 20],
    ['trente', 30],
    ['quarante', 40],
    ['cinquante', 50],
    ['cent', 100],
    ['dozen', 12],
    ['thousand', 1000],
  ] as const),
])

const MONTHS: readonly string[] =
  'january february march april may june july august september october november december'.split(' ')
const MONTHS_FR: readonly string[] =
  'janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre'.split(' ')
const SHORT_MONTHS: readonly string[] = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const WEEKDAYS = set(
  'monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays lundi mardi mercredi jeudi vendredi samedi dimanche',
)
const YEAR = /^(?:1[0-9]|20)\d\d$/

/** A figure with its unit. `unit`: a dimension, or the stem of the word that is counted. */
export interface Quantity {
  readonly unit: string
  readonly value: number
}

const UNIT = /^[ \u00a0\u202f-]?(m\/s|km\/h|[%€$£‰¥]|°\s?\p{L}|\p{L}+[²³]?)/u

/** The value of a figure or a number word; undefined for other words, and for `12.03.2021`. */
function numberOf({ word }: Token): number | undefined {
  if (!isFigure(word)) return NUMBER_WORDS.get(word)
  return isDotted(word) ? undefined : Number(word)
}

/** A date, a version or an address: several numbers. */
export function isDotted(figure: string): boolean {
  return Number.isNaN(Number(figure))
}

const SCALES: ReadonlyMap<string, number> = new Map([
  ...['hundred', 'cent'].map((word) => [word, 100] as const),
  ...['thousand', 'mille'].map((word) => [word, 1000] as const),
  ...['million', 'millions'].map((word) => [word, 1e6] as const),
  ...['billion', 'billions', 'milliard', 'milliards'].map((word) => [word, 1e9] as const),
])
const ORDINALS: ReadonlyMap<string, number> = new Map([
  ...[...NUMBER_WORDS].map(([word, value]) => [`${word}th`, value] as const),
  ...([
    ['first', 1],
    ['second', 2],
    ['third', 3],
    ['fifth', 5],
    ['eighth', 8],
    ['ninth', 9],
    ['twelfth', 12],
    ['twentieth', 20],
  ] as const),
])

/** The values of figures, number words and months, each alone and with the word after it: `twenty-five`, `1.2 million`; of `12.03.2021` three. */
export function numbersIn(text: string): ReadonlySet<number> {
  const tokens = tokensOf(text)
  const found = tokens.flatMap((token, at): readonly (number | undefined)[] => {
    if (isFigure(token.word) && isDotted(token.word)) return token.word.split('.').map(Number)
    const value = numberOf(token) ?? ORDINALS.get(token.word)
    if (value === undefined) return [monthOf(token.word)]
    const next = tokens[at + 1]?.word ?? ''
    const one = NUMBER_WORDS.get(next) ?? ORDINALS.get(next) ?? 10
    return [value, Number((value * (SCALES.get(next) ?? 1)).toPrecision(12)), value + (one < 10 ? one : 0)]
  })
  return new Set(found.filter((value) => value !== undefined))
}

/** Figures and number words with a unit, or with the word that they count. Days, times and years are none. */
export function quantitiesIn(sentence: string): readonly Quantity[] {
  const tokens = tokensOf(sentence)
  return tokens.flatMap((token, at): readonly Quantity[] => {
    const value = numberOf(token)
    if (value === undefined) return []
    const [before, after] = [sentence.slice(0, token.start), sentence.slice(token.start + token.text.length)]
    if (/[€$£¥] ?$/.test(before)) return [{ unit: 'money', value }]
    const next = foldText(UNIT.exec(after)?.[1] ?? '').replace('° ', '°')
    const isTime = before.endsWith(':') || /^:\d/.test(after)
    if (isTime || monthOf(next) !== undefined) return []
    const known = UNITS.get(next)
    if (known !== undefined) return [{ unit: known[0], value: value * known[1] }]
    if (isYear(token) && !isContentWord(next)) return []
    const counted = tokens.slice(at + 1, at + 3).find(({ word }) => isContentWord(word))?.word
    return counted === undefined || isFigure(counted) ? [] : [{ unit: stemOf(counted), value }]
  })
}

function isYear({ word, text }: Token): boolean {
  return YEAR.test(word) && text.length === 4
}

export function yearsIn(text: string): readonly string[] {
  return tokensOf(text).flatMap((token) => (isYear(token) ? [token.word] : []))
}

function monthOf(word: string): number | undefined {
  const at = Math.max(MONTHS.indexOf(word), MONTHS_FR.indexOf(word), SHORT_MONTHS.indexOf(word))
  return at < 0 ? undefined : at + 1
}

/** A day, a month or a year; unknown parts are left out. */
export interface DateValue {
  readonly day?: number
  readonly month?: number
  readonly year?: number
}

export function datesIn(sentence: string): readonly DateValue[] {
  const tokens = tokensOf(sentence)
  const used = new Set<number>()
  const dates = tokens.flatMap((token, at): readonly DateValue[] => {
    const month = monthOf(token.word)
    // `may` is a verb more often than a month.
    const isVerb = token.word === 'may' && token.text !== 'May'
    if (month === undefined || isVerb) return []
    const dayOf = (place: number): number | undefined => {
      const near = tokens[place]
      if (near === undefined || !/^\d{1,2}$/.test(near.text.replace(/(?:st|nd|rd|th)$/, ''))) return undefined
      used.add(place)
      return Number.parseInt(near.text, 10)
    }
    const before = dayOf(at - 1)
    const day = before ?? dayOf(at + 1)
    const yearAt = before === undefined && day !== undefined ? at + 2 : at + 1
    const near = tokens[yearAt]
    const year = near !== undefined && isYear(near) ? Number(near.word) : undefined
    if (year !== undefined) used.add(yearAt)
    return [{ month, ...(day === undefined ? {} : { day }), ...(year === undefined ? {} : { year }) }]
  })
  const years = tokens.flatMap((token, at) =>
    isYear(token) && !used.has(at) && !isCounting(tokens, at) ? [{ year: Number(token.word) }] : [],
  )
  return [...dates, ...years]
}

function isCounting(tokens: readonly Token[], at: number): boolean {
  return UNITS.has(tokens[at + 1]?.word ?? '')
}

/** True if both may be the same day. */
export function isSameDate(a: DateValue, b: DateValue): boolean {
  const isSame = (one: number | undefined, other: number | undefined): boolean =>
    one === undefined || other === undefined || one === other
  const overlap =
    (a.day !== undefined && b.day !== undefined) ||
    (a.month !== undefined && b.month !== undefined) ||
    (a.year !== undefined && b.year !== undefined)
  return overlap && isSame(a.day, b.day) && isSame(a.month, b.month) && isSame(a.year, b.year)
}

export function timesIn(sentence: string): readonly string[] {
  const clock = [...sentence.matchAll(/\b(\d{1,2})[:h] ?(\d\d)\b/g)].map(
    ([, hour, minute]) => `${Number(hour)}:${minute}`,
  )
  const short = [...sentence.matchAll(/\b(\d{1,2}) ?(am|pm|o'clock)\b/gi)].map(([text]) => text.toLowerCase())
  return [...clock, ...short]
}

/** The dimension of a unit that is written as a word. */
export function dimensionOf(word: string): string | undefined {
  return word.length > 2 ? UNITS.get(word)?.[0] : undefined
}

/** The dimension of a unit, by its stem; other stems are units of their own. */
export function unitOf(stem: string): string {
  return STEM_UNITS.get(stem) ?? stem
}

const STEM_UNITS: ReadonlyMap<string, string> = new Map(
  [...UNITS].flatMap(([unit, [dimension]]) => (unit.length > 2 ? [[stemOf(unit), dimension] as const] : [])),
)

/** Runs of words with capitals, without the first word of the sentence unless another one follows it. */
export function namesIn(sentence: string): readonly string[] {
  const found = sentence.matchAll(/\p{Lu}[\p{L}'’-]*(?: (?:\p{Lu}[\p{L}'’-]*|de|van|von|of))*/gu)
  return [...found].flatMap(({ 0: text, index }) => {
    const name = text.replace(/ (?:of|de|van|von)$/, '')
    const isFirst = /^[^\p{L}]*$/u.test(sentence.slice(0, index))
    const words = name.split(' ')
    const [first = ''] = words
    const isCommon =
      !isContentWord(foldText(first)) || (words.length === 1 && !isActing(sentence.slice(index)))
    const named = isFirst && isCommon ? words.slice(1) : words
    const isDate = named.every(
      (word) => WEEKDAYS.has(foldText(word)) || monthOf(foldText(word)) !== undefined,
    )
    return named.length === 0 || isDate ? [] : [named.join(' ')]
  })
}

/** `Reid organises`: a name before a verb in the third person, or in the past. */
function isActing(sentence: string): boolean {
  const verb = /^\S+ (\p{Ll}{3,}(?:[^s]s|ed))\b/u.exec(sentence)?.[1]
  return verb !== undefined && isContentWord(foldText(verb)) && !/^\S+s /u.test(sentence)
}

/** The kind of an answer that a question asks for. */
export type AnswerKind =
  | 'any'
  | 'person'
  | 'place'
  | 'reason'
  | 'date'
  | 'deadline'
  | 'year'
  | 'time'
  | 'interval'
  | 'count'
  | 'quantity'
  | 'money'
  | 'colour'
  | 'name'
  /** One of these dimensions. */
  | `dimension ${string}`

const COLOURS = set(
  'red blue green yellow white black grey gray brown pink orange purple violet silver gold golden rouge bleu bleue vert verte jaune blanc blanche noir noire gris grise brun rose',
)
const ROLE =
  /\b(?:\p{L}{3,}(?:er|or|ist|man|men|ant|ent|ian)s?|family|families|school|office|board|committee|company|everybody|anybody|nobody|somebody|anyone|everyone|members?|students?|people|children|girl|boy|woman|team|crew)\b/u
const REASON =
  /\b(?:because|since|due|so that|reasons?|caused?|causes|therefore|owing|thanks to|comes? from|in order|to avoid|if|after|which is why|that is why|too|car|parce|puisque|afin|pour|raison|cause)\b/iu
const INTERVAL =
  /\b(?:every|each|once|twice|times|daily|weekly|monthly|yearly|annually|hourly|always|never|per|chaque|tous les|toutes les|fois)\b|\ban? (?:second|minute|hour|day|week|month|year)\b/iu
/** `\b` knows no accents: `à` and `été` would never match. */
const PLACE =
  /(?<!\p{L})(?:in|at|on|near|behind|under|above|below|beside|from|to|between|next|outside|inside|by|over|around|dans|à|au|aux|sur|sous|chez|vers|derrière|près)(?!\p{L})/iu
const RELATIVE_DATE =
  /(?<!\p{L})(?:later|ago|since|until|before|after|during|today|tomorrow|yesterday|spring|summer|autumn|winter|easter|christmas|morning|evening|noon|midnight|night|next|last|depuis|avant|après|jusqu|matin|soir|midi|minuit|printemps|été|automne|hiver)(?!\p{L})/iu

const DIMENSION = 'dimension '

/** True if a sentence has a value of the kind. `around`: texts that may name the unit of a row. */
export function hasKind(sentence: string, kind: AnswerKind, around = ''): boolean {
  if (kind.startsWith(DIMENSION))
    return kind
      .slice(DIMENSION.length)
      .split(' ')
      .some((each) => hasDimension(sentence, each, around))
  switch (kind) {
    case 'person':
      return namesIn(sentence).length > 0 || ROLE.test(sentence)
    case 'place':
      return PLACE.test(sentence) || namesIn(sentence).length > 0
    case 'reason':
      return REASON.test(sentence) || REASON.test(around)
    case 'year':
      return yearsIn(sentence).length > 0
    case 'time':
      return timesIn(sentence).length > 0 || /\b(?:noon|midnight|midi|minuit)\b/iu.test(sentence)
    case 'date':
      return hasDate(sentence)
    case 'deadline':
      return hasDate(sentence) || hasDimension(sentence, 'duration', around)
    case 'interval':
      return INTERVAL.test(sentence)
    case 'count':
    case 'quantity':
      return hasNumber(sentence)
    case 'money':
      return hasDimension(sentence, 'money', around) || /\b(?:free|gratuit\p{L}*|nothing)\b/iu.test(sentence)
    case 'colour':
      return tokensOf(sentence).some(({ word }) => COLOURS.has(word))
    case 'name':
      return namesIn(sentence).length > 0
    case 'any':
    default:
      return true
  }
}

/** A number that is no day, no year and no time, and of no unit, unless that unit is counted. */
export function hasCount(sentence: string, unit: string): boolean {
  const others = quantitiesIn(sentence).filter((each) => DIMENSIONS.has(each.unit) && each.unit !== unit)
  return countNumbers(sentence) > others.length
}

const DIMENSIONS: ReadonlySet<string> = new Set([...UNITS.values()].map(([dimension]) => dimension))

function hasNumber(sentence: string): boolean {
  return countNumbers(sentence) > 0
}

/** Without days, years and times. */
function countNumbers(sentence: string): number {
  const tokens = tokensOf(sentence)
  return tokens.filter((token, at) => {
    const isDay = [tokens[at - 1], tokens[at + 1]].some(
      (near) => near !== undefined && monthOf(near.word) !== undefined,
    )
    const isTime =
      /^:\d/.test(sentence.slice(token.start + token.text.length)) || sentence[token.start - 1] === ':'
    return numberOf(token) !== undefined && !isDay && !isTime && !isYear(token)
  }).length
}

function hasDate(sentence: string): boolean {
  if (datesIn(sentence).length > 0 || timesIn(sentence).length > 0) return true
  return RELATIVE_DATE.test(sentence) || tokensOf(sentence).some(({ word }) => WEEKDAYS.has(word))
}

/** The unit of a row may stand in the header of its table, or in the sentence before. */
function hasDimension(sentence: string, dimension: string, around: string): boolean {
  if (quantitiesIn(sentence).some(({ unit }) => unit === dimension)) return true
  const hasFigure = tokensOf(sentence).some((token) => isFigure(token.word) && !isYear(token))
  if (!hasFigure) return false
  const units = [
    ...around.matchAll(/[€$£¥%]|°\s?\p{L}|(?<=\()\p{L}(?=\))|\p{L}{2,}[²³]?|\p{L}+\/\p{L}|m[²³]/gu),
  ]
  return units.some(([unit]) => UNITS.get(foldText(unit).replace('° ', '°'))?.[0] === dimension)
}
