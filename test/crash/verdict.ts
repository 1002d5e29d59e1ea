/**
 * What is wrong with a conversation that was killed and brought to its end, seen from outside: from its journals, from
 * the effects that were written down, and from what readers had been told. Nobody who took part is asked.
 */
import { isDeepStrictEqual } from 'node:util'
import { Agent } from '../../src/agent/index.ts'
import { transcript } from '../../src/journal/index.ts'
import { toPrompt } from '../../src/model/index.ts'
import { type Message, type Owner, type ReplayClass } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import {
  graphProblems,
  readingOf,
  textOfReading,
  unknownCount,
  unknownEffectProblems,
} from '../graph/recovery-checks.ts'
import {
  callProblems,
  headProblem,
  type Journals,
  legalProblems,
  told,
  totalProblems,
  turnProblems,
  unknownProblems,
} from '../recovery/checks.ts'
import { sameText } from '../recovery/cut.ts'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'
import type { EffectLine, Line, ToldLine } from './record.ts'

/** What must not happen; each is a list of sentences. */
export interface Wrongs {
  /** A reader was told that it is durable, and it is not there, or is something else. */
  readonly lost: readonly string[]
  /** Done again, although nobody had said that it may be. */
  readonly second: readonly string[]
  /** A transcript that is not legal (R9), or a request that a vendor would refuse. */
  readonly illegal: readonly string[]
  /** Turns that were begun and have no end, inputs that nobody took, conversations that somebody still holds. */
  readonly open: readonly string[]
  /** It reads otherwise than without the kill, and everything else. */
  readonly other: readonly string[]
}

export interface Verdict {
  readonly wrongs: Wrongs
  /** Results that nobody can know, because the kill came between a start and its settlement. They are allowed. */
  readonly unknown: number
  /** How it reads. */
  readonly text: string
}

export interface Evidence {
  readonly store: Store
  readonly owner: Owner
  readonly lines: readonly Line[]
  /** Calls that were started and not settled when a process was killed. */
  readonly unsettled: ReadonlyMap<string, ReplayClass>
  /** The tools whose effects may come twice. */
  readonly repeatable: readonly string[]
  /** How it reads when nobody is killed; without it, it is not compared. */
  readonly whole?: string
}

/** All journals of an owner: each conversation, then those below it in the order of the calls that they belong to. */
export async function journalsOf(store: Store, owner: Owner): Promise<Journals> {
  const journals: Record<string, Journals[string]> = {}
  const read = async (contextId: string): Promise<void> => {
    const entries = await store.read({ ...owner, contextId })
    journals[contextId] = entries
    const { heads } = await store.list({ owner, parent: contextId, limit: 100 })
    const said = JSON.stringify(entries)
    const place = (child: string) => said.indexOf(JSON.stringify(child.slice(contextId.length + 1)))
    const below = heads.map(({ key }) => key.contextId)
    for (const child of below.toSorted((a, b) => place(a) - place(b))) await read(child)
  }
  const { heads } = await store.list({ owner, limit: 100 })
  for (const contextId of heads.map(({ key }) => key.contextId).toSorted()) await read(contextId)
  return journals
}

export async function judge(evidence: Evidence): Promise<Verdict> {
  const { store, owner, lines, unsettled, repeatable, whole } = evidence
  const journals = await journalsOf(store, owner)
  const effects = lines.filter((line) => line.what === 'effect')
  const lookedUp = new Set(effects.flatMap(({ tool, key }) => (tool === 'send' ? [key] : [])))
  const once = new Map(effects.map((line) => [line.callId, { ...line, process: '' }]))
  const each = (problems: (entries: Journals[string]) => Iterable<string>) =>
    Object.entries(journals).flatMap(([contextId, entries]) =>
      [...problems(entries)].map((problem) => `${contextId}: ${problem}`),
    )
  const heads = await Promise.all(
    Object.keys(journals).map((contextId) => headProblem(store, { ...owner, contextId })),
  )
  const unreadable: string[] = []
  const read = async <T>(reading: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await reading
    } catch (error) {
      unreadable.push(`it cannot be read: ${String(error)}`)
      return otherwise
    }
  }
  const text = await read(textOf(store, owner, journals), '')
  const refused = await read(vendorProblems(store, owner, journals), [])
  return {
    wrongs: {
      lost: lostIn(journals, lines),
      second: secondEffects(effects, repeatable),
      illegal: [...each(legalProblems), ...refused],
      open: [...each(turnProblems), ...heads.filter((problem) => problem !== undefined)],
      other: [
        ...unreadable,
        ...each((entries) => callProblems(entries, [...once.values()])),
        ...each((entries) => graphProblems(entries, [...once.values()])),
        ...each(totalProblems),
        ...unknownProblems(journals, unsettled),
        ...unknownEffectProblems(journals, unsettled, lookedUp),
        ...(whole === undefined || sameText(text, whole)
          ? []
          : [`it reads:\n${text}\ninstead of:\n${whole}`]),
      ],
    },
    unknown: unknownCount(journals),
    text,
  }
}

/** Also right after a kill: what is lost then may be written once more by the one who comes after. */
export function lostIn(journals: Journals, lines: readonly Line[]): string[] {
  return lines
    .filter((line): line is ToldLine => line.what === 'told')
    .filter(({ event: { seq, type, data, path }, anywhere }) => {
      const places = Object.entries(journals).filter(
        ([id]) => anywhere || id.includes('/') === (path !== undefined),
      )
      return !places.some(([, entries]) =>
        entries.some(
          (entry) => entry.seq === seq && entry.type === type && isDeepStrictEqual(entry.data, data),
        ),
      )
    })
    .map(({ event: { seq, type, key = '' } }) => `${type} ${key} was told as entry ${seq} and is not there`)
}

/** A tool that can tell whether it has happened (`send`) may begin again if it did not end; one that cannot may not. */
function secondEffects(effects: readonly EffectLine[], repeatable: readonly string[]): string[] {
  const counted = effects.filter(
    ({ tool, phase }) => !repeatable.includes(tool) && phase === (tool === 'send' ? 'end' : 'begin'),
  )
  return [...Map.groupBy(counted, ({ callId }) => callId)].flatMap(([callId, { length, 0: first }]) =>
    length > 1 ? [`${first?.tool} ${callId} was done ${length} times`] : [],
  )
}

const model = new ScriptedModel([])

/** The conversations, what a model sees of each, and the files that were written. */
async function textOf(store: Store, owner: Owner, journals: Journals): Promise<string> {
  const parts: string[] = []
  for (const [contextId, entries] of Object.entries(journals)) {
    const agent = new Agent({ contextId, owner, store, model })
    parts.push(told(transcript(entries)), told(await agent.getMessages()))
    if (entries.some(({ type }) => type === 'graph.start')) parts.push(textOfReading(readingOf(entries)))
    for (const { artifactId, kind } of await agent.getArtifacts())
      if (kind === 'file') parts.push(JSON.stringify((await agent.artifacts.read(artifactId)).content))
  }
  return parts.join('\n---\n')
}

/** Would each vendor take what comes next in each of the conversations? */
async function vendorProblems(store: Store, owner: Owner, journals: Journals): Promise<string[]> {
  const found: string[] = []
  for (const contextId of Object.keys(journals)) {
    const messages = await new Agent({ contextId, owner, store, model }).getMessages()
    const problems = await problemsOfWindow([...messages, { role: 'user', content: 'And then?' }])
    found.push(...problems.map((problem) => `${contextId}: ${problem}`))
  }
  return found
}

/** The same few prompts come by a thousand times, under other ids. */
const known = new Map<string, Promise<readonly string[]>>()

function problemsOfWindow(messages: readonly Message[]): Promise<readonly string[]> {
  const ids = new Map<string, string>()
  const text = JSON.stringify(messages).replaceAll(/p\d+\.call_\d+/g, (id) => {
    const name = ids.get(id) ?? `call_${ids.size + 1}`
    ids.set(id, name)
    return name
  })
  const before = known.get(text)
  if (before !== undefined) return before
  const problems = refusals(JSON.parse(text) as Message[])
  known.set(text, problems)
  return problems
}

async function refusals(messages: readonly Message[]): Promise<readonly string[]> {
  const tools = [...new Set(messages.flatMap(toolsIn))].map((name) => ({
    type: 'function',
    name,
    description: name,
    inputSchema: { type: 'object', properties: {} },
  }))
  const requests = await vendorRequests({ prompt: toPrompt({ model, messages }), tools })
  return requests.flatMap(({ vendor, body }) =>
    checkVendorRequest(vendor, body).map((problem) => `${vendor}: ${problem}`),
  )
}

function toolsIn(message: Message): string[] {
  if (message.role !== 'assistant') return []
  return message.content.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : []))
}
