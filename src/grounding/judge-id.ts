/**
 * Whether one id may reach a tool: it is the chosen one, was shown, was said, or is a label or a place that means one
 * thing. What is chosen wins: another thing passes only if the turn speaks of it. Pure, but for asking the facts.
 */
import type { ActiveValue, Ground, GroundSource, Json } from '../protocol/index.ts'
import {
  type Candidate,
  type Case,
  candidate,
  distinct,
  optionText,
  type Reading,
  readingOf,
} from './case.ts'
import { undeclared } from './entity.ts'
import { activeIds, isExpired, type Judging } from './facts.ts'
import { type FoundId, isNumeric, placeText } from './marks.ts'
import { labelReadings, ordinalReadings } from './readings.ts'
import { namedByLabel, saysNumber, saysThing, speaksOf } from './references.ts'
import { textOf } from './rows.ts'

/** Why an id is refused. `several`: one was wanted and more were named. */
export type RefusalReason = 'unknown' | 'expired' | 'not-active' | 'wrong-kind' | 'several'

export type Verdict = Passed | Asking | Refused

export interface Passed {
  readonly kind: 'ok'
  readonly entity: string
  readonly id: string
  readonly source: GroundSource
  readonly seq?: number
  /** It is known in a conversation above. */
  readonly above?: NonNullable<Ground['above']>
}

/** The person has to say which; `why` is what makes it unclear. */
export interface Asking {
  readonly kind: 'ask'
  readonly entity: string
  readonly why: 'same-label' | 'id-or-place'
  readonly options: readonly Candidate[]
}

export interface Refused {
  readonly kind: 'refused'
  readonly entity: string
  readonly reason: RefusalReason
  /** What is chosen, which may be what was meant. */
  readonly active?: Candidate
  /** The entity that it is an id of. */
  readonly kindOf?: string
  /** What was named, where one was wanted. */
  readonly named?: readonly Candidate[]
  /** One of these is meant, and only the person knows which. */
  readonly isUnclear?: true
}

/** The decision about one entity. Its policy is not looked at. */
export async function judgeId(found: FoundId, name: string, judging: Judging): Promise<Verdict> {
  const entity = judging.entities.get(name) ?? undeclared(name)
  const known = await judging.facts.active(name)
  const isOld = known !== undefined && isExpired(known, entity, judging.now)
  const judge = new Judge(found, {
    entity,
    active: isOld ? undefined : known,
    lapsed: isOld ? known : undefined,
    judging,
  })
  const verdict = await judge.decide()
  if (verdict.kind !== 'ask') return verdict
  return answered(verdict, await judging.facts.asked?.(placeText(found.path)))
}

/** An answer decides, if it is one of the options. */
export function answered(ask: Asking, answer: Json | undefined): Verdict {
  const text = textOf(answer)
  const chosen = ask.options.find((option) => option.id === text || optionText(option) === text)
  return chosen === undefined ? ask : { kind: 'ok', entity: ask.entity, id: chosen.id, source: 'asked' }
}

class Judge {
  readonly #found: FoundId
  readonly #case: Case

  constructor(found: FoundId, about: Case) {
    this.#found = found
    this.#case = about
  }

  async decide(): Promise<Verdict> {
    const text = textOf(this.#found.given)?.trim()
    if (text === undefined || text === '') return this.#refuse('unknown')
    const exact = await this.#exact(text)
    const places = this.#isOpen('ordinal') ? await ordinalReadings(text, this.#case) : []
    if (exact === undefined) return this.#decideByName(text, places)
    const [place] = places
    // `task-2` is an id and nothing else; `2` may be one, and may be the second.
    const isBoth = place !== undefined && places.length === 1 && place.isNumber && /^#?\d+$/.test(text)
    return isBoth && place.thing.id !== exact.thing.id
      ? this.#idOrPlace(exact, place, text)
      : this.#pass(exact)
  }

  async #decideByName(text: string, places: Awaited<ReturnType<typeof ordinalReadings>>): Promise<Verdict> {
    const isExact = places.length > 0
    const labelled = this.#isOpen('label') ? await labelReadings(text, this.#case, { isExact }) : []
    if (labelled.length === 0 && places.length > 1)
      return this.#refuse('several', { named: distinct(places).map(({ thing }) => thing) })
    const readings = distinct([...labelled, ...(places.length === 1 ? places : [])])
    const [first] = readings
    if (first === undefined) return this.#refuseUnread(text)
    if (readings.length > 1) return this.#ask(labelled.length > 1 ? 'same-label' : 'id-or-place', readings)
    const [place] = places
    if (first.source === 'ordinal' && place?.isNumber) {
      // "project 2", where there is a project with the id 2.
      const other = await this.#exact(String(place.place))
      if (other !== undefined && other.thing.id !== first.thing.id)
        return this.#ask('id-or-place', [other, first])
    }
    const isNoNumber = this.#found.wants === 'number' && !isNumeric(first.thing.id)
    return isNoNumber ? this.#refuse('unknown') : this.#pass(first)
  }

  /** The value as an id, by the first source that vouches for it. */
  async #exact(text: string): Promise<Reading | undefined> {
    const { entity, active, judging } = this.#case
    const { facts, now } = judging
    if (this.#isOpen('state') && active !== undefined && activeIds(active).includes(text))
      return activeReading(active, text)
    const seen = await facts.seen(entity.name, text)
    if (seen !== undefined && !isExpired(seen, entity, now) && this.#isOpen('seen'))
      return readingOf(seen, 'seen')
    const looksRight = this.#isOpen('said') && entity.pattern?.test(text) === true
    return looksRight && saysThing(text, this.#case) ? { thing: { id: text }, source: 'said' } : undefined
  }

  /** A number that is an id and a place. The person may have named one of the two; what is chosen needs no number. */
  async #idOrPlace(exact: Reading, place: Reading, text: string): Promise<Verdict> {
    if (exact.source === 'state' && !saysNumber(text, this.#case)) return this.#pass(exact)
    const asId = await namedByLabel(exact.thing, this.#case)
    const asPlace = await namedByLabel(place.thing, this.#case)
    if (asId.verdict === 'yes' && asPlace.verdict === 'no') return this.#pass(exact)
    if (asPlace.verdict === 'yes' && asId.verdict === 'no') return this.#pass(place)
    return this.#ask('id-or-place', [exact, place])
  }

  /** What is chosen wins, unless the turn speaks of the other one. */
  async #pass({ thing, source, seq }: Reading): Promise<Verdict> {
    const { entity, active, judging } = this.#case
    const isFree = active === undefined || source === 'said' || activeIds(active).includes(thing.id)
    if (!isFree && !(await judging.facts.seenThisTurn(entity.name, thing.id))) {
      const spoken = await speaksOf(thing, this.#case)
      if (spoken.verdict === 'unclear')
        return this.#ask(
          spoken.why,
          [thing, ...spoken.rivals].map((each) => ({ thing: each })),
        )
      if (spoken.verdict === 'no') return this.#refuse('not-active')
    }
    return { kind: 'ok', entity: entity.name, id: thing.id, source, ...(seq === undefined ? {} : { seq }) }
  }

  #ask(why: Asking['why'], readings: readonly { readonly thing: Candidate }[]): Verdict {
    const options = distinct(readings).map(({ thing }) => candidate(thing))
    if (!this.#isOpen('asked')) return this.#refuse('several', { named: options, isUnclear: true })
    return { kind: 'ask', entity: this.#case.entity.name, why, options }
  }

  /** It is nothing that counts now: was it something once, or is it something else? */
  async #refuseUnread(text: string): Promise<Verdict> {
    const { entity, lapsed, judging } = this.#case
    const { facts, entities } = judging
    const wasSeen = this.#isOpen('seen') && (await facts.seen(entity.name, text)) !== undefined
    if (wasSeen || activeIds(lapsed).includes(text)) return this.#refuse('expired')
    const old = { isExact: true, isAnyAge: true }
    const wasCalled = this.#isOpen('label') && (await labelReadings(text, this.#case, old)).length > 0
    if (wasCalled) return this.#refuse('expired')
    for (const other of entities.keys()) {
      if (other === entity.name || this.#found.entities.includes(other)) continue
      const isOther =
        (await facts.seen(other, text)) !== undefined || activeIds(await facts.active(other)).includes(text)
      if (isOther) return this.#refuse('wrong-kind', { kindOf: other })
    }
    return this.#refuse('unknown')
  }

  #refuse(reason: RefusalReason, more: Pick<Refused, 'kindOf' | 'named' | 'isUnclear'> = {}): Refused {
    const { entity, active } = this.#case
    const chosen = active === undefined ? {} : { active: candidate(active) }
    return { kind: 'refused', entity: entity.name, reason, ...chosen, ...more }
  }

  /** A key is not rewritten, so it has to be an id already. */
  #isOpen(source: GroundSource): boolean {
    const { isKey, isLiteral } = this.#found
    if ((isKey || isLiteral) && (source === 'label' || source === 'ordinal')) return false
    // An answer may name another thing, which could not be put in its place.
    if (isLiteral && source === 'asked') return false
    return this.#case.entity.sources.has(source)
  }
}

function activeReading(active: ActiveValue, id: string): Reading {
  const { label, parent, origin } = active
  const thing =
    active.id === id ? candidate({ id, ...(label && { label }), ...(parent && { parent }) }) : { id }
  return { thing, source: 'state', ...(origin === undefined ? {} : { seq: origin.seq }) }
}
