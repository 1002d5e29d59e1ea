/**
 * Judges one id: it is active, was shown, was written by the person, or is a label or a list position of one thing. A
 * selection of a person or a program wins: another thing passes only if it was mentioned since. Pure, except for reading
 * facts.
 */
import { type ActiveValue, defined, type Ground, type GroundSource, type Json } from '../protocol/index.ts'
import { undeclared } from './entity.ts'
import {
  type AskedAnswer,
  activeIds,
  type Chosen,
  type ChosenAt,
  chosenAt,
  isExpired,
  isSince,
  type JudgeContext,
} from './facts.ts'
import { type FoundId, isNumeric, placeText } from './marks.ts'
import {
  type Candidate,
  type Case,
  candidate,
  chosenOption,
  distinct,
  isSameId,
  labelReadings,
  ordinalReadings,
  type PlaceReading,
  type Reading,
  readingOf,
} from './readings.ts'
import {
  isOtherMeant,
  namedByLabel,
  type OtherParent,
  otherParent,
  pickedBefore,
  saysNumber,
  speaksOf,
  spokenSince,
  writtenBefore,
  writtenNow,
} from './references.ts'
import { textOf } from './rows.ts'

/** Why an id is refused. `wrong-parent`: a part of another thing. `several`: one was expected and more were named. */
export type RefusalReason = 'unknown' | 'expired' | 'not-active' | 'wrong-kind' | 'wrong-parent' | 'several'

export type Verdict = Passed | AskVerdict | Refused

export interface Passed {
  readonly kind: 'ok'
  readonly entity: string
  readonly id: string
  readonly source: GroundSource
  readonly seq?: number
  /** Set if it is known in a conversation above. */
  readonly above?: NonNullable<Ground['above']>
}

/** The person must choose; `why` names the ambiguity. */
export interface AskVerdict {
  readonly kind: 'ask'
  readonly entity: string
  readonly why: 'same-label' | 'id-or-place' | 'two-lists'
  readonly options: readonly Candidate[]
}

/** A question about one path of a call. The answer is one of the ids. */
export interface AskedId extends AskVerdict {
  readonly path: string
  readonly given: Json
}

export interface Refused {
  readonly kind: 'refused'
  readonly entity: string
  readonly reason: RefusalReason
  /** The active thing, which may be the intended one. */
  readonly active?: Candidate
  /** The entity that the id belongs to. */
  readonly kindOf?: string
  /** Its actual parent, and the expected one. */
  readonly parent?: OtherParent
  /** The named things, where one was expected. */
  readonly named?: readonly Candidate[]
  /** One of these is meant, and only the person knows which. */
  readonly isUnclear?: true
}

/** The decision about one entity. Ignores its policy. */
export async function judgeId(found: FoundId, name: string, judging: JudgeContext): Promise<Verdict> {
  const entity = judging.entities.get(name) ?? undeclared(name)
  const known = await judging.facts.active(name)
  const isOld = known !== undefined && isExpired(known, entity, judging.now)
  const judge = new Judge(found, {
    entity,
    active: isOld ? undefined : known,
    lapsed: isOld ? known : undefined,
    judging,
  })
  const { facts } = judging
  const answer = facts.asked && (await facts.asked(placeText(found.path)))
  const verdict = await judge.decide()
  if (verdict.kind === 'ask') return answered(verdict, answer)
  // The ambiguity may come from words of the turn that asked: the answer given then still holds.
  return answer === undefined ? verdict : ((await judge.decideByAnswer(answer)) ?? verdict)
}

/** A person's answer decides, if it is one of the options. A program's answer leaves it ambiguous. */
export function answered(ask: AskVerdict, answer: AskedAnswer | undefined): Verdict {
  if (answer?.isPersons === false) return unclear(ask.entity, ask.options)
  const chosen = chosenOption(ask.options, textOf(answer?.value))
  return chosen === undefined ? ask : { kind: 'ok', entity: ask.entity, id: chosen.id, source: 'asked' }
}

function unclear(entity: string, named: readonly Candidate[]): Refused {
  return { kind: 'refused', entity, reason: 'several', named, isUnclear: true }
}

class Judge {
  readonly #found: FoundId
  readonly #case: Case

  constructor(found: FoundId, judgeCase: Case) {
    this.#found = found
    this.#case = judgeCase
  }

  async decide(): Promise<Verdict> {
    const text = textOf(this.#found.given)?.trim()
    if (text === undefined || text === '') return this.#refuse('unknown')
    const [exact, ...others] = await this.#exact(text)
    if (exact !== undefined && others.length > 0) return this.#askOnce([exact, ...others])
    // `task-2` can only be an id; `2` may be an id or the second position.
    if (exact !== undefined && !/^#?\d+$/.test(text)) return this.#pass(exact)
    const places = this.#isOpen('ordinal') ? await this.#byPosition(text) : []
    if (exact === undefined) return this.#decideByName(text, places)
    const [place] = places
    if (place?.rival !== undefined) return this.#ask('id-or-place', [exact, place, place.rival])
    const isBoth = place !== undefined && places.length === 1 && place.isNumber
    return isBoth && place.thing.id !== exact.thing.id
      ? this.#idOrPlace(exact, place, text)
      : this.#pass(exact)
  }

  /** Decides by the answer to a question about this path, whose options were known things. */
  async decideByAnswer({ value, isPersons }: AskedAnswer): Promise<Verdict | undefined> {
    const { entity, judging } = this.#case
    if (!this.#isOpen('asked')) return undefined
    if (!isPersons) return unclear(entity.name, [])
    const text = textOf(value) ?? ''
    for (const id of [text, text.slice(text.lastIndexOf('(') + 1, -1)]) {
      const seen = await judging.facts.seen(entity.name, id)
      if (seen !== undefined && !isExpired(seen, entity, judging.now))
        return { kind: 'ok', entity: entity.name, id, source: 'asked' }
    }
    return undefined
  }

  async #decideByName(text: string, places: readonly PlaceReading[]): Promise<Verdict> {
    const isExact = places.length > 0
    const labelled = await this.#byLabel(text, isExact)
    if (labelled.length === 0 && places.length > 1)
      return this.#refuse('several', { named: distinct(places).map(({ thing }) => thing) })
    const readings = distinct([...labelled, ...(places.length === 1 ? places : [])])
    const [first] = readings
    if (first === undefined) return this.#refuseUnread(text)
    const [place] = places
    if (place?.rival !== undefined) return this.#ask('two-lists', [...readings, place.rival])
    if (labelled.length > 1) return this.#askOnce(readings)
    if (readings.length > 1) return this.#ask('id-or-place', readings)
    if (first.source === 'ordinal' && place?.isNumber) {
      // "project 2", where there is a project with the id 2.
      const [other] = await this.#exact(String(place.place))
      if (other !== undefined && other.thing.id !== first.thing.id)
        return this.#ask('id-or-place', [other, first])
    }
    const isNoNumber = this.#found.wants === 'number' && !isNumeric(first.thing.id)
    return isNoNumber ? this.#refuse('unknown') : this.#pass(first)
  }

  /** Of a position in two lists, the thing that belongs to the expected parent, if only one does. */
  async #byPosition(text: string): Promise<readonly PlaceReading[]> {
    const places = await ordinalReadings(text, this.#case)
    return Promise.all(
      places.map(async ({ rival, ...place }) => {
        if (rival === undefined) return place
        const isOther = (await otherParent(place.thing, this.#case)) !== undefined
        const isRivalOther = (await otherParent(rival.thing, this.#case)) !== undefined
        if (isOther === isRivalOther) return { ...place, rival }
        return isOther ? { ...place, ...rival } : place
      }),
    )
  }

  /** Of several things with one label, those that belong to the expected parent. */
  async #byLabel(text: string, isExact: boolean): Promise<readonly Reading[]> {
    const all = this.#isOpen('label') ? await labelReadings(text, this.#case, { isExact }) : []
    if (all.length < 2 || this.#case.entity.parent === undefined) return all
    const others = await Promise.all(all.map(({ thing }) => otherParent(thing, this.#case)))
    const fitting = all.filter((_, at) => others[at] === undefined)
    return fitting.length > 0 ? fitting : all
  }

  /** The value as an id, by the first source that vouches for it; several if it has several spellings. */
  async #exact(text: string): Promise<readonly Reading[]> {
    const { entity, active, judging } = this.#case
    const { facts, now } = judging
    const chosen = activeIds(active).find((id) => isSameId(entity, id, text))
    if (this.#isOpen('state') && active !== undefined && chosen !== undefined)
      return [activeReading(active, chosen)]
    if (this.#isOpen('seen')) {
      const seen = await facts.seen(entity.name, text)
      if (seen !== undefined && !isExpired(seen, entity, now)) return [readingOf(seen, 'seen')]
      const alike = entity.normal && (await facts.alike(entity.name, entity.normal(text)))
      const fresh = alike?.filter((one) => !isExpired(one, entity, now)) ?? []
      if (fresh.length > 0) return distinct(fresh.map((one) => readingOf(one, 'seen')))
    }
    return this.#isOpen('said') ? this.#written(text) : []
  }

  /** If the person wrote it in another form, the tool gets the form that fits the pattern. */
  async #written(text: string): Promise<readonly Reading[]> {
    const { pattern } = this.#case.entity
    if (pattern === undefined) return []
    const readingAs = (written: string, more: Partial<Reading>): readonly Reading[] => {
      const id = [text, written].find((form) => pattern.test(form))
      return id === undefined ? [] : [{ thing: { id }, source: 'said', ...more }]
    }
    const now = writtenNow(text, this.#case)
    if (now !== undefined) return readingAs(now, { isSaidNow: true })
    const before = await writtenBefore(text, this.#case, { isOwn: true })
    if (before === undefined) return []
    const { at, seq } = before.said
    return readingAs(before.written, { at, ...defined({ seq }) })
  }

  /**
   * A number that is both an id and a position. The person may have named one of the two; the active thing needs no number.
   */
  async #idOrPlace(exact: Reading, place: Reading, text: string): Promise<Verdict> {
    if (exact.source === 'state' && !(await saysNumber(text, this.#case))) return this.#pass(exact)
    const asId = await namedByLabel(exact.thing, this.#case)
    const asPlace = await namedByLabel(place.thing, this.#case)
    if (asId.verdict === 'yes' && asPlace.verdict === 'no') return this.#pass(exact)
    if (asPlace.verdict === 'yes' && asId.verdict === 'no') return this.#pass(place)
    return this.#ask('id-or-place', [exact, place])
  }

  async #pass(reading: Reading): Promise<Verdict> {
    const { entity, active } = this.#case
    const parent = entity.parent && (await this.#wrongParent(reading))
    if (parent !== undefined) return this.#refuse('wrong-parent', { parent })
    const objection = active && (await this.#notActive(reading, active))
    if (objection !== undefined) return objection
    const { thing, source, seq } = reading
    return {
      kind: 'ok',
      entity: entity.name,
      id: thing.id,
      source,
      ...defined({ seq }),
    }
  }

  /** A part must belong to the parent beside it and, unless it is mentioned, to the active parent. */
  async #wrongParent(reading: Reading): Promise<OtherParent | undefined> {
    const other = await otherParent(reading.thing, this.#case)
    if (other?.since === undefined) return other
    const isFree = reading.source === 'state' || (await this.#isShownSince(reading, other.since))
    if (isFree || (await isOtherMeant(reading.thing, other, this.#case))) return undefined
    const before = await writtenBefore(reading.thing.id, this.#case)
    return before !== undefined && isSince(before.said, other.since) ? undefined : other
  }

  /** A selection of a person or a program wins, unless the person or a tool has named the other thing since. */
  async #notActive(reading: Reading, active: Chosen): Promise<Verdict | undefined> {
    const { thing, isSaidNow } = reading
    if (active.by === 'tool' || isSaidNow) return undefined
    if (activeIds(active).includes(thing.id) || (await this.#isShownSince(reading, chosenAt(active))))
      return undefined
    const mention = await speaksOf(thing, this.#case)
    if (mention.verdict === 'unclear') {
      const options = [thing, ...mention.rivals].map((each) => ({ thing: each }))
      const picked = await this.#picked(options)
      return picked?.id === thing.id ? undefined : this.#ask(mention.why, options)
    }
    const isSpoken = mention.verdict === 'yes' || (await spokenSince(thing, chosenAt(active), this.#case))
    return isSpoken ? undefined : this.#refuse('not-active')
  }

  async #isShownSince({ thing }: Reading, since: ChosenAt): Promise<boolean> {
    const { entity, judging } = this.#case
    if (await judging.facts.seenThisTurn(entity.name, thing.id)) return true
    const seen = await judging.facts.seen(entity.name, thing.id)
    return seen !== undefined && isSince(seen, since)
  }

  /** Asks which of several things with one label is meant, unless the person has answered before. */
  async #askOnce(readings: readonly Reading[]): Promise<Verdict> {
    return (await this.#picked(readings)) ?? this.#ask('same-label', readings)
  }

  async #picked(readings: readonly { readonly thing: Candidate }[]): Promise<Passed | undefined> {
    const options = distinct(readings).map(({ thing }) => candidate(thing))
    const picked = this.#isOpen('asked') ? await pickedBefore(options, this.#case) : undefined
    if (picked === undefined) return undefined
    const { thing, seq } = picked
    const entity = this.#case.entity.name
    return { kind: 'ok', entity, id: thing.id, source: 'asked', ...defined({ seq }) }
  }

  #ask(why: AskVerdict['why'], readings: readonly { readonly thing: Candidate }[]): Verdict {
    const options = distinct(readings).map(({ thing }) => candidate(thing))
    if (!this.#isOpen('asked')) return this.#refuse('several', { named: options, isUnclear: true })
    return { kind: 'ask', entity: this.#case.entity.name, why, options }
  }

  /** A value that means nothing now: checks whether it has expired or belongs to another entity. */
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

  #refuse(reason: RefusalReason, more: Omit<Partial<Refused>, 'kind' | 'entity' | 'reason'> = {}): Refused {
    const { entity, active } = this.#case
    const chosen = active === undefined ? {} : { active: candidate(active) }
    return { kind: 'refused', entity: entity.name, reason, ...chosen, ...more }
  }

  /** A key is not rewritten, so it must be an id already. */
  #isOpen(source: GroundSource): boolean {
    const { isKey, isLiteral } = this.#found
    if ((isKey || isLiteral) && (source === 'label' || source === 'ordinal')) return false
    // An answer may name another thing, which could not replace a literal.
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
