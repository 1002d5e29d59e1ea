/**
 * The one scene that is played everywhere: somebody asks for two things, the model calls two tools at once, and the
 * process is killed while the second one does its effect. What is said and replied is the same for all; what differs is
 * who keeps the conversation.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** `crash`: the first process, which does not survive. The others come after it. */
export type Act = 'crash' | 'resume' | 'message'

export interface Part {
  readonly act: Act
  readonly folder: string
  /** The variant: a durability mode there, a replay class here. */
  readonly variant: string
}

/** The report of a process about the conversation. */
export interface Final {
  readonly users: readonly string[]
  readonly results: readonly string[]
  /** The errors that its runs ended with. */
  readonly errors: readonly string[]
}

export const ASKED = 'Pay the rent and post the letter.'
export const CHANGED_MIND = 'Are you still there?'
export const AFTERWARDS = 'And what now?'
export const TOOLS: readonly string[] = ['pay', 'post']
export const PAID = 'The rent is paid.'

/** By what was said last, and how often it was replied to. */
export function reply(said: string, replied: number): { readonly calls: readonly string[] } | string {
  if (said === ASKED && replied === 0) return { calls: TOOLS }
  return said === ASKED ? 'Both are done.' : 'I am here.'
}

/** The effects. The second one takes place while the first has long come to its end, and in the first act it never ends. */
export async function perform(tool: string, { act, folder }: Part): Promise<string> {
  if (tool === 'post') await sleep(400)
  appendFileSync(join(folder, 'effects.log'), `${tool}\n`)
  if (tool === 'pay') return PAID
  if (act === 'crash') {
    process.send?.('acting')
    await sleep(60_000)
  }
  return 'The letter is posted.'
}

/** The body of a request to Anthropic, as the framework itself would send it. */
export function recordRequest({ folder }: Part, body: unknown): void {
  appendFileSync(join(folder, 'requests.log'), `${JSON.stringify(body)}\n`)
}

/** The part that this process plays. */
export function partOf(argv: readonly string[]): Part {
  return JSON.parse(argv[2] ?? '') as Part
}

export function tellFinal(final: Final): void {
  process.send?.(final, () => process.exit(0))
}
