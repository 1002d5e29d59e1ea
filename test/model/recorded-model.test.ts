/** The recorded model: replays its replies, to the same requests only. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Ids, systemIds } from '../../src/base/index.ts'
import { type LanguageModel, type ModelReply, type ModelRequest } from '../../src/model/index.ts'
import type { Message } from '../../src/protocol/index.ts'
import { recordedModel } from '../../src/testing/recorded-model.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { askOnce, failing } from './ask-once.ts'

let folder = ''
let path = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-recorded-'))
  path = join(folder, 'deep', 'talk.json')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function ask(model: LanguageModel, text: string, more: Partial<ModelRequest> = {}): Promise<ModelReply> {
  return askOnce(model, { messages: [{ role: 'user', content: text }], ids: systemIds, ...more })
}

async function record(): Promise<void> {
  const model = recordedModel(path, new ScriptedModel(['one', 'two'], { name: 'acme/m1' }))
  await ask(model, 'first')
  await ask(model, 'second')
  await model.done()
}

describe('a recording', () => {
  it('is made when there is none, and says the same again', async () => {
    const inner = new ScriptedModel(['one', { text: 'two', usage: { inputTokens: 5 } }], { name: 'acme/m1' })
    const first = recordedModel(path, inner)
    const recorded = [await ask(first, 'a'), await ask(first, 'b')]
    await first.done()
    const second = recordedModel(path)
    const replayed = [await ask(second, 'a'), await ask(second, 'b')]
    await second.done()
    expect(replayed).toEqual(recorded)
    expect(replayed[1]).toMatchObject({ model: 'acme/m1', usage: { inputTokens: 5 } })
    expect(readdirSync(join(folder, 'deep'))).toEqual(['talk.json'])
  })

  it('holds what was asked without headers', async () => {
    const model = recordedModel(path, new ScriptedModel(['one']))
    await ask(model, 'a', { settings: { temperature: 0, headers: { authorization: 'Bearer secret' } } })
    await model.done()
    const text = readFileSync(path, 'utf8')
    expect(text).not.toContain('secret')
    expect(JSON.parse(text)).toMatchObject({
      format: 1,
      model: { specificationVersion: 'v3', provider: 'scripted', modelId: 'model' },
      calls: [
        {
          request: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }], temperature: 0 },
          parts: expect.arrayContaining([{ type: 'text-delta', id: 'text-0', delta: 'o' }]),
        },
      ],
    })
  })

  it('does not mind that ids of calls differ from run to run', async () => {
    const talk = async (model: LanguageModel, prefix: string): Promise<ModelReply> => {
      let count = 0
      const ids: Ids = { next: () => `${prefix}${++count}` }
      const { content, model: name } = await ask(model, 'look', { ids })
      const results = content.flatMap((part) =>
        part.type === 'tool-call'
          ? [
              {
                type: 'tool-result',
                callId: part.callId,
                tool: part.tool,
                status: 'ok',
                output: 'x',
              } as const,
            ]
          : [],
      )
      const messages: Message[] = [
        { role: 'user', content: 'look' },
        { role: 'assistant', content, model: name },
        { role: 'tool', content: results },
      ]
      return ask(model, '', { ids, messages })
    }
    const calls = [{ tool: 'a' }, { tool: 'b' }]
    const recorder = recordedModel(path, new ScriptedModel([{ calls }, 'seen']))
    await talk(recorder, 'one-')
    await recorder.done()
    const replay = recordedModel(path)
    expect((await talk(replay, 'two-')).content).toEqual([{ type: 'text', text: 'seen' }])
    await replay.done()
  })

  it('is made anew when asked for', async () => {
    await record()
    const model = recordedModel(path, new ScriptedModel(['new']), { mode: 'record' })
    await ask(model, 'first')
    await model.done()
    const again = recordedModel(path)
    expect((await ask(again, 'first')).content).toEqual([{ type: 'text', text: 'new' }])
    await again.done()
  })

  it('holds failures too', async () => {
    const inner = new ScriptedModel([
      { error: { status: 429, message: 'slow', retryAfter: 2 } },
      { error: { status: 529, message: 'busy' }, after: 'half' },
      { text: 'cut', finish: 'none' },
    ])
    const talk = async (model: LanguageModel) => {
      const seen: unknown[] = []
      for (const text of ['a', 'b', 'c']) {
        const { kind, message, retryAfterMs, partial } = await failing(ask(model, text))
        seen.push([kind, message, retryAfterMs, partial])
      }
      return seen
    }
    const recorder = recordedModel(path, inner)
    const recorded = await talk(recorder)
    await recorder.done()
    const replay = recordedModel(path)
    expect(await talk(replay)).toEqual(recorded)
    expect(recorded).toEqual([
      ['rate-limit', 'slow', 2000, []],
      ['overloaded', 'busy', undefined, [{ type: 'text', text: 'half' }]],
      [
        'cut-off',
        'The reply of scripted/model ended before it was complete.',
        undefined,
        [{ type: 'text', text: 'cut' }],
      ],
    ])
    await replay.done()
  })

  it.each([
    ['a type', { type: 'server_error', message: 'It broke.' }],
    [
      'a code in its data',
      { message: 'Bad Request', statusCode: 400, data: { error: { code: 'context_length_exceeded' } } },
    ],
    ['the code of its cause', { message: 'It broke.', cause: { code: 'ECONNRESET' } }],
  ])('holds failures that are told by %s', async (_what, error) => {
    const parts = [{ type: 'error', error }]
    const stream = new ReadableStream({
      start: (controller) => {
        for (const part of parts) controller.enqueue(part)
        controller.close()
      },
    })
    const real = Object.assign(new ScriptedModel([]), { doStream: () => Promise.resolve({ stream }) })
    const recorder = recordedModel(path, real)
    const first = await failing(ask(recorder, 'a'))
    await recorder.done()
    const again = await failing(ask(recordedModel(path), 'a'))
    expect([again.kind, again.retryable]).toEqual([first.kind, first.retryable])
    expect(first.kind).not.toBe('unknown')
  })

  const CANCELS: readonly (readonly [string, (abort: AbortController) => void])[] = [
    ['at a part', (abort) => abort.abort()],
    ['between two parts', (abort) => void setTimeout(() => abort.abort())],
  ]

  it.each(CANCELS)('waits where the caller had left %s', async (_where, cancel) => {
    const leave = async (model: LanguageModel) => {
      const controller = new AbortController()
      const reply = failing(ask(model, 'a', { signal: controller.signal, onDelta: () => cancel(controller) }))
      return (await reply).kind
    }
    const recorder = recordedModel(path, new ScriptedModel([{ stall: true, after: 'h' }]))
    expect(await leave(recorder)).toBe('aborted')
    await recorder.done()
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ calls: [{ left: true }] })
    const replay = recordedModel(path)
    expect(await leave(replay)).toBe('aborted')
    await replay.done()
  })
})

describe('a replay', () => {
  it('refuses another question, naming the first difference', async () => {
    await record()
    const model = recordedModel(path)
    await ask(model, 'first')
    const failure = await failing(ask(model, 'zweite'))
    const message = `The recording ${path} does not fit: call 2 differs at prompt[0].content[0].text: recorded was "second", received "zweite". Delete the file to record it again.`
    expect([failure.retryable, failure.message]).toEqual([false, message])
    await expect(model.done()).rejects.toThrow(message)
  })

  it('notices settings that are gone or new', async () => {
    await record()
    const failure = await failing(ask(recordedModel(path), 'first', { settings: { topK: 3 } }))
    expect(failure.message).toContain('call 1 differs at topK: recorded was nothing, received 3.')
  })

  it('refuses more calls than there are, and notices fewer', async () => {
    await record()
    const short = recordedModel(path)
    await ask(short, 'first')
    await expect(short.done()).rejects.toThrow('1 of its 2 calls are left over')
    const long = recordedModel(path)
    await ask(long, 'first')
    await ask(long, 'second')
    const failure = await failing(ask(long, 'third'))
    expect(failure.message).toContain('it holds 2 calls, and this is call 3')
  })

  it('needs a file that is a recording', () => {
    expect(() => recordedModel(path)).toThrow(
      `There is no recording at ${path}. Pass a model as the second argument to make one.`,
    )
    expect(() => recordedModel(path, new ScriptedModel([]), { mode: 'replay' })).toThrow(
      'There is no recording',
    )
    const other = join(folder, 'other.json')
    writeFileSync(other, '{"half":')
    expect(() => recordedModel(other)).toThrow(`The file ${other} is not a recording of format 1.`)
  })
})
