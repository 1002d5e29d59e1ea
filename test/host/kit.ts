/** Parts of hosts that several tests share. */
import { z } from 'zod'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { createHost, type Host, type HostEvent, type HostedGraph } from '../../src/host/index.ts'
import { defineTool, type Store, type Tool } from '../../src/index.ts'
import type { ContextKey, Owner } from '../../src/protocol/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { gate } from '../turn/kit.ts'

export const OWNER = { tenant: 'acme', actor: 'ann' }

export const key = (contextId: string, owner: Owner = OWNER): ContextKey => ({ ...owner, contextId })

/** Events up to the first that is the last. */
export async function collect(
  events: AsyncIterable<HostEvent>,
  isLast: (event: HostEvent) => boolean,
): Promise<HostEvent[]> {
  const seen: HostEvent[] = []
  for await (const event of events) {
    seen.push(event)
    if (isLast(event)) break
  }
  return seen
}

export const isEnd = (event: HostEvent): boolean => event.type === 'entry' && event.entry.type === 'turn.end'

/** The text of the deltas. */
export function deltaText(events: readonly HostEvent[]): string {
  return events
    .flatMap((event) =>
      event.type === 'delta' && event.event.type === 'text.delta' ? [event.event.data.text] : [],
    )
    .join('')
}

/** A graph that answers its question. */
export function answering(store: Store): HostedGraph {
  return graph({ state: { question: value<string>(), answer: value<string>('') } })
    .addNode('write', ({ question }) => ({ answer: `You asked: ${question}` }))
    .addEdge(START, 'write')
    .addEdge('write', END)
    .compile({ store })
}

/** A tool that runs until `release` is called, and a reply that calls it. */
export function holding(): {
  readonly tool: Tool
  readonly call: ScriptedStep
  readonly release: () => void
} {
  const held = gate()
  const tool = defineTool({
    name: 'hold',
    description: 'Holds',
    input: z.object({}),
    run: () => held.promise.then(() => 'ok'),
  })
  return { tool, call: { calls: [{ tool: 'hold', args: {} }] }, release: held.resolve }
}

/** Two hosts of one store, as of two processes. */
export function twoHosts(store: Store): readonly [Host, Host] {
  const support = { model: ScriptedModel.forever('Hello.') }
  return [createHost({ store, agents: { support } }), createHost({ store, agents: { support } })]
}
