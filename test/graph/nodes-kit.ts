/** Graphs of a model and its tools, for the tests of these nodes. */
import { modelNode, pendingCalls, toolNode } from '../../src/agent/index.ts'
import {
  END,
  type Graph,
  type GraphOptions,
  type GraphOutcome,
  graph,
  type ListChannel,
  list,
  START,
} from '../../src/graph/index.ts'
import { toPrompt } from '../../src/model/index.ts'
import { LOCAL_OWNER, type Message, type ToolResultPart } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import {
  defineTool,
  jsonSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
} from '../../src/tool/index.ts'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'

// biome-ignore lint/style/useConsistentTypeDefinitions: a type alias is assignable to `Channels`.
export type Messages = { readonly messages: ListChannel<Message> }

interface LoopOptions extends GraphOptions {
  readonly tools: readonly Tool[]
  readonly model?: Omit<Parameters<typeof modelNode>[0], 'model' | 'tools'>
  readonly round?: Omit<Parameters<typeof toolNode>[0], 'tools'>
}

/** The model is asked, its calls are run, and it is asked again, until it calls nothing. */
export function loopOf(
  script: readonly ScriptedStep[] | ScriptedModel,
  { tools, model: asked, round, ...options }: LoopOptions,
): Graph<Messages> {
  const model = script instanceof ScriptedModel ? script : new ScriptedModel(script)
  return graph<Messages>({ state: { messages: list<Message>() } })
    .addNode('model', modelNode({ model, tools, ...asked }))
    .addNode('tools', toolNode({ tools, ...round }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (pendingCalls(messages).length > 0 ? 'tools' : END))
    .addEdge('tools', 'model')
    .compile(options)
}

export const contextId = 'talk'
export const hello = { messages: [{ role: 'user', content: 'Hello.' }] } as const

type Run = ToolDefinition<ReturnType<typeof jsonSchema>, unknown>['run']

export function toolOf(
  name: string,
  run: (args: Readonly<Record<string, string | number>>, context: ToolContext) => unknown = () =>
    `${name} done`,
  more: Partial<Pick<Tool, 'replay' | 'approve' | 'exclusive'>> = {},
): Tool {
  const definition = {
    name,
    description: name,
    input: jsonSchema({ type: 'object' }),
    ...more,
    run: run as Run,
  }
  return defineTool(definition as Parameters<typeof defineTool>[0])
}

/** The results in the state, one line each: tool, status, output. */
export function resultsIn({ state }: Pick<GraphOutcome<Messages>, 'state'>): string[] {
  return resultParts(state.messages).map(
    ({ tool, status, output }) =>
      `${tool} ${status}: ${typeof output === 'string' ? output : JSON.stringify(output)}`,
  )
}

export function resultParts(messages: readonly Message[]): readonly ToolResultPart[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
}

/** The types of a journal's entries. */
export async function typesOf(store: Store, name: string): Promise<string[]> {
  return (await store.read({ ...LOCAL_OWNER, contextId: name })).map(({ type }) => type)
}

/** What any vendor would refuse in a prompt of these messages. */
export async function vendorProblems(
  messages: readonly Message[],
  tools: readonly Tool[],
): Promise<string[]> {
  const declared = tools.map(({ name }) => ({
    type: 'function',
    name,
    description: name,
    inputSchema: { type: 'object', properties: {} },
  }))
  const requests = await vendorRequests({
    prompt: toPrompt({ model: new ScriptedModel([]), messages }),
    tools: declared,
  })
  return requests.flatMap(({ vendor, body }) =>
    checkVendorRequest(vendor, body).map((problem) => `${vendor}: ${problem}`),
  )
}
