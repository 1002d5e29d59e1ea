/**
 * The explored settings: a fast scope for the tests, a full one for `npm run explore`, and the broken variants, each
 * with the rule that must catch it. Scopes are small on purpose, and explored completely. Long settings are left to
 * `npm run explore -- --all`; a smaller one of the same kind is explored in any case.
 */
import {
  fenceStripped,
  headLeftBehind,
  idsForgotten,
  leaseIgnored,
  newestEpochTold,
  positionExpected,
  postsDropped,
  takenTwice,
} from './broken-stores.ts'
import { BROKEN_TABLES } from './broken-tables.ts'
import type { Flaw } from './reference-driver.ts'
import type { Setting } from './world.ts'

type Case = Omit<Setting, 'name'>

const lapse = { part: 1, times: 1 }
/** One makes an acknowledgement too old to start an effect, two let the lease lapse. */
const halves = { part: 0.6, times: 2 }

export const FAST: readonly Setting[] = named({
  'two drivers, 1 crash, 1 lapse': { drivers: 2, faults: { crash: 1 }, ticks: lapse, reads: 'joined' },
  'two drivers, 1 ambiguity': { drivers: 2, faults: { ambiguous: 1 }, reads: 'joined' },
  'two drivers, a safe call, 1 crash': { drivers: 2, tools: ['look'], faults: { crash: 1 } },
  'one driver, cancel, 1 crash': { drivers: 1, traffic: ['cancel'], faults: { crash: 1 }, reads: 'joined' },
  'one driver, cancel and second input': { drivers: 1, traffic: ['cancel', 'input'] },
  'two drivers with heartbeats, 2 part lapses': { drivers: 2, heartbeats: 1, ticks: halves, reads: 'joined' },
  'one driver, the clock set back 2 leases, 1 crash': { drivers: 1, setBack: 2, faults: { crash: 1 } },
  'three drivers, a poisoned turn': { drivers: 3, poison: true },
})

export const FAST_SQLITE: readonly Setting[] = named({
  'one driver, 1 crash, 1 ambiguity': { drivers: 1, faults: { crash: 1, ambiguous: 1 } },
  'two drivers': { drivers: 2 },
})

/** Small enough to be explored without pruning. */
export const TINY: readonly Setting[] = named({
  'one driver with a heartbeat, cancel, 1 late answer': {
    drivers: 1,
    heartbeats: 1,
    traffic: ['cancel'],
    faults: { unheard: 1 },
  },
  'one driver, 1 crash, 1 stray append': { drivers: 1, faults: { crash: 1, stray: 1 } },
  'two drivers, 1 crash': { drivers: 2, faults: { crash: 1 }, reads: 'joined' },
})

/** Smaller ones of the same kinds as long settings. */
const SMALL: readonly Setting[] = named({
  'three drivers, cancel': { drivers: 3, traffic: ['cancel'] },
  'one driver, two calls at once, cancel, 1 crash': {
    drivers: 1,
    tools: ['pay', 'look'],
    traffic: ['cancel'],
    faults: { crash: 1 },
  },
  'two drivers, 1 late answer, 1 part lapse': {
    drivers: 2,
    faults: { unheard: 1 },
    ticks: { part: 0.6, times: 1 },
  },
  'two drivers, 1 stray append': { drivers: 2, faults: { stray: 1 } },
  'two drivers, cancel and second input': { drivers: 2, traffic: ['cancel', 'input'] },
  'two drivers, second input, 1 crash': { drivers: 2, traffic: ['input'], faults: { crash: 1 } },
}).map(joined)

/** Each takes minutes with one of the drivers. */
const LONG: readonly string[] = [
  'two drivers, 2 crashes, 1 lapse, 1 ambiguity',
  'three drivers, cancel, 1 crash',
  'three drivers, cancel, 1 lapse',
  'two drivers, cancel and second input, 1 lapse',
  'two drivers, second input, 1 crash, 1 lapse',
  'two drivers, two calls at once, cancel, 1 crash, 1 lapse',
  'one driver, cancel and second input, 1 crash, 1 ambiguity',
  'two drivers, 1 crash, 1 late answer, 2 part lapses',
  'two drivers with heartbeats, cancel, 2 part lapses',
  'two drivers, 1 crash, 1 stray append, 1 lapse',
  'two drivers, second input, nothing goes wrong',
  'one driver with heartbeats, second input, 2 part lapses',
  'one driver with heartbeats, cancel and second input, 1 part lapse',
]

export function isLong({ name }: Setting): boolean {
  return LONG.includes(name)
}

const LARGER: readonly Setting[] = named({
  'two drivers, 1 lapse': { drivers: 2, ticks: lapse },
  'one driver, cancel, 1 crash, 1 ambiguity': {
    drivers: 1,
    traffic: ['cancel'],
    faults: { crash: 1, ambiguous: 1 },
  },
  'two drivers, 1 ambiguity, 1 lapse': {
    drivers: 2,
    faults: { ambiguous: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, 2 crashes, 1 lapse, 1 ambiguity': {
    drivers: 2,
    faults: { crash: 2, ambiguous: 1 },
    ticks: lapse,
  },
  'three drivers, cancel, 1 crash': {
    drivers: 3,
    traffic: ['cancel'],
    faults: { crash: 1 },
    reads: 'joined',
  },
  'three drivers, cancel, 1 lapse': {
    drivers: 3,
    traffic: ['cancel'],
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, cancel and second input, 1 lapse': {
    drivers: 2,
    traffic: ['cancel', 'input'],
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, second input, 1 crash, 1 lapse': {
    drivers: 2,
    traffic: ['input'],
    faults: { crash: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, two calls at once, cancel, 1 crash, 1 lapse': {
    drivers: 2,
    tools: ['pay', 'look'],
    traffic: ['cancel'],
    faults: { crash: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'one driver, cancel and second input, 1 crash, 1 ambiguity': {
    drivers: 1,
    traffic: ['cancel', 'input'],
    faults: { crash: 1, ambiguous: 1 },
  },
  'two drivers, 1 crash, 1 late answer, 2 part lapses': {
    drivers: 2,
    faults: { crash: 1, unheard: 1 },
    ticks: halves,
    reads: 'joined',
  },
  'two drivers with heartbeats, cancel, 2 part lapses': {
    drivers: 2,
    heartbeats: 1,
    traffic: ['cancel'],
    ticks: halves,
    reads: 'joined',
  },
  'two drivers, 1 crash, 1 stray append, 1 lapse': {
    drivers: 2,
    faults: { crash: 1, stray: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, a safe call, 1 crash, 1 lapse': {
    drivers: 2,
    tools: ['look'],
    faults: { crash: 1 },
    ticks: lapse,
  },
  'two drivers, a safe call, 1 ambiguity, 1 lapse': {
    drivers: 2,
    tools: ['look'],
    faults: { ambiguous: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers that come back, 2 lapses': {
    drivers: 2,
    returns: true,
    ticks: { part: 1, times: 2 },
    reads: 'joined',
  },
  'two drivers on two machines, 2 crashes, 1 lapse': {
    drivers: 2,
    blind: true,
    faults: { crash: 2 },
    ticks: lapse,
  },
  'two drivers, the clock set back 2 leases, 1 crash, 1 lapse': {
    drivers: 2,
    setBack: 2,
    faults: { crash: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, the clock set back half a lease, 1 crash, 1 lapse': {
    drivers: 2,
    setBack: 0.5,
    faults: { crash: 1 },
    ticks: lapse,
    reads: 'joined',
  },
})

export const FULL: readonly Setting[] = [...FAST, ...SMALL, ...LARGER]

export const FULL_SQLITE: readonly Setting[] = named({
  'two drivers, 1 ambiguity, 1 lapse': {
    drivers: 2,
    faults: { ambiguous: 1 },
    ticks: lapse,
    reads: 'joined',
  },
  'two drivers, 1 crash, 1 lapse': { drivers: 2, faults: { crash: 1 }, ticks: lapse },
  'one driver, cancel, 1 crash, 1 ambiguity': {
    drivers: 1,
    traffic: ['cancel'],
    faults: { crash: 1, ambiguous: 1 },
  },
  'two drivers with heartbeats, 2 part lapses': { drivers: 2, heartbeats: 1, ticks: halves, reads: 'joined' },
})

/** Settings for a driver that loads in several reads and has a heartbeat timer. */
const HELD: readonly Setting[] = named({
  'two drivers, second input, nothing goes wrong': { drivers: 2, traffic: ['input'] },
  'two drivers, 1 crash': { drivers: 2, faults: { crash: 1 } },
  'one driver with heartbeats, second input, 2 part lapses': {
    drivers: 1,
    heartbeats: 1,
    traffic: ['input'],
    ticks: halves,
  },
  'one driver with heartbeats, cancel and second input, 1 part lapse': {
    drivers: 1,
    heartbeats: 1,
    traffic: ['cancel', 'input'],
    ticks: { part: 0.6, times: 1 },
  },
})

/** States and transitions that only the real driver has. */
const FAST_STATES: readonly Setting[] = named({
  'one driver that holds back, heartbeats, 1 part lapse': {
    drivers: 1,
    autoSave: false,
    heartbeats: 1,
    ticks: { part: 0.6, times: 1 },
  },
  'two drivers that hold back, 1 lapse': { drivers: 2, autoSave: false, ticks: lapse },
  'one driver that holds back, cancel, 2 refused appends': {
    drivers: 1,
    autoSave: false,
    traffic: ['cancel'],
    refuses: ['model.end', 'turn.end'],
  },
  'one driver, a pause, a refused release': { drivers: 1, asks: 'pause', refuses: ['release'] },
  'one driver, a pause, second input': { drivers: 1, asks: 'pause', traffic: ['input'] },
  'one driver, a note, a refused result and release': {
    drivers: 1,
    asks: 'note',
    refuses: ['tool.end', 'release'],
  },
  'two drivers, a refused reply and release, 1 lapse': {
    drivers: 2,
    tools: [],
    refuses: ['model.end', 'release'],
    ticks: lapse,
  },
}).map(joined)

const FULL_STATES: readonly Setting[] = named({
  'two drivers that hold back, heartbeats, 1 lapse': {
    drivers: 2,
    autoSave: false,
    heartbeats: 1,
    ticks: lapse,
  },
  'two drivers that hold back, second input, 1 lapse': {
    drivers: 2,
    autoSave: false,
    traffic: ['input'],
    ticks: lapse,
  },
  'two drivers that hold back, a pause, 1 crash': {
    drivers: 2,
    autoSave: false,
    asks: 'pause',
    faults: { crash: 1 },
  },
  'one driver, a release, second input': { drivers: 1, asks: 'release', traffic: ['input'] },
  'two drivers, a note': { drivers: 2, asks: 'note' },
  'two drivers, a pause, 1 lapse': { drivers: 2, asks: 'pause', ticks: lapse },
  'two drivers, a release, a refused release, 1 lapse': {
    drivers: 2,
    asks: 'release',
    refuses: ['release'],
    ticks: lapse,
  },
  'two drivers, a note, 1 lapse': { drivers: 2, asks: 'note', ticks: lapse },
  'two drivers, a note, 1 ambiguity': { drivers: 2, asks: 'note', faults: { ambiguous: 1 } },
  'two drivers, a refused result and release, 1 lapse': {
    drivers: 2,
    refuses: ['tool.end', 'release'],
    ticks: lapse,
  },
  'two drivers, a refused result and release, heartbeats, 1 lapse': {
    drivers: 2,
    heartbeats: 1,
    refuses: ['tool.end', 'release'],
    ticks: lapse,
  },
  'two drivers with heartbeats, an effect under way, 1 lapse': { drivers: 2, heartbeats: 1, ticks: lapse },
}).map(joined)

/** The real driver takes more steps, so its searches take longer. */
const LONG_REAL = ['two drivers, 1 crash, 1 lapse', 'two drivers with heartbeats, 2 part lapses']

export const FAST_REAL: readonly Setting[] = [
  ...FAST.map(joined).filter(({ name }) => !LONG_REAL.includes(name)),
  ...named({
    'two drivers with heartbeats, 1 part lapse': {
      drivers: 2,
      heartbeats: 1,
      ticks: { part: 0.6, times: 1 },
      reads: 'joined',
    },
    'one driver with heartbeats, second input, 1 part lapse': {
      drivers: 1,
      heartbeats: 1,
      traffic: ['input'],
      ticks: { part: 0.6, times: 1 },
      reads: 'joined',
    },
    'two drivers': { drivers: 2 },
  }),
  ...FAST_STATES,
]

export const FAST_SQLITE_REAL: readonly Setting[] = FAST_SQLITE.map(joined)
export const TINY_REAL: readonly Setting[] = TINY.map(joined).filter(({ drivers }) => drivers === 1)
export const FULL_REAL: readonly Setting[] = [
  ...FAST_REAL,
  ...FULL.map(joined).filter(({ name }) => FAST_REAL.every((fast) => fast.name !== name)),
  ...HELD,
  ...FULL_STATES,
]
export const FULL_SQLITE_REAL: readonly Setting[] = FULL_SQLITE.map(joined)

/** `rule` is broken. The search reports it under that name or, of a driver that hangs or loops, as `sign`. */
export interface Variant {
  readonly rule: string
  readonly sign?: string
  readonly setting: Setting
}

export const BROKEN: readonly Variant[] = [
  spoilt('R1', 'the fence is stripped', { drivers: 2, ticks: lapse, spoil: () => fenceStripped }),
  spoilt('R1', 'a claim ignores a live lease', { drivers: 2, spoil: () => leaseIgnored }),
  spoilt('R1', 'a repetition is told the newest epoch', {
    drivers: 2,
    faults: { ambiguous: 1 },
    ticks: lapse,
    spoil: () => newestEpochTold,
  }),
  spoilt('R2', "a driver's append expects a position", {
    drivers: 1,
    traffic: ['input'],
    spoil: () => positionExpected,
  }),
  spoilt('R2', 'posts are acknowledged and dropped', {
    drivers: 1,
    traffic: ['cancel'],
    spoil: () => postsDropped,
  }),
  spoilt('R2', 'an inbox entry can be taken twice', { drivers: 2, spoil: takenTwice }),
  flawed('R2', 'acts on an input without taking it', { drivers: 1 }),
  flawed('R2', 'cancels without taking the cancel', { drivers: 1, traffic: ['cancel'] }),
  flawed('R3', 'starts the effect before its intent is durable', { drivers: 1 }),
  flawed('R4', 'runs a started never-call again', { drivers: 2, faults: { crash: 1 } }),
  flawed('R4', 'ignores the age of its acknowledgement', { drivers: 2, ticks: lapse }),
  flawed('R4', 'counts the age from when it heard', { drivers: 2, ticks: lapse }),
  flawed('R4', 'starts effects although fenced', { drivers: 2, ticks: lapse }),
  flawed('R4', 'drops late results', { drivers: 2, ticks: lapse, reads: 'joined' }),
  flawed('R5', 'retries under a new id', { drivers: 1, faults: { ambiguous: 1 } }),
  spoilt('R5', 'ids are forgotten', { drivers: 1, faults: { ambiguous: 1 }, spoil: idsForgotten }),
  spoilt('R6', 'the head row is left behind', { drivers: 1, spoil: headLeftBehind }),
  flawed('R7', 'never gives up', { drivers: 2, poison: true }),
]

/** Only a driver that acts on an old read can take an entry twice, and only the real one reads more than once. */
const BROKEN_STORES_REAL: readonly Variant[] = BROKEN.filter(
  ({ setting }) => setting.flaws === undefined,
).map(({ rule, setting }) => ({ rule, setting: setting.spoil === takenTwice ? setting : joined(setting) }))

export const BROKEN_REAL: readonly Variant[] = [...BROKEN_STORES_REAL, ...BROKEN_TABLES]

/** The others are found after hundreds of states. */
export const FAST_BROKEN_STORES_REAL: readonly Variant[] = BROKEN_STORES_REAL.filter(
  ({ setting: { spoil } }) =>
    spoil !== takenTwice && spoil?.() !== newestEpochTold && spoil?.() !== fenceStripped,
)

/** With one driver every search takes milliseconds. */
export const FAST_BROKEN_TABLES: readonly Variant[] = BROKEN_TABLES.filter(
  ({ setting }) => setting.drivers === 1,
)

/** The real driver loads with several reads, and claims on the condition that nothing has moved since the first. */
function joined(setting: Setting): Setting {
  return { ...setting, reads: 'joined' }
}

function named(cases: Readonly<Record<string, Case>>): Setting[] {
  return Object.entries(cases).map(([name, setting]) => ({ name, ...setting }))
}

function spoilt(rule: string, name: string, setting: Case): Variant {
  return { rule, setting: { ...setting, name: `store: ${name}` } }
}

function flawed(rule: string, flaw: Flaw, setting: Case): Variant {
  return { rule, setting: { ...setting, name: `driver: ${flaw}`, flaws: [flaw] } }
}
