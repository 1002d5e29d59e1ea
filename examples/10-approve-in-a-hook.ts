/**
 * Approval by a hook: the whole batch is visible before any of it runs. A rejected call is answered with the reason, and
 * a hook that throws ends the turn; either way the next turn finds a conversation that every provider accepts.
 *
 * For a person who may answer tomorrow, set `approve` on the tool instead: then nothing waits in memory.
 */
import { Agent, defineTool } from 'holdfast'
import type { Hooks } from 'holdfast/plugins'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

/** The answers of a person at a terminal. */
const answers = ['y', 'n', 'stop']
const askPerson = async (question: string): Promise<string> => {
  const answer = answers.shift() ?? 'n'
  console.log(`  ${question} ${answer}`)
  return answer
}

const careful: Hooks = {
  beforeTools: ({ pending }) => console.log(`  about to run ${pending.length} tool(s)`),
  beforeEachTool: async ({ pending }) => {
    const answer = await askPerson(`${pending.tool}(${JSON.stringify(pending.args)})? [y/n]`)
    if (answer === 'n') throw new Error('the person said no')
  },
  afterTools: ({ results, stop }) => {
    if (results.every(({ status }) => status === 'rejected')) stop('nothing was allowed')
  },
}

const remove = defineTool({
  name: 'delete_file',
  description: 'Deletes a file.',
  input: z.object({ path: z.string() }),
  run: ({ path }) => {
    console.log(`  deleted ${path}`)
    return { deleted: path }
  },
})

const both = ['old.txt', 'new.txt'].map((path) => ({ tool: 'delete_file', args: { path } }))
const model = new ScriptedModel([{ calls: both }, 'I deleted old.txt and kept new.txt.', 'You are welcome.'])
const agent = new Agent({ contextId: 'files', tools: [remove], on: careful, model })

console.log(await agent.input('Delete both files'))
const strict = new Agent({
  contextId: 'files',
  store: agent.store,
  tools: [remove],
  on: {
    beforeTools: () => {
      throw new Error('no tools on Sundays')
    },
  },
  model: new ScriptedModel([{ calls: both }]),
})
const { reason, error } = await strict.executeTurn('Really both').outcome
console.log(`${reason}: ${error?.message}`)
console.log(await agent.input('Thanks'))
