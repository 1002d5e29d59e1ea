/** How approvals with previews and grants are shown and answered in the chat. */
import { Agent, defineTool, type Json, jsonSchema, memoryStore, type RequestData } from 'holdfast'
import type { Styled } from 'holdfast/terminal'
import { ScriptedModel } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { askAll, type PromptContext } from '../../src/cli/chat/ask.ts'
import type { Chat } from '../../src/cli/chat/chat.ts'
import { runSlash } from '../../src/cli/chat/slash.ts'
import { questionOf } from '../../src/cli/terminal/question-lines.ts'
import type { Screen } from '../../src/cli/terminal/screen.ts'

const look = { columns: 60, rows: 24 }

function approval(id: string, about: Record<string, Json>): RequestData {
  const call = { tool: 'write_to_file', args: { path: id } }
  return {
    requestId: id,
    kind: 'confirmation',
    from: 'approval',
    callId: id,
    prompt: `May "write_to_file" be run with {"path":"${id}"}?`,
    about: { ...call, ...about },
  }
}

const sourceOf = (request: RequestData) => ({
  tools: [],
  approves: { tool: 'write_to_file', args: { path: request.requestId } },
})
const shown = (request: RequestData) => questionOf(request, sourceOf(request), look)

const DIFF = '--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-old\n+new\n same\n'

/** The chat without a terminal: prints into a list, and types these answers. */
function chat(...typed: string[]): { readonly context: PromptContext; readonly printed: Styled[] } {
  const printed: Styled[] = []
  const screen = { ...look, print: (text: Styled) => void printed.push(text) } as unknown as Screen
  const editor = {
    read: async ({ prompt }: { readonly prompt: Styled }) => {
      printed.push(prompt)
      const text = typed.shift()
      return text === undefined ? { type: 'end' as const } : { type: 'line' as const, text }
    },
    expand: (text: string) => text,
  } as PromptContext['editor']
  return { printed, context: { screen, editor, requestSource: async (request) => sourceOf(request) } }
}

describe('an approval', () => {
  it('shows the diff in colours, and what could be granted', () => {
    const { lines } = shown(
      approval('x.ts', { preview: { text: DIFF }, grants: ['write_to_file: x.ts', 'b'] }),
    )
    expect(lines.map(String)).toEqual([
      '? Approval',
      '  tool       write_to_file',
      '  arguments  {"path":"x.ts"}',
      '  │ --- a/x.ts',
      '  │ +++ b/x.ts',
      '  │ @@ -1 +1 @@',
      '  │ -old',
      '  │ +new',
      '  │  same',
      '  to grant   write_to_file: x.ts',
      '             b',
    ])
    const coloured = lines.map((line) => line.rendered(true))
    expect(coloured[6]).toContain('\x1b[31m-old')
    expect(coloured[7]).toContain('\x1b[32m+new')
    expect(coloured[8]).not.toContain('\x1b[3')
  })

  it('of a call that may have happened is asked by Holdfast, between words', () => {
    const prompt =
      'write_to_file was started before with the same arguments, and nobody knows whether it happened. Run it again?'
    const asked = questionOf({ ...approval('x.ts', {}), prompt }, sourceOf(approval('x.ts', {})), look)
    expect(asked.lines.slice(3).map(String)).toEqual([
      '  repeated │ write_to_file was started before with the same',
      '           │ arguments, and nobody knows whether it',
      '           │ happened. Run it again?',
    ])
    const own = questionOf(
      { ...approval('x.ts', {}), prompt: `${prompt} Yes.` },
      sourceOf(approval('x.ts', {})),
      look,
    )
    expect(String(own.lines[3])).toContain('its text │')
  })

  it('lets no preview act on the terminal or push the call off the screen', () => {
    const text = `+\x1b[2J\u202e\n${'+line\n'.repeat(100)}`
    const { lines, whole } = shown(approval('x.ts', { preview: { text } }))
    expect(lines.length).toBeLessThan(20)
    expect(String(lines[3])).toBe('  │ +<U+001B>[2J<U+202E>')
    expect(String(lines.at(-1))).toBe('  │ … 89 more lines')
    expect(whole?.()).toHaveLength(102)
    const long = shown(approval('x.ts', { preview: { text: 'x'.repeat(500) } })).lines.map(String)
    expect(long.slice(3).every((line) => line.startsWith('  │ '))).toBe(true)
  })

  it('shows a failed preview, and one that was cut, as such', () => {
    const failed = shown(approval('x.ts', { preview: { error: 'The preview failed: no file' } }))
    expect(failed.lines.at(-1)?.rendered(true)).toContain('\x1b[31mThe preview failed: no file')
    const cut = shown(approval('x.ts', { preview: { text: 'a', cut: true } }))
    expect(String(cut.lines.at(-1))).toBe('  │ … the rest is too long to be shown')
  })

  it('offers scopes only where something can be granted', async () => {
    const plain = chat('always', 'y')
    expect(await askAll([approval('a', {})], plain.context)).toEqual({ a: true })
    expect(plain.printed.map(String)).toContain('  Nothing is offered beyond this call: type yes or no.')
    expect(String(plain.printed[1])).toBe('  [y/n] › ')
    const granting = chat('always')
    expect(await askAll([approval('a', { grants: ['x'] })], granting.context)).toEqual({
      a: { approved: true, scope: 'always' },
    })
    expect(String(granting.printed[1])).toBe('  [y/n/session/always] › ')
  })

  it('of several calls with previews comes after all of them were shown', async () => {
    const { context, printed } = chat('y', 'no, not this one')
    const requests = [
      approval('a.ts', { preview: { text: '+first' } }),
      approval('b.ts', { preview: { text: '-second' } }),
    ]
    expect(await askAll(requests, context)).toEqual({
      'a.ts': true,
      'b.ts': { approved: false, reason: 'not this one' },
    })
    const text = printed.map(String).join('\n')
    expect(text).toBe(
      [
        '? 2 questions wait for you',
        '1\n? Approval\n  tool       write_to_file\n  arguments  {"path":"a.ts"}\n  │ +first',
        '2\n? Approval\n  tool       write_to_file\n  arguments  {"path":"b.ts"}\n  │ -second',
        '  1 [y/n] › ',
        '  2 [y/n] › ',
      ].join('\n'),
    )
  })
})

describe('a question that is left open', () => {
  const requests = ['a', 'b', 'c'].map((id) => approval(id, {}))

  it('by Enter keeps no other from its answer, and is not asked again', async () => {
    const { context, printed } = chat('y', '', 'n', 'y')
    const deferred = new Set<string>()
    expect(await askAll(requests, context, deferred)).toEqual({ a: true, c: false })
    const asked = printed.length
    expect(await askAll(requests.slice(1, 2), context, deferred)).toEqual({})
    expect(printed).toHaveLength(asked)
  })

  it('by Ctrl-D leaves those after it open, too', async () => {
    const { context, printed } = chat('y')
    expect(await askAll(requests, context)).toEqual({ a: true })
    expect(printed.map(String).filter((text) => text.includes('›'))).toHaveLength(2)
  })
})

describe('/grants', () => {
  it('lists the grants of the conversation and the person, and revokes one or all', async () => {
    const store = memoryStore()
    const pay = defineTool({
      name: 'pay',
      description: 'pays',
      input: jsonSchema({ type: 'object' }),
      run: () => 'paid',
    })
    const grant = async (pattern: string, scope: string) => {
      const agent = new Agent({
        contextId: 'site:main',
        store,
        model: new ScriptedModel([{ calls: [{ tool: 'pay' }] }, 'Done']),
        tools: [pay],
        plugins: [{ name: 'asks', approve: () => ({ decision: 'ask', grants: [pattern] }) }],
      })
      const { requests } = await agent.executeTurn('Pay').outcome
      await agent.answer({ [requests[0]?.requestId ?? '']: { approved: true, scope } }).outcome
      await agent.shutdown()
    }
    await grant('pay: once more', 'session')
    await grant('pay: any arguments', 'always')
    const printed: string[] = []
    const screen = { ...look }
    const print = (text: Styled) => void printed.push(String(text).trimEnd())
    const talk = { options: { store, screen }, ready: { name: 'site' }, id: 'main', print } as unknown as Chat
    for (const line of ['/grants', '/grants revoke 1', '/grants', '/grants revoke all', '/grants'])
      expect(await runSlash(talk, line)).toBe(true)
    expect(printed).toEqual([
      '  1 session  pay: once more\n  2 always   pay: any arguments',
      '1 revoked.',
      '  1 always   pay: any arguments',
      '1 revoked.',
      'None.',
    ])
    await expect(runSlash(talk, '/grants revoke 7')).rejects.toThrow('needs the number of a grant')
    await expect(runSlash(talk, '/grants drop')).rejects.toThrow('Type /grants revoke N')
  })
})
