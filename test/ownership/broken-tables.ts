/**
 * Tables of transitions that are wrong in one place each, with the rule that they break and a setting that shows it. A
 * table without a transition breaks S7 where that transition is due; the others lead to a wrong state or carry a wrong
 * grant or loop.
 */
import {
  type Driving,
  type Event,
  FREE,
  type LeaseGrant,
  type State,
  TRANSITIONS,
  type Transitions,
} from '../../src/drive/state.ts'
import type { Setting } from './world.ts'

/** `rule` is broken, and the search reports it as `sign`: the rule itself, or a driver that hangs or loops. */
export interface BrokenTable {
  readonly rule: string
  readonly sign: string
  readonly setting: Setting
}

type Case = Omit<Setting, 'name'>
type Claimed = Extract<Event, { readonly type: 'claimed' }>
type Lost = Extract<Event, { readonly type: 'lost' }>
type Left = PromiseWithResolvers<void>
type Owner = Extract<State, { readonly grant: LeaseGrant }>

const lapse = { part: 1, times: 1 }
const part = { part: 0.6, times: 1 }

/** The smallest settings that lead to each transition. */
const ALONE: Case = { drivers: 1 }
const TWO: Case = { drivers: 2, reads: 'joined' }
const LAPSE: Case = { drivers: 2, ticks: lapse, reads: 'joined' }
const NOTE: Case = { drivers: 1, asks: 'note', reads: 'joined' }
const PAUSE: Case = { drivers: 1, asks: 'pause', reads: 'joined' }
const HELD: Case = { drivers: 1, autoSave: false, reads: 'joined' }
const HELD_BEAT: Case = { ...HELD, heartbeats: 1, ticks: part }
const HELD_LAPSE: Case = { ...LAPSE, autoSave: false }
const REFUSED: Case = { drivers: 1, refuses: ['tool.end'], reads: 'joined' }
const REFUSED_TWICE: Case = { ...REFUSED, refuses: ['tool.end', 'release'] }
const REFUSED_NOTE: Case = { ...REFUSED, refuses: ['tool.end', 'release'], asks: 'note' }
const REFUSED_LAPSE: Case = { ...LAPSE, refuses: ['tool.end', 'release'] }

/** A safe call is run again on the grant of a claim alone. */
const TAKEN_OVER: Case = { ...TWO, tools: ['look'], faults: { crash: 1, unheard: 1 }, ticks: part }
const TAKEN_OVER_TWICE: Case = { ...TAKEN_OVER, faults: { crash: 1, ambiguous: 1 } }

/** An effect is under way when a heartbeat finds the lease lost. */
const EFFECT: Case = { ...LAPSE, heartbeats: 1 }

/** The setting that leads a driver to each transition. */
const REACHED: { readonly [N in State['is']]: Readonly<Record<string, Case>> } = {
  free: { opens: ALONE, 'claimed to append': NOTE },
  opening: { refused: TWO, claimed: ALONE },
  driving: {
    granted: ALONE,
    advanced: ALONE,
    closed: PAUSE,
    ended: ALONE,
    lost: LAPSE,
    broke: REFUSED,
  },
  holding: { granted: HELD_BEAT, ended: HELD, lost: HELD_LAPSE },
  leaving: { granted: REFUSED_NOTE, ended: REFUSED, lost: REFUSED_LAPSE },
  draining: { drained: LAPSE },
}

const LEFT_OUT: readonly BrokenTable[] = Object.entries(REACHED).flatMap(([is, events]) =>
  Object.entries(events).map(([type, setting]) => wrong('S7', `${is} · ${type}`, 'left out', { setting })),
)

const stay = (state: State): State => state
const free = (): State => FREE
const opening = (): State => ({ is: 'opening', left: Promise.withResolvers() })
const holding = ({ grant }: Owner): State => ({ is: 'holding', grant })
const leaving = ({ grant }: Owner): State => ({ is: 'leaving', grant })
const draining = (_: State, { why }: Lost, left: Left = Promise.withResolvers()): State => ({
  is: 'draining',
  why,
  left,
})
const drainingDecided = (state: State, event: Lost): State => {
  const left: Left = Promise.withResolvers()
  left.resolve()
  return draining(state, event, left)
}
const loopLost = (_: State, { grant }: Claimed): State => ({ is: 'holding', grant })
const claimed =
  (change: (grant: LeaseGrant) => LeaseGrant) =>
  (_: State, { grant, loop }: Claimed): State => ({
    is: 'driving',
    grant: change(grant),
    loop,
    next: 'continue',
  })
const granted =
  (change: (grant: LeaseGrant, at: number) => LeaseGrant) =>
  (state: Owner, { at }: { readonly at: number }): State => ({ ...state, grant: change(state.grant, at) })
const doneNext = (state: Driving): State => ({ ...state, next: 'done' })
const wrongEpoch = ({ epoch, at }: LeaseGrant): LeaseGrant => ({ epoch: epoch + 1, at })
const laterBroke = ({ grant }: Owner): State => ({ is: 'leaving', grant: wrongEpoch(grant) })

const WRONG: readonly BrokenTable[] = [
  wrong('S4', 'free · opens', 'stays free', { setting: TWO, to: stay }),
  wrong('S7', 'free · claimed to append', 'stays free', { setting: NOTE, to: stay }),
  wrong('S4', 'opening · refused', 'stays opening', { setting: TWO, to: stay }),
  wrong('S4', 'opening · claimed', 'loses the loop', { setting: ALONE, to: loopLost }),
  wrong('S1', 'opening · claimed', 'another epoch', { setting: ALONE, to: claimed(wrongEpoch) }),
  wrong('R4', 'opening · claimed', 'younger than it is', {
    setting: TAKEN_OVER,
    to: claimed(({ epoch, at }) => ({ epoch, at: at + 500 })),
  }),
  wrong('R4', 'opening · claimed', 'a repetition counts as new', {
    setting: TAKEN_OVER_TWICE,
    to: claimed(({ epoch, at }) => ({ epoch, at: Number.isFinite(at) ? at : 600 })),
  }),
  wrong('R4', 'driving · granted', 'as old as before', {
    setting: { ...ALONE, ticks: part },
    to: granted((grant) => grant),
    sign: 'uncaught',
  }),
  wrong('R4', 'driving · granted', 'younger than it is', {
    setting: { ...ALONE, ticks: part },
    to: granted(({ epoch }, at) => ({ epoch, at: at + 500 })),
  }),
  wrong('S1', 'driving · granted', 'another epoch', { setting: ALONE, to: granted(wrongEpoch) }),
  wrong('S4', 'driving · granted', 'loses the loop', { setting: ALONE, to: holding }),
  wrong('R4', 'driving · advanced', 'nothing is ever due', { setting: PAUSE, to: doneNext }),
  wrong('S5', 'driving · closed', 'free', { setting: HELD, to: free, sign: 'circles' }),
  wrong('S4', 'driving · closed', 'keeps the loop', { setting: HELD, to: stay }),
  wrong('S5', 'driving · ended', 'holding', { setting: ALONE, to: holding }),
  wrong('S5', 'driving · ended', 'keeps the loop', { setting: ALONE, to: stay }),
  wrong('S6', 'driving · lost', 'free', { setting: EFFECT, to: free, sign: 'S7' }),
  wrong('S5', 'driving · lost', 'holding', { setting: LAPSE, to: holding, sign: 'S7' }),
  wrong('S5', 'driving · lost', 'leaving', { setting: LAPSE, to: leaving, sign: 'S7' }),
  wrong('S6', 'driving · lost', 'decided at once', {
    setting: EFFECT,
    to: drainingDecided,
    sign: 'circles',
  }),
  wrong('R1', 'driving · broke', 'free', { setting: REFUSED, to: free }),
  wrong('S4', 'driving · broke', 'keeps the loop', { setting: REFUSED_TWICE, to: stay }),
  wrong('S1', 'driving · broke', 'another epoch', { setting: REFUSED, to: laterBroke }),
  wrong('S1', 'holding · granted', 'another epoch', { setting: HELD_BEAT, to: granted(wrongEpoch) }),
  wrong('S5', 'holding · granted', 'free', { setting: HELD_BEAT, to: free, sign: 'S7' }),
  wrong('S5', 'holding · ended', 'stays holding', { setting: HELD, to: stay }),
  wrong('S5', 'holding · lost', 'stays holding', { setting: HELD_LAPSE, to: stay, sign: 'circles' }),
  wrong('S1', 'leaving · granted', 'another epoch', { setting: REFUSED_NOTE, to: granted(wrongEpoch) }),
  wrong('R1', 'leaving · granted', 'free', { setting: REFUSED_NOTE, to: free }),
  wrong('S1', 'leaving · ended', 'stays leaving', { setting: REFUSED, to: stay }),
  wrong('S5', 'leaving · lost', 'stays leaving', {
    setting: REFUSED_LAPSE,
    to: stay,
    sign: 'circles',
  }),
  wrong('S6', 'leaving · lost', 'draining', { setting: REFUSED_LAPSE, to: draining, sign: 'stuck' }),
  wrong('S6', 'draining · drained', 'stays draining', { setting: LAPSE, to: stay, sign: 'circles' }),
  wrong('S4', 'draining · drained', 'opening', { setting: LAPSE, to: opening }),
]

export const BROKEN_TABLES: readonly BrokenTable[] = [...LEFT_OUT, ...WRONG]

interface Change {
  readonly setting: Case
  /** Without it the transition is left out. */
  readonly to?: unknown
  /** The search's report, if not the rule. */
  readonly sign?: string
}

function wrong(rule: string, transition: string, ...[how, change]: [string, Change]): BrokenTable {
  const [is = '', type = ''] = transition.split(' · ')
  const { setting, to, sign = rule } = change
  const table = { ...TRANSITIONS, [is]: { ...TRANSITIONS[is as State['is']], [type]: to } } as Transitions
  return { rule, sign, setting: { ...setting, name: `table: ${transition}: ${how}`, table } }
}
