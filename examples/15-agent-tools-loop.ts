/**
 * An agent as a graph: a model and its tools are nodes, and the messages are the state. The first process is killed with
 * -9 right after a tool has written its file; a second one finds that out, does not write again, and finishes the run.
 */
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { defineTool, jsonSchema, type Message } from 'holdfast'
import { END, graph, list, modelNode, pendingCalls, START, toolNode } from 'holdfast/graph'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel, type ScriptedStep } from 'holdfast/testing'

const isFirst = process.argv[2] === 'first'

const readTool = defineTool({
  name: 'read_file',
  description: 'Reads a file.',
  input: jsonSchema<{ path: string }>({ type: 'object', properties: { path: { type: 'string' } } }),
  replay: 'safe',
  run: ({ path }) => readFile(path, 'utf8'),
})

const writeTool = defineTool({
  name: 'write_file',
  description: 'Writes a file.',
  input: jsonSchema<{ path: string; content: string }>({
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
  }),
  // After a crash: look whether the file has the content, instead of writing it again.
  verify: async ({ path, content }) =>
    (await readFile(path, 'utf8').catch(() => '')) === content
      ? { happened: true, output: `wrote ${path} before the crash` }
      : { happened: false },
  run: async ({ path, content }) => {
    await writeFile(path, content)
    console.log(`  write_file writes ${path}`)
    if (isFirst) process.kill(process.pid, 'SIGKILL')
    return `wrote ${path}`
  },
})

const script: readonly ScriptedStep[] = [
  { text: 'I read the notes first.', calls: [{ tool: 'read_file', args: { path: 'notes.txt' } }] },
  { calls: [{ tool: 'write_file', args: { path: 'summary.txt', content: 'Two roofs are open.' } }] },
  'The summary is in summary.txt.',
]
// For real: 'openai/gpt-4.1-mini'. This one answers by the number of its earlier replies.
const model = new ScriptedModel(
  ({ prompt }) => script[prompt.filter(({ role }) => role === 'assistant').length] ?? 'Done.',
)

const tools = [readTool, writeTool]
const store = sqliteStore('loop.db')
const flow = graph({ name: 'agent', state: { messages: list<Message>() } })
  .addNode('agent', modelNode({ model, tools, systemPrompt: 'You work with files.' }))
  .addNode('tools', toolNode({ tools }))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', ({ messages }) => (pendingCalls(messages).length > 0 ? 'tools' : END), [
    'tools',
    END,
  ])
  .addEdge('tools', 'agent')
  .compile({ store, limits: { steps: 20 } })

const contextId = 'notes'

async function follow(run: ReturnType<typeof flow.stream>): Promise<void> {
  for await (const { type, data, path } of run) {
    if (type === 'tool.end') console.log(`  ${path[0]}: ${JSON.stringify(data.output)}`)
    if (type === 'model.end' && data.finish !== 'given') console.log(`  ${path[0]} replies`)
  }
}

if (isFirst)
  await follow(flow.stream({ messages: [{ role: 'user', content: 'Summarise my notes.' }] }, { contextId }))

await writeFile('notes.txt', 'Roof of the barn: open. Roof of the shed: open.')
console.log('The first process:')
const { signal, stdout } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, 'first'], {
  encoding: 'utf8',
})
console.log(`${stdout.trimEnd()}\nIt was killed: ${signal}.\n\nThe second process:`)
const run = flow.stream(null, { contextId })
await follow(run)
const { status, state } = await run.outcome
console.log(`\n${status}: ${state.messages.map(({ role }) => role).join(', ')}`)
console.log(await readFile('summary.txt', 'utf8'))
await store.close()
