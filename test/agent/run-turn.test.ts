/** A turn with the caller's own persistence: entries arrive before their effects run. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemTimer } from '../../src/base/index.ts'
import { transcript } from '../../src/journal/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { CountingIds, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { type RunTurnOptions, runTurn } from '../../src/turn/index.ts'

const done: string[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  run: () => {
    done.push('paid')
    return 'paid'
  },
})

const common = { tools: [pay], clock: new ManualClock(), ids: new CountingIds() }

async function collect(options: RunTurnOptions, stopAfter = Number.POSITIVE_INFINITY) {
  const entries: Entry[] = []
  const turn = runTurn({ ...common, ...options })
  const seen: string[][] = []
  for (;;) {
    const { value, done: over } = await turn.next()
    if (over) return { entries, seen, result: value }
    entries.push(...value)
    seen.push([...value.map(({ type }) => type), `done ${done.length}`])
    if (seen.length >= stopAfter) return { entries, seen, result: undefined }
  }
}

describe('runTurn', () => {
  it('yields before it acts, and ends with an outcome', async () => {
    done.length = 0
    const model = new ScriptedModel([{ calls: [{ tool: 'pay', args: {} }] }, 'Done.'])
    const { seen, result, entries } = await collect({ model, message: 'Pay' })
    expect(seen).toEqual([
      ['input', 'done 0'],
      ['turn.start', 'model.start', 'done 0'],
      ['model.end', 'tool.start', 'done 0'],
      ['tool.end', 'model.start', 'done 1'],
      ['model.end', 'turn.end', 'done 1'],
    ])
    expect(result?.outcome).toBe('stop')
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(transcript(entries)).toHaveLength(4)
  })

  it('projects a message once, however often the model is asked', async () => {
    const model = new ScriptedModel([{ calls: [{ tool: 'pay', args: {} }] }, 'Done.'])
    await collect({ model, message: 'Pay' })
    const [first, second] = model.calls.map(({ prompt }) => prompt)
    expect([first?.length, second?.length]).toEqual([1, 3])
    expect(second?.[0]).toBe(first?.[0])
  })

  it('goes on from what was stored, with the call that may have happened as unknown', async () => {
    done.length = 0
    const first = await collect(
      { model: new ScriptedModel([{ calls: [{ tool: 'pay', args: {} }] }]), message: 'Pay' },
      3,
    )
    const { entries: more, result } = await collect({
      model: new ScriptedModel(['I cannot tell.']),
      message: null,
      entries: first.entries,
    })
    expect(more.map(({ type, data }) => [type, data['status']]).slice(0, 2)).toEqual([
      ['tool.end', 'unknown'],
      ['model.start', undefined],
    ])
    expect(done).toEqual([])
    expect(result?.outcome).toBe('stop')
  })

  it('remembers the turns before', async () => {
    const first = await collect({ model: new ScriptedModel(['One.']), message: 'First' })
    const model = new ScriptedModel(['Two.'])
    await collect({ model, message: 'Second', entries: first.entries })
    expect(model.calls[0]?.prompt).toHaveLength(3)
  })

  it.each(['', ' ', [], [{ type: 'text', text: ' ' }], [{ type: 'file' }], 5, undefined])(
    'refuses %j as a message',
    async (message) => {
      const options = { model: new ScriptedModel([]), message: message as never }
      await expect(collect(options)).rejects.toMatchObject({ code: 'invalid-option' })
    },
  )

  it('has results that came too late in its journal', async () => {
    const held = Promise.withResolvers<string>()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      timeoutMs: 5,
      run: () => held.promise,
    })
    const model = new ScriptedModel([
      { calls: [{ tool: 'slow', args: {} }] },
      async () => {
        held.resolve('at last')
        await new Promise((resolve) => setTimeout(resolve, 10))
        return 'Done.'
      },
    ])
    const { entries } = await collect({ model, tools: [slow], message: 'Go', timer: systemTimer })
    expect(entries.slice(-4).map(({ type, takes }) => [type, takes])).toEqual([
      ['late-result', undefined],
      ['model.end', undefined],
      ['tool.late', [8]],
      ['turn.end', undefined],
    ])
  })

  it('ends with whoever leaves it', async () => {
    const model = new ScriptedModel(['One.'])
    const turn = runTurn({ ...common, model, message: 'Go' })
    for await (const entries of turn) if (entries.some(({ type }) => type === 'model.start')) break
    expect(await turn.next()).toEqual({ value: undefined, done: true })
    expect(model.calls).toEqual([])
  })

  it('aborts the tools that run when it is left, and waits for them', async () => {
    const ended: string[] = []
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: (_, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener('abort', () =>
            setImmediate(() => {
              ended.push('slow')
              resolve('stopped')
            }),
          )
        }),
    })
    for (const signal of [undefined, new AbortController().signal]) {
      const model = new ScriptedModel([{ calls: ['pay', 'slow'].map((tool) => ({ tool, args: {} })) }])
      const options = { ...common, tools: [pay, slow], model, message: 'Go', ...(signal && { signal }) }
      for await (const entries of runTurn(options)) if (entries.some(({ type }) => type === 'tool.end')) break
    }
    expect(ended).toEqual(['slow', 'slow'])
  })

  it('refuses a message in the middle of a turn', async () => {
    const first = await collect({ model: new ScriptedModel(['One.']), message: 'First' }, 2)
    await expect(
      collect({ model: new ScriptedModel([]), message: 'Second', entries: first.entries }),
    ).rejects.toMatchObject({ code: 'busy' })
  })
})
