/** A task on real files with the default tools: the nodes in their order, approvals, and messages of every kind. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { TaskAgent, type TaskAgentConfig } from '../../src/entry/flows.ts'
import { defineTool } from '../../src/index.ts'
import { approvalPolicy } from '../../src/plugin/index.ts'
import type { Message } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { call, calls, done, verdict } from './kit.ts'

let cwd = ''

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-task-'))
  writeFileSync(join(cwd, 'notes.txt'), 'Print a greeting.\n')
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

function agentOf(config: Partial<TaskAgentConfig> = {}): TaskAgent {
  const model = new ScriptedModel([
    '1. Look. 2. Write hello.py.',
    calls(call('list_files', { path: '.' })),
    calls(call('read_file', { path: 'notes.txt' })),
    calls(call('write_to_file', { path: 'hello.py', content: "print('Hello, World!')\n" })),
    done('hello.py prints a greeting.'),
    verdict(true),
  ])
  return new TaskAgent({ model, cwd, verbose: false, ...config })
}

const BEFORE_WRITE = ['planner', 'agent', 'tools', 'agent', 'tools', 'agent']
const AFTER_WRITE = ['tools', 'agent', 'tools', 'verifier']

async function nodesOf({ store }: TaskAgent, contextId: string): Promise<string[]> {
  const entries = await store.read({ tenant: 'local', actor: 'local', contextId })
  return entries.flatMap(({ type, data }) =>
    type === 'node.end' ? [(data['task'] as string).replace(/\.\d+$/, '')] : [],
  )
}

function kindsOf(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    if (message.role === 'tool') return `result ${message.content[0]?.tool}`
    return message.role === 'user' && message.by === 'program' ? 'program' : message.role
  })
}

test('a completion of your own may take data, which is the answer as JSON', async () => {
  const completion = defineTool({
    name: 'attempt_completion',
    description: 'Ends the task.',
    input: z.object({ result: z.object({ sum: z.number() }) }),
    run: () => 'accepted',
  })
  const model = new ScriptedModel([
    '1. Add.',
    calls(call('attempt_completion', { result: { sum: 3 } })),
    verdict(true),
  ])
  const { ended, finalAnswer } = await agentOf({ model, tools: [completion] }).run('Add 1 and 2')
  expect([ended, finalAnswer]).toEqual(['verified', '{"sum":3}'])
})

test('a write waits for a person, and the answer goes on to the verification', async () => {
  const agent = agentOf()
  const waiting = await agent.run('Write a script that greets', { contextId: 't' })
  expect(waiting).toMatchObject({ ended: 'waiting', isResumable: true, requests: [{ kind: 'confirmation' }] })
  expect(existsSync(join(cwd, 'hello.py'))).toBe(false)
  expect(await nodesOf(agent, 't')).toEqual(BEFORE_WRITE)
  const results = await agent.answer('t', { [waiting.requests[0]?.requestId ?? '']: true })
  expect(results).toMatchObject({
    ended: 'verified',
    finalAnswer: 'hello.py prints a greeting.',
    planIteration: 1,
  })
  expect(await nodesOf(agent, 't')).toEqual([...BEFORE_WRITE, ...AFTER_WRITE])
  expect(readFileSync(join(cwd, 'hello.py'), 'utf8')).toBe("print('Hello, World!')\n")
})

test('a policy lets it run without a question, from the plan to the verdict', async () => {
  const rules = [
    { tool: ['list_files', 'read_file', 'attempt_completion'], decision: 'allow' },
    { tool: 'write_to_file', path: '**', decision: 'allow' },
  ] as const
  const agent = agentOf({ plugins: [approvalPolicy({ cwd, rules })] })
  const results = await agent.run('Write a script that greets', { contextId: 't' })
  expect(results).toMatchObject({ ended: 'verified', requests: [] })
  expect(await nodesOf(agent, 't')).toEqual([...BEFORE_WRITE, ...AFTER_WRITE])
  const round = (tool: string): string[] => ['assistant', `result ${tool}`]
  expect(kindsOf(results.messages)).toEqual([
    ...['user', 'program'],
    ...['list_files', 'read_file', 'write_to_file', 'attempt_completion'].flatMap(round),
    'program',
  ])
})

test('a criterion counts the exit code that a tool of your own returns', async () => {
  const codes = [1, 0]
  const sandbox = defineTool({
    name: 'execute_command',
    description: 'Runs a command in a sandbox.',
    input: z.object({ command: z.string() }),
    run: () => ({ exitCode: codes.shift() ?? null, stdout: 'the tests' }),
  })
  const model = new ScriptedModel(['P', done('A'), 'P2', done('B')])
  const criteria = [{ name: 'tests', command: 'npm test' }]
  const config = { model, tools: [sandbox], criteria, verifierModel: null, verbose: false }
  const { ended, attempts } = await new TaskAgent(config).run('Do it')
  expect([ended, attempts.map(({ isVerified, evidence }) => [isVerified, evidence])]).toEqual([
    'verified',
    [
      [false, ['tests failed: the tests']],
      [true, ['tests passed: the tests']],
    ],
  ])
})
