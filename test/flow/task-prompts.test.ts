/** Prompts, traces and the todo list of the task agent, as a person customises and reads them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { TaskAgent } from '../../src/entry/flows.ts'
import { defineTool, type Tool } from '../../src/index.ts'
import { tokenCounter } from '../../src/model/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { call, calls, done, verdict } from './kit.ts'

const folders: string[] = []

afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true })
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-task-'))
  folders.push(made)
  return made
}

const note = defineTool({
  name: 'note',
  description: 'Takes a note.',
  input: z.object({ text: z.string() }),
  run: ({ text }) => `noted ${text}`,
})

const OWN_VERIFIER = `Task: {task}
Answer: {answer}
Trace: {trace_section}
Verify: Is this complete and correct?
{tool_instructions}`

describe('a verifier with a prompt of your own', () => {
  test.each([
    ['as a template', OWN_VERIFIER],
    ['as a plain text', 'Be strict.'],
  ])('knows the form of a verdict from the first request: %s', async (_, prompt) => {
    const model = new ScriptedModel(['P', done('A'), verdict(true)])
    const agent = new TaskAgent({ model, tools: [note], verbose: false })
    agent.setVerifierPrompt(prompt)
    await agent.run('Do it')
    const [system, request] = model.calls[2]?.prompt ?? []
    expect(system?.content).not.toContain('"unmet"')
    expect(request?.content).toMatchObject([
      { text: expect.stringContaining('{"verified": true or false, "unmet": [') },
    ])
  })

  test('has it once where the prompt is the default', async () => {
    const model = new ScriptedModel(['P', done('A'), verdict(true)])
    await new TaskAgent({ model, tools: [note], verbose: false }).run('Do it')
    expect(JSON.stringify(model.calls[2]?.prompt).match(/true or false/g)).toHaveLength(1)
  })
})

describe('the preview of prompts', () => {
  test('needs no task: the values that a run brings have names', async () => {
    const cwd = folder()
    const agent = new TaskAgent({ model: new ScriptedModel([]), cwd, tools: [note], verbose: false })
    const text = await agent.displaySystemPrompts()
    expect(text).toContain('# Task\n(the task)')
    expect(text).toContain('# Plan\n(the plan)')
    const saved = await agent.displaySystemPrompts(undefined, undefined, { saveTo: true })
    expect(readFileSync(join(cwd, 'notes/system_prompts.md'), 'utf8')).toBe(saved)
  })
})

test('the trace tells tools of this program, of MCP servers and of remote agents apart', async () => {
  const named = (name: string, origin: Tool['origin']): Tool => ({
    ...note,
    name,
    ...(origin === undefined ? {} : { origin }),
  })
  const tools = [
    named('here', undefined),
    named('server', { kind: 'mcp', server: 'files' }),
    named('remote', { kind: 'a2a', url: 'https://agents.test' }),
  ]
  const round = calls(...tools.map(({ name }) => call(name, { text: 'a' })))
  const model = new ScriptedModel(['P', round, done('A'), verdict(true)])
  const agent = new TaskAgent({ model, tools, verbose: false })
  await agent.run('Do it')
  const trace = await agent.displayTrace()
  for (const each of ['🛠️ [own] here', '🔬 [MCP] server', '🌐 [A2A] remote'])
    expect(trace).toContain(`call ${each}`)
})

describe.each([true, false])('the todo list with planning: %s', (planning) => {
  const plan = planning ? ['P'] : []

  test('is in the state and in the tools alike, and begins anew with a further round', async () => {
    const read = calls(call('read_todo_list'))
    const write = calls(call('write_todo_list', { content: '1. [x] Look\n2. [ ] Leap' }))
    const model = new ScriptedModel([
      ...[...plan, write, read, done('A'), verdict(true)],
      ...[...plan, read, read, done('B'), verdict(true)],
    ])
    const agent = new TaskAgent({ model, cwd: folder(), planning, verbose: false })
    const first = await agent.run('Look before you leap', { contextId: 'todo' })
    expect(first.todoList).toBe('1. [x] Look\n2. [ ] Leap')
    const second = await agent.run('Again', { contextId: 'todo' })
    expect(second).toMatchObject({ ended: 'verified', todoList: null })
    const lists = second.messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.flatMap(({ tool, output }) =>
            tool === 'read_todo_list' ? [(output as { readonly list: string }).list] : [],
          )
        : [],
    )
    expect(lists).toEqual(['1. [x] Look\n2. [ ] Leap', '', ''])
  })
})

test('no prompt is longer than maxContextTokens, however much the earlier rounds have said', async () => {
  const most = 1500
  const round = ['The plan', done('word '.repeat(400)), verdict(true)]
  const model = new ScriptedModel([...round, ...round, ...round, ...round, ...round, ...round])
  const agent = new TaskAgent({ model, tools: [note], verbose: false, maxContextTokens: most })
  for (let at = 1; at <= 6; at++) await agent.run(`Task ${at}. ${'thing '.repeat(150)}`, { contextId: 'c' })
  const counter = await tokenCounter()
  const lengths = model.calls.map(({ prompt }) =>
    prompt
      .map(({ content }) => counter.text(typeof content === 'string' ? content : JSON.stringify(content)))
      .reduce((sum, each) => sum + each),
  )
  expect(lengths.filter((length) => length > most)).toEqual([])
  const [system] = model.calls.at(-3)?.prompt ?? []
  expect(system?.content).toContain(`Task 6. ${'thing '.repeat(150).trim()}`)
  expect(system?.content).toContain('## Earlier tasks of this conversation')
})
