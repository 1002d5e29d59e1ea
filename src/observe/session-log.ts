/** The observer that writes a session file: it collects the entries of each turn, and adds the turn when it ends. */
import type { Call } from '../journal/index.ts'
import type { ContextTelemetry, ObservedContext, Telemetry } from '../loop/index.ts'
import { defined, type Entry, sameKey, type Usage } from '../protocol/index.ts'
import { writeNow } from './pending-writes.ts'
import { SessionFile, type SessionFileOptions } from './session-file.ts'

/** Only of the conversation with the key of the file: a sub-agent is a tool of its caller. */
export function sessionLog(options: SessionFileOptions): Telemetry {
  const file = new SessionFile(options)
  return { context: (of) => (sameKey(of.key, options.key) ? new SessionTurns(of, file) : undefined) }
}

interface CollectedTurn {
  readonly turn: number
  readonly entries: Entry[]
  /** Calls that the turn goes on with. */
  readonly calls: readonly Call[]
  /** Entries of the turn that other processes have written. */
  earlier?: Promise<readonly Entry[]>
  isAdded?: true
}

/** Inputs that another process takes are never taken here. */
const MOST_INPUTS = 1000

class SessionTurns implements ContextTelemetry {
  readonly #of: ObservedContext
  readonly #file: SessionFile
  /** Inbox entries that no turn has taken here. */
  readonly #inputs = new Map<number, Entry>()
  #collected: CollectedTurn | undefined

  constructor(of: ObservedContext, file: SessionFile) {
    this.#of = of
    this.#file = file
  }

  readonly entry = (entry: Entry): void => {
    if (entry.key !== undefined) this.#addInput(entry)
    if (entry.turn === 0) return
    const turn = this.#turnOf(entry)
    for (const seq of entry.takes ?? []) this.#take(turn, seq)
    turn.entries.push(entry)
    if (entry.type === 'turn.end') this.#end(turn)
  }

  readonly completing = async (number: number): Promise<void> => {
    const turn = this.#collected
    // Unsaved entries, with `autoSave: false`, come later.
    if (turn?.turn !== number) return
    const entries = await allOf(turn)
    const { usage } = this.#of.session().open ?? {}
    this.#add(turn, entries, usage)
    writeNow(this.#file)
  }

  #addInput(entry: Entry): void {
    this.#inputs.set(entry.seq, entry)
    if (this.#inputs.size > MOST_INPUTS) this.#inputs.delete(this.#inputs.keys().next().value ?? 0)
    if (entry.type === 'input') this.#file.begin(entry.at)
  }

  #turnOf({ type, turn, at }: Entry): CollectedTurn {
    if (this.#collected?.turn === turn) return this.#collected
    this.#file.begin(at)
    this.#collected = { turn, entries: [], calls: this.#of.session().open?.calls ?? [] }
    if (type !== 'turn.start') this.#readEarlier(this.#collected)
    return this.#collected
  }

  #take(turn: CollectedTurn, seq: number): void {
    const input = this.#inputs.get(seq)
    if (input === undefined) return this.#readEarlier(turn)
    this.#inputs.delete(seq)
    turn.entries.push(input)
  }

  /** Reads the rest of the turn now, so that it is there when the turn ends. */
  #readEarlier(turn: CollectedTurn): void {
    turn.earlier ??= this.#of.read(turn.turn).catch(() => [])
  }

  #end(turn: CollectedTurn): void {
    this.#collected = undefined
    const add = (entries: readonly Entry[]): void => {
      this.#add(turn, entries)
      this.#file.rest()
    }
    if (turn.earlier === undefined) add(turn.entries.toSorted(bySeq))
    else void allOf(turn).then(add)
  }

  #add(collected: CollectedTurn, entries: readonly Entry[], usage?: Usage): void {
    if (collected.isAdded) return
    collected.isAdded = true
    const { turn, calls } = collected
    this.#file.add({ turn, calls, entries, ...defined({ usage }) })
  }
}

async function allOf({ turn, entries, earlier }: CollectedTurn): Promise<readonly Entry[]> {
  const known = new Set(entries.map(({ seq }) => seq))
  const taken = new Set([...entries, ...((await earlier) ?? [])].flatMap(({ takes = [] }) => takes))
  const others = ((await earlier) ?? []).filter(
    (entry) => !known.has(entry.seq) && (entry.turn === turn || taken.has(entry.seq)),
  )
  return [...others, ...entries].toSorted(bySeq)
}

function bySeq(a: Entry, b: Entry): number {
  return a.seq - b.seq
}
