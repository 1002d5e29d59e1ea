/**
 * The type of a contract case: a name and a function that rejects when the store breaks the contract, or when the case
 * cannot run; no case passes because something is missing. It knows no test runner.
 */
import type { StoreHarness } from './harness.ts'
import { Trial } from './trial.ts'

export type Need = 'reopen' | 'worker' | 'damage'

export interface ContractCase {
  /** A plain fact, with the numbers of its rules. */
  readonly name: string
  readonly subject: string
  readonly needs: readonly Need[]
  /** Rejects if the store breaks the contract, or if the harness lacks something that the case needs. */
  run(harness: StoreHarness): Promise<void>
}

/** The reason why this harness cannot run the case; undefined if it can. */
export function whySkipped(item: ContractCase, harness: StoreHarness): string | undefined {
  const missing = item.needs.filter((need) => harness[need] === undefined)
  return missing.length === 0 ? undefined : missing.map((need) => REASONS[need]).join('; ')
}

const REASONS: Readonly<Record<Need, string>> = {
  reopen: 'the harness has no `reopen`: the database lives and dies with its store',
  worker: 'the harness has no `worker`: no other process can open the database',
  damage: 'the harness has no `damage`: what is stored cannot be reached behind the back of the store',
}

export type Proof = (trial: Trial) => Promise<void>

/** The cases of one subject, by name. */
export function subject(
  name: string,
  facts: Readonly<Record<string, Proof>>,
  needs: readonly Need[] = [],
): readonly ContractCase[] {
  return Object.entries(facts).map(([fact, prove]) => {
    const item: ContractCase = {
      name: fact,
      subject: name,
      needs,
      run: (harness) => runCase(item, prove, harness),
    }
    return item
  })
}

async function runCase(item: ContractCase, prove: Proof, harness: StoreHarness): Promise<void> {
  const reason = whySkipped(item, harness)
  if (reason !== undefined) throw new Error(`"${item.name}" cannot run: ${reason}.`)
  const trial = new Trial(harness)
  try {
    await prove(trial)
  } finally {
    await trial.end()
  }
}
