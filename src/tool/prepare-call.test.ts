/** Requested calls: which ones run, and the errors that the model gets for the others. */
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Json } from '../protocol/index.ts'
import { defineTool } from './define-tool.ts'
import { checkTools, findTool, prepareCall } from './prepare-call.ts'
import type { Tool } from './tool.ts'

const search = defineTool({
  name: 'search',
  description: 'Searches',
  input: z.object({ query: z.string(), limit: z.string().transform(Number).optional() }),
  run: () => null,
})
const listTasks = defineTool({
  name: 'list_tasks',
  description: 'Lists',
  input: v.object({ at: v.array(v.object({ day: v.number() })) }),
  parameters: { type: 'object', title: 'Tasks' },
  run: () => null,
})
const now = defineTool({ name: 'now', description: 'Now', input: z.object({}), run: () => null })
const tools: readonly Tool[] = [search, listTasks, now]

describe('a list of tools', () => {
  it('is searched by exact name', () => {
    expect(findTool(tools, 'search')).toBe(search)
    expect(findTool(tools, 'Search')).toBe(undefined)
  })

  it('may not have a name twice', () => {
    expect(() => checkTools(tools)).not.toThrow()
    expect(() => checkTools([search, now, search])).toThrow(
      expect.objectContaining({
        code: 'invalid-option',
        message: 'Two tools are called "search". Rename one of them.',
      }),
    )
  })

  it('holds tools only', () => {
    expect(() => checkTools([{ name: 'fake' } as Tool])).toThrow(
      '"fake" in the list of tools is no tool. Make it with defineTool().',
    )
    expect(() => checkTools([undefined as unknown as Tool])).toThrow(
      'Tool 1 of the list is undefined. Make it with defineTool(',
    )
  })
})

describe('a call that fits', () => {
  it('has its input as the schema makes it and its arguments as given', async () => {
    const args = { query: 'x', limit: '3' }
    const prepared = await prepareCall({ callId: 'c', tool: 'search', args }, tools)
    expect(prepared).toEqual({ ok: true, tool: search, input: { query: 'x', limit: 3 }, args })
    expect(prepared.ok && prepared.args).toBe(args)
  })

  it('may have no arguments at all', async () => {
    expect(await prepareCall({ callId: 'c', tool: 'now', args: null }, tools)).toEqual({
      ok: true,
      tool: now,
      input: {},
      args: null,
    })
  })
})

describe('a call that does not fit', () => {
  it('is told every problem with its path, and the schema', async () => {
    const call = { callId: 'c', tool: 'list_tasks', args: { at: [{ day: 1 }, { day: 'x' }] } }
    expect(await prepareCall(call, tools)).toEqual({
      ok: false,
      settled: {
        status: 'rejected',
        output: {
          error:
            'The arguments of list_tasks do not fit. at[1].day: Invalid type: Expected number but received "x". Nothing was done. Correct them and call again.',
          code: 'invalid-arguments',
          issues: ['at[1].day: Invalid type: Expected number but received "x"'],
          parameters: { type: 'object', title: 'Tasks' },
        },
      },
    })
  })

  it('is told when the arguments are no object', async () => {
    const prepared = await prepareCall({ callId: 'c', tool: 'search', args: 'x' }, tools)
    expect(prepared).toMatchObject({
      ok: false,
      settled: { status: 'rejected', output: { code: 'invalid-arguments', parameters: search.parameters } },
    })
  })

  it('is told the first of many problems', async () => {
    const call = { callId: 'c', tool: 'list_tasks', args: { at: Array.from({ length: 500 }, () => 'x') } }
    const prepared = await prepareCall(call, tools)
    const issues = prepared.ok ? [] : (prepared.settled.output as { issues: string[] }).issues
    expect([issues.length, issues[0], issues[20]]).toEqual([
      21,
      'at[0]: Invalid type: Expected Object but received "x"',
      'and 480 more',
    ])
  })

  it('is told when the arguments are nested without end', async () => {
    let args: Json = 'x'
    for (let depth = 0; depth < 50_000; depth++) args = [args]
    expect(await prepareCall({ callId: 'c', tool: 'search', args }, tools)).toMatchObject({
      settled: {
        status: 'rejected',
        output: { issues: ['Of no use: it is nested more than 200 levels deep'] },
      },
    })
  })

  it('is told when the schema itself fails', async () => {
    const broken = defineTool({
      name: 'broken',
      description: 'Broken',
      input: z.object({}).refine(() => {
        throw new Error('no network')
      }),
      run: () => null,
    })
    const prepared = await prepareCall({ callId: 'c', tool: 'broken', args: {} }, [broken])
    expect(prepared).toMatchObject({
      settled: { output: { issues: ['They cannot be checked: no network'] } },
    })
  })
})

describe('a call of a tool that is not there', () => {
  it('is told which tools are, and the nearest', async () => {
    expect(await prepareCall({ callId: 'c', tool: 'ListTask', args: {} }, tools)).toEqual({
      ok: false,
      settled: {
        status: 'rejected',
        output: {
          error:
            'There is no tool called "ListTask". Did you mean list_tasks? The tools are: search, list_tasks, now.',
          code: 'unknown-tool',
          tools: ['search', 'list_tasks', 'now'],
          nearest: 'list_tasks',
        },
      },
    })
  })

  it('gets no hint when nothing is near', async () => {
    const prepared = await prepareCall({ callId: 'c', tool: 'delete_everything', args: {} }, tools)
    expect(prepared).toMatchObject({
      settled: {
        output: {
          error: 'There is no tool called "delete_everything". The tools are: search, list_tasks, now.',
        },
      },
    })
  })

  it('is told when there are none', async () => {
    const prepared = await prepareCall({ callId: 'c', tool: 'x', args: {} }, [])
    expect(prepared).toMatchObject({
      settled: { output: { error: 'There is no tool called "x". There are no tools.', tools: [] } },
    })
  })
})

describe('a call with arguments that are not JSON', () => {
  const refusal = async (args: string, malformed: string): Promise<unknown> => {
    const prepared = await prepareCall({ callId: 'c', tool: 'search', args, malformed }, tools)
    return prepared.ok ? 'ok' : prepared.settled
  }

  it('is told where', async () => {
    expect(await refusal('{"query": "a" "limit": 3}', 'not JSON')).toEqual({
      status: 'rejected',
      output: {
        error:
          "The arguments of search are not JSON: not JSON: Expected ',' or '}' after property value in JSON at position 14 (line 1 column 15). Nothing was done. Call again with an object.",
        code: 'malformed-arguments',
        near: '{"query": "a" "limit": 3}',
        parameters: search.parameters,
      },
    })
  })

  it('is told when they were cut off', async () => {
    expect(
      await refusal('{"query": "abc', 'Unterminated string in JSON at position 14 (line 1 column 15)'),
    ).toMatchObject({
      output: {
        error:
          'The arguments of search are not JSON: Unterminated string in JSON at position 14 (line 1 column 15). Nothing was done. Call again with an object.',
        near: '{"query": "abc',
      },
    })
  })

  it('is told what it was said to be if the text is JSON after all', async () => {
    expect(await refusal('{}', 'The reply ended early.')).toMatchObject({
      output: {
        error:
          'The arguments of search are not JSON: The reply ended early. Nothing was done. Call again with an object.',
      },
    })
  })
})
