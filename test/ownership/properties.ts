/**
 * Rules R1 to R7 as statements about a journal, its head row and the receipts of processes. `checkState` holds at every
 * moment of every schedule, `checkEnd` once all processes have ended or died and a last, undisturbed driver has run.
 * The witness judges what is visible only while it happens.
 */
import { isDeepStrictEqual } from 'node:util'
import { fold } from '../../src/journal/index.ts'
import { type Entry, type EntryData, isInboxType } from '../../src/protocol/index.ts'
import { type Head, headFrom, sameHead } from '../../src/store/index.ts'
import { outputOf, type View, type Witness } from './witness.ts'

export async function checkState(witness: Witness): Promise<void> {
  const view = await witness.look()
  for (const [rule, message] of [
    ...ownership(view, witness),
    ...inbox(view, witness),
    ...acknowledgements(view, witness),
    ...headRow(view),
    ...givingUp(view, witness),
  ])
    witness.scene.stage.violate(rule, message)
  await checkDue(view, witness)
}

/** R6: a sweep finds the context exactly when it has work and no owner. */
async function checkDue({ head }: View, witness: Witness): Promise<void> {
  const { alone, store, stage } = witness.scene
  if (!alone || head === undefined) return
  const isDue = head.status === 'running' || (head.status !== 'paused' && head.pending > 0)
  const wanted = witness.ownerOf(head) === undefined && isDue
  const found = (await store.due()).length > 0
  if (wanted !== found) stage.violate('R6', `a sweep ${found ? 'finds' : 'misses'} the context`)
}

/** Before the last driver runs: results of survivors are in the journal (R4). */
export async function checkSurvivors(witness: Witness): Promise<void> {
  const { entries } = await witness.look()
  const { stage } = witness.scene
  const told = new Set(
    entries
      .filter(({ type }) => type === 'tool.end' || type === 'late-result')
      .map(({ data }) => data['output']),
  )
  for (const { process, call, heard } of witness.effects) {
    if (heard && stage.status(process) === 'ended' && !told.has(outputOf(process, call.callId)))
      stage.violate('R4', `${process} ended and took the result of ${call.callId} with it`)
  }
}

export async function checkEnd(witness: Witness): Promise<void> {
  const view = await witness.look()
  const { store, key, stage } = witness.scene
  for (const [rule, message] of [...settlements(view), ...turns(view)]) stage.violate(rule, message)
  const { head } = view
  for (const what of happened(view)) witness.seen(what)
  if (head?.pending !== 0) stage.violate('R2', `${head?.pending} inbox entries are never taken`)
  // A lapsed lease of a dead driver on an idle conversation does no harm.
  const owner = witness.ownerOf(head)
  if (owner !== undefined) stage.violate('R1', `${owner} never let go of its lease`)
  if ((await store.rebuild(key)).repaired) stage.violate('R6', 'rebuilding the head row changed it')
}

type Finding = readonly [rule: string, message: string]

/** R1: every driver entry belongs to the epoch of the claim before it, and to the driver that made that claim. */
function* ownership({ entries }: View, { writers }: Witness): Generator<Finding> {
  let claim = { epoch: 0, driver: 'nobody' }
  for (const entry of entries) {
    if (isInboxType(entry.type)) continue
    if (entry.type === 'claim') {
      const { epoch, driver } = entry.data as EntryData['claim']
      if (epoch !== claim.epoch + 1) yield ['R1', `epoch ${epoch} follows epoch ${claim.epoch}`]
      claim = { epoch, driver }
    }
    const writer = writers.get(entry.seq)
    if (writer?.process !== claim.driver || writer.epoch !== claim.epoch)
      yield [
        'R1',
        `${entry.type} at ${entry.seq} is by ${writer?.process} in epoch ${writer?.epoch}, but ${claim.driver} holds ${claim.epoch}`,
      ]
  }
}

/** R2: taken at most once, effective only through the taker, never lost once acknowledged. */
function* inbox({ entries }: View, { heard }: Witness): Generator<Finding> {
  const at = new Map(entries.map((entry) => [entry.seq, entry]))
  const taken = new Set<number>()
  for (const entry of entries) {
    const takes = (entry.takes ?? []).map((seq) => at.get(seq))
    for (const seq of entry.takes ?? []) {
      if (taken.has(seq)) yield ['R2', `inbox entry ${seq} is taken a second time, at ${entry.seq}`]
      if (seq >= entry.seq || at.get(seq)?.key === undefined)
        yield ['R2', `${entry.seq} takes ${seq}, which is no inbox entry`]
      taken.add(seq)
    }
    const why = withoutTaking(entry, takes)
    if (why !== undefined) yield ['R2', `${entry.type} at ${entry.seq} ${why}`]
  }
  const posted = entries.flatMap(({ key }) => key ?? [])
  if (new Set(posted).size < posted.length) yield ['R2', 'an inbox key is in the journal twice']
  for (const { process, request } of heard)
    for (const { key } of request.inbox ?? [])
      if (!posted.includes(key)) yield ['R2', `${process} was told that ${key} is posted, and it is not`]
}

function withoutTaking(entry: Entry, takes: readonly (Entry | undefined)[]): string | undefined {
  const take = takes.find((taken) => taken !== undefined)
  if (entry.type === 'turn.start') return take?.type === 'input' ? undefined : 'takes no input'
  if (entry.type === 'turn.end' && entry.data['outcome'] === 'cancelled')
    return take?.type === 'cancel' && take.data['turn'] === entry.turn
      ? undefined
      : 'takes no cancel of its turn'
  if (entry.type === 'take') return take === undefined ? 'takes nothing' : undefined
  if (entry.type === 'tool.late' || (entry.type === 'tool.end' && entry.takes !== undefined))
    return take?.type === 'late-result' && take.data['callId'] === entry.data['callId']
      ? undefined
      : 'takes no late result of its call'
  return undefined
}

/** R5: positions without gaps, in order of time, and equal to every receipt. */
function* acknowledgements({ entries }: View, { heard }: Witness): Generator<Finding> {
  for (const [index, { seq, at }] of entries.entries()) {
    if (seq !== index + 1) yield ['R5', `position ${index + 1} holds entry ${seq}`]
    if (at < (entries[index - 1]?.at ?? 0)) yield ['R5', `entry ${seq} is older than the one before it`]
  }
  for (const { process, request, receipt } of heard) {
    const stored = entries.slice(receipt.first - 1, receipt.last)
    if (!isDeepStrictEqual(stored, receipt.entries))
      yield [
        'R5',
        `${process} was told that ${request.id} is at ${receipt.first}-${receipt.last}, and it is not`,
      ]
  }
}

/** R6: the head row equals the journal; by the store's own rebuild, and by counting. */
function* headRow({ head, entries }: View): Generator<Finding> {
  if (head === undefined) {
    if (entries.length > 0) yield ['R6', 'there are entries and no head row']
    return
  }
  const rebuilt = headFrom(head, undefined, entries)
  if (rebuilt === undefined || !sameHead(rebuilt, head))
    yield ['R6', `the head row at ${head.seq} is not what the journal says at ${rebuilt?.seq}`]
  const { seq, turn, epoch, claims, open, outcome } = fold(entries)
  const folded = [seq, turn, epoch, claims, open !== undefined, outcome]
  const kept = [head.seq, head.turn, head.epoch, head.claims, isOpen(head), head.outcome]
  if (!isDeepStrictEqual(folded, kept))
    yield ['R6', `the head row says ${JSON.stringify(kept)}, the fold ${JSON.stringify(folded)}`]
  const last = (test: (entry: Entry) => boolean) => entries.findLastIndex(test)
  const untaken =
    entries.filter(({ key }) => key !== undefined).length - entries.flatMap(({ takes = [] }) => takes).length
  const claimed = last(({ type }) => type === 'claim')
  const released = last(({ type }) => type === 'turn.end' || type === 'release')
  const running = last(({ type }) => type === 'turn.start') > last(({ type }) => type === 'turn.end')
  const counted = [
    entries.length,
    untaken,
    entries.filter(({ type }) => type === 'claim').length,
    claimed > released,
    running,
  ]
  const said = [head.seq, head.pending, head.epoch, head.lease !== undefined, isOpen(head)]
  if (JSON.stringify(counted) !== JSON.stringify(said))
    yield ['R6', `the head row says ${JSON.stringify(said)}, counting says ${JSON.stringify(counted)}`]
}

/** A paused turn is open, and no sweep finds it. */
function isOpen({ status }: Head): boolean {
  return status === 'running' || status === 'paused'
}

/** R7: a claim after too many without progress ends the turn and does nothing else. */
function* givingUp({ entries }: View, { scene: { maxClaims } }: Witness): Generator<Finding> {
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== 'claim' || entry.turn === 0) continue
    const { attempt } = entry.data as EntryData['claim']
    if (attempt <= maxClaims) continue
    const next = entries
      .slice(index + 1)
      .find(({ type }) => ['model.start', 'tool.start', 'turn.end', 'claim'].includes(type))
    // The driver may have died before it could end the turn.
    if (next === undefined || next.type === 'claim') continue
    if (next.type !== 'turn.end' || next.data['outcome'] !== 'failed')
      yield ['R7', `claim number ${attempt} without progress leads to ${next.type}, not to a failed turn`]
  }
}

/** R4: each requested call is settled exactly once. */
function* settlements({ entries }: View): Generator<Finding> {
  const ends = entries.filter(({ type }) => type === 'tool.end').map(({ data }) => data['callId'])
  const asked = entries
    .filter(({ type }) => type === 'model.end')
    .flatMap(({ data }) => (data as EntryData['model.end']).content)
  for (const part of asked) {
    const count = part.type === 'tool-call' ? ends.filter((callId) => callId === part.callId).length : 1
    if (count !== 1 && part.type === 'tool-call')
      yield ['R4', `call ${part.callId} is settled ${count} times`]
  }
}

/** Each input gets one turn, each turn one end: nothing is lost, repeated or left open. */
function* turns({ entries }: View): Generator<Finding> {
  const of = (wanted: string) => entries.filter(({ type }) => type === wanted)
  if (of('turn.start').length !== of('input').length)
    yield ['R2', `${of('input').length} inputs led to ${of('turn.start').length} turns`]
  for (const { turn } of of('turn.start')) {
    const ends = of('turn.end').filter((end) => end.turn === turn).length
    if (ends !== 1) yield ['R6', `turn ${turn} has ${ends} ends`]
  }
}

/** The facts that a finished journal shows. */
function* happened({ entries }: View): Generator<string> {
  for (const { type, data, takes } of entries) {
    if (type === 'turn.end') yield `outcome ${data['outcome'] as string}`
    if (type === 'tool.end') yield `settled ${data['status'] as string}${takes ? ' by a late result' : ''}`
    if (type === 'tool.late') yield 'a late result after an unknown one'
    if (type === 'take') yield 'an inbox entry came to nothing'
    if (type === 'claim' && data['epoch'] !== 1) yield 'another epoch'
  }
}
