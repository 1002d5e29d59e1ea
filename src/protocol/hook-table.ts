/**
 * The table of hook points: when each runs in a turn, how often, and what it may do. The fold, the turn, the check of
 * options and the types of hooks read it. A new hook point is a row here and the place in `src/turn` where it runs; if
 * it receives data of its own, a line in `HookData` of `src/hook/hook-context.ts`.
 */

/** One row. An absent mark is false. */
export interface HookKind {
  /** When it runs, in the words of the guide. */
  readonly when: string
  /**
   * How often it runs, and so what is done once its phase is durable (R8). `agent`: once, outside of any turn and
   * without an entry. `input`: for each message that a turn takes. `iteration`, `round`: once in each, at its `step`.
   * `call`: for each call of a round. `failure`: for each call or model call that failed. `end`: once, at the end of
   * the turn. All but `agent` receive durable data only.
   */
  readonly scope: 'agent' | 'input' | 'iteration' | 'round' | 'call' | 'failure' | 'end'
  /** Scopes `iteration` and `round`: its place in the iteration. Hooks of one place run in the order of the rows. */
  readonly step?: 'before model' | 'after model' | 'before tools' | 'after tools'
  /** May add a note for the model, read with the next prompt, or `later`, after the open round. */
  readonly add?: 'now' | 'later'
  /** May change the prompt of this model call, the arguments of calls, those of its own call, or that call's result. */
  readonly change?: 'prompt' | 'calls' | 'call' | 'result'
  /** May end the turn. */
  readonly stop?: true
  /** Closes what an earlier hook opened: plugins run in reverse order. */
  readonly closes?: true
  /** Also runs when a hook or a limit stopped the turn. */
  readonly afterStop?: true
}

/** In the order of a turn. */
export const HOOK_TABLE = {
  /** Once, after an agent has started and before it begins or resumes a turn. If it throws, `start()` rejects. */
  onAgentReady: { when: 'once, when the agent has loaded its conversation', scope: 'agent' },
  /** After a turn has taken an input: at its start, and when it is steered. */
  afterUserInput: {
    when: 'the turn has taken a message, at its start or in between',
    scope: 'input',
    add: 'now',
    stop: true,
  },
  /** Before the model call of each iteration, once, however often the call is repeated. */
  beforeIteration: {
    when: "before each iteration's model call",
    scope: 'iteration',
    step: 'before model',
    add: 'now',
    stop: true,
  },
  /** Right before the model call; may change the prompt of this one call. */
  beforeLlm: {
    when: 'right before the model is asked',
    scope: 'iteration',
    step: 'before model',
    add: 'now',
    change: 'prompt',
    stop: true,
  },
  /** After the whole reply; may change or refuse its calls. */
  afterLlm: {
    when: 'after the whole reply',
    scope: 'iteration',
    step: 'after model',
    add: 'later',
    change: 'calls',
    stop: true,
    closes: true,
    afterStop: true,
  },
  /** Once for each round of calls, before any of them is processed. */
  beforeTools: {
    when: 'once a round, with all `pending` calls',
    scope: 'round',
    step: 'before tools',
    add: 'later',
    change: 'calls',
    stop: true,
  },
  /** For each call, before it is checked, approved and started. Throwing rejects the call. */
  beforeEachTool: {
    when: 'each `pending` call, before it is checked and approved',
    scope: 'call',
    change: 'call',
    stop: true,
  },
  /** For each call that failed, was refused or is of unknown outcome, before `afterEachTool`; for each model call that failed. */
  onError: {
    when: 'a call failed, was refused or is of unknown outcome; or a model call failed',
    scope: 'failure',
    stop: true,
    afterStop: true,
  },
  /** For each call of a round, when it is settled; may change the result that the model reads. */
  afterEachTool: {
    when: 'each call, when it is settled',
    scope: 'call',
    change: 'result',
    stop: true,
    closes: true,
    afterStop: true,
  },
  /** Once for each round, when all its calls are settled. */
  afterTools: {
    when: 'once a round, with all `results`',
    scope: 'round',
    step: 'after tools',
    add: 'now',
    stop: true,
    closes: true,
    afterStop: true,
  },
  /** After the reply and the round of each iteration, the last one too. */
  afterIteration: {
    when: 'after each iteration, the last one too',
    scope: 'iteration',
    step: 'after tools',
    add: 'now',
    stop: true,
    closes: true,
    afterStop: true,
  },
  /** When a limit ends the turn. */
  onLimit: { when: 'a limit ends the turn', scope: 'end', afterStop: true },
  /** Before a turn ends that was not cancelled, did not fail and does not wait for a request. */
  onComplete: {
    when: 'before a turn ends, unless it failed, was cancelled or waits',
    scope: 'end',
    add: 'now',
    afterStop: true,
  },
} as const

export type HookName = keyof typeof HOOK_TABLE

const rows: { readonly [Name in HookName]: HookKind } = HOOK_TABLE
/** The same table, for names that may be of a newer version. */
const KINDS: ReadonlyMap<string, HookKind> = new Map(Object.entries(rows))

export const HOOK_NAMES: readonly HookName[] = Object.keys(HOOK_TABLE) as HookName[]

/** Undefined for a hook that this version does not know, and for phases without hooks, such as `ground`. */
export function hookKind(name: string): HookKind | undefined {
  return KINDS.get(name)
}

/** Hooks that see input to a running turn before a model does. */
export const INPUT_HOOKS: readonly HookName[] = HOOK_NAMES.filter(
  (name) => rows[name].scope === 'input' || rows[name].change === 'prompt',
)

/** The steps of each iteration, in order: hooks, and the work between them. */
const STEPS: readonly string[] = [
  ...stepsAt('before model'),
  'model',
  ...stepsAt('after model'),
  ...stepsAt('before tools'),
  'tools',
  ...stepsAt('after tools'),
]

const INDEX_OF: ReadonlyMap<string, number> = new Map(STEPS.map((name, index) => [name, index]))

/** The last step before an iteration's tools: the calls of a waiting turn resume after it. */
export const LAST_BEFORE_TOOLS: string = STEPS[stepIndex('tools') - 1] as string

const FIRST_OF_ROUND = STEPS.findIndex((step) => hookKind(step)?.scope === 'round')
const FIRST_OF_PROMPT = STEPS.findIndex((step) => hookKind(step)?.change === 'prompt')

function stepsAt(step: NonNullable<HookKind['step']>): readonly HookName[] {
  return HOOK_NAMES.filter((name) => rows[name].step === step)
}

/** -1 before any step. */
function stepIndex(step: string | undefined): number {
  return INDEX_OF.get(step ?? '') ?? -1
}

/** True if the step comes after `reached`, the last step of the iteration. */
export function isAhead(step: string, reached: string | undefined): boolean {
  return stepIndex(reached) < stepIndex(step)
}

/** The same for a step before the model, where `reached` may be of the iteration before. */
export function isAheadOfModel(step: string, reached: string | undefined): boolean {
  return isAhead(step, reached) || !isAhead('model', reached)
}

/** True once the round of the iteration has begun. */
export function isRoundReached(reached: string | undefined): boolean {
  return stepIndex(reached) >= FIRST_OF_ROUND
}

/** Steps at which all calls of the round are settled, while others of the iteration are still to come. */
export const CLOSING_STEPS: ReadonlySet<string> = new Set(STEPS.slice(stepIndex('tools'), -1))

/** The step to return to when input arrives: the hooks that change the prompt run again, from the first on. */
export function beforePrompt(reached: string): string {
  const at = stepIndex(reached)
  return FIRST_OF_PROMPT <= at && at < stepIndex('model') ? (STEPS[FIRST_OF_PROMPT - 1] ?? '') : reached
}
