/** A log of every tool call: its start, duration and result. A plugin is a plain object. */
import { Agent, defineTool } from 'holdfast'
import type { Plugin } from 'holdfast/plugins'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

function toolLog(write: (line: string) => void): Plugin {
  return {
    name: 'tool-log',
    on: {
      beforeEachTool: ({ pending, turn }) =>
        write(`turn ${turn} START ${pending.tool} ${JSON.stringify(pending.args)}`),
      onError: ({ error, turn }) => write(`turn ${turn} ERROR ${error.message}`),
      // The last entry of the trace is the call that has just ended.
      afterEachTool: ({ trace, turn }) => {
        const last = trace.at(-1)
        if (last?.type !== 'tool_execution') return
        const speed = (last.timing ?? 0) < 1000 ? 'quick' : 'slow'
        write(`turn ${turn} END   ${last.tool_name} ${last.status} ${speed}`)
      },
      onComplete: ({ outcome, usage, turn }) =>
        write(
          `turn ${turn} ${outcome}, ${usage.inputTokens + usage.outputTokens > 0 ? 'tokens counted' : ''}`,
        ),
    },
  }
}

const search = defineTool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  replay: 'safe',
  run: ({ query }) => {
    if (query === '') throw new Error('nothing to search for')
    return [`${query} in ten minutes`, `${query} by example`]
  },
})

const agent = new Agent({
  contextId: 'docs',
  tools: [search],
  plugins: [toolLog(console.log)],
  model: new ScriptedModel([
    {
      calls: [
        { tool: 'search', args: { query: 'sqlite' } },
        { tool: 'search', args: { query: '' } },
      ],
    },
    'Two tutorials were found.',
  ]),
})
console.log(await agent.input('Find tutorials'))
