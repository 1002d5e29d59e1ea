import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../turn/kit.ts'
import { ServerProcess } from './fleet.ts'

const WORDS = Array.from({ length: 20 }, (_, at) => `word ${at} `).join('')

type Chunks = ReadableStream<UIMessageChunk>

function person(text: string): UIMessage {
  return { id: `m-${text}`, role: 'user', parts: [{ type: 'text', text }] }
}

async function last(stream: Chunks, message?: UIMessage): Promise<UIMessage | undefined> {
  let newest = message
  const options = { stream, terminateOnError: true, ...(message === undefined ? {} : { message }) }
  for await (const each of readUIMessageStream(options)) newest = each
  return newest
}

function chatOf(url: string) {
  const transport = new DefaultChatTransport({ api: `${url}/ui/chat` })
  return {
    resume: (chatId: string) => transport.reconnectToStream({ chatId }) as Promise<Chunks>,
    send: (chatId: string, messages: UIMessage[]) =>
      transport.sendMessages({
        chatId,
        messages,
        trigger: 'submit-message',
        messageId: undefined,
        abortSignal: undefined,
      }),
  }
}

test('conversations of the OpenAI package and the AI SDK go on after kill -9, and every effect is one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-protocols-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const first = await ServerProcess.start({ folder })
  const { send, resume } = chatOf(first.url)
  const client = new OpenAI({ baseURL: `${first.url}/v1`, apiKey: 'any', maxRetries: 30 })
  const say = async (content: string, user: string) =>
    (await client.chat.completions.create({ model: 'a', messages: [{ role: 'user', content }], user }))
      .choices[0]?.message.content

  const asked = await last(await send('a:asked', [person('ask-1')]))
  expect(await say('ask-2', 'asked-2')).toContain('May "act" be run')
  const cut = (await send('a:held', [person('hold-3')])).getReader()
  const completion = say('hold-4', 'held-4')
  const responses = await client.responses.create({ model: 'a', input: 'hold-5', stream: true })
  let id = ''
  for await (const event of responses) {
    if (event.type === 'response.created') id = event.response.id
    if (event.type === 'response.in_progress') break
  }
  const effects = (): string[] => {
    try {
      return readFileSync(join(folder, 'effects.log'), 'utf8').trim().split('\n').sort()
    } catch {
      return []
    }
  }
  await until('three tools run', () => effects().length === 3)
  await first.kill()
  await expect(
    (async () => {
      while (!(await cut.read()).done);
    })(),
  ).rejects.toThrow('terminated')
  writeFileSync(join(folder, 'go'), '')
  const second = await ServerProcess.start({ folder, port: first.port })
  onTestFinished(() => second.kill())

  const held = await last(await resume('a:held'))
  expect(held?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-act', state: 'output-available', output: 'did hold-3' },
    { type: 'step-start' },
    { type: 'text', text: WORDS },
  ])
  expect(await completion).toBe(WORDS)
  let text = ''
  for await (const event of await client.responses.retrieve(id, { stream: true }))
    if (event.type === 'response.output_text.delta') text += event.delta
  expect(text).toBe(WORDS)

  const parts = asked?.parts.map((part) =>
    part.type === 'tool-act' && 'approval' in part
      ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
      : part,
  )
  const approved = { ...asked, parts } as UIMessage
  const done = await last(await send('a:asked', [person('ask-1'), approved]), structuredClone(approved))
  expect(done?.parts.find(({ type }) => type === 'tool-act')).toMatchObject({ output: 'did ask-1' })
  expect(await say('yes', 'asked-2')).toBe(WORDS)
  expect(effects()).toEqual(['ask-1', 'ask-2', 'hold-3', 'hold-4', 'hold-5'])
})
