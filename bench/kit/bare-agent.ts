/**
 * The baseline of a whole turn: a simple handwritten loop. It streams the same model, calls the same tool and writes the
 * same entries in the same four commits; no fence, no recovery, no limits, no checks, one reader.
 */
import type { LanguageModel } from 'holdfast'
import { ARGS, listTasks, type ModelCall, QUESTION, quickModel, TOOL } from './agent.ts'
import type { BareLog } from './bare.ts'
import { CLAIM, type Talk } from './turn.ts'

const WINDOW = 100

export class BareAgent {
  readonly #log: Pick<BareLog, 'write'>
  readonly #talk: Talk
  readonly #model: LanguageModel = quickModel()
  #prompt: ModelCall['prompt'][number][] = []
  /** So that nobody can say that they were not looked at. */
  deltas = 0

  constructor(log: Pick<BareLog, 'write'>, talk: Talk) {
    this.#log = log
    this.#talk = talk
  }

  async playTurn(): Promise<void> {
    const talk = this.#talk
    const turn = talk.turn + 1
    const principal = { tenant: talk.key.tenant, actor: talk.key.actor }
    const callId = `call_${turn}_1`
    const say = (type: string, data: object) => ({ type, turn, data })
    const thinks = (iteration: number) => say('model.start', { model: 'bench/quick', iteration })

    this.#prompt.push({ role: 'user', content: [{ type: 'text', text: QUESTION }] })
    this.#log.write(talk, [
      { type: 'input', turn: 0, key: `input-${turn}`, data: { message: QUESTION, principal } },
      { type: 'claim', turn: 0, data: { epoch: turn, ...CLAIM, attempt: 1 } },
      say('turn.start', { principal }),
      thinks(1),
    ])

    const asked = await this.#ask()
    const call = { type: 'tool-call', callId, providerId: 'call-1', tool: TOOL, args: ARGS }
    const said = {
      content: [{ type: 'text', text: asked.text }, call],
      finish: 'tool-calls',
      usage: asked.usage,
    }
    const intent = { callId, tool: TOOL, args: ARGS, idempotencyKey: callId, replay: 'never' }
    this.#log.write(talk, [say('model.end', said), say('tool.start', intent)])

    const output = await listTasks(ARGS)
    this.#prompt.push(
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: callId, toolName: TOOL, input: ARGS }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: callId,
            toolName: TOOL,
            output: { type: 'json', value: output },
          },
        ],
      },
    )
    this.#log.write(talk, [say('tool.end', { callId, status: 'ok', output }), thinks(2)])

    const { text, usage } = await this.#ask()
    this.#prompt.push({ role: 'assistant', content: [{ type: 'text', text }] })
    this.#log.write(talk, [
      say('model.end', { content: [{ type: 'text', text }], finish: 'stop', usage }),
      say('turn.end', { outcome: 'stop', usage, durationMs: 1 }),
    ])
    if (this.#prompt.length > WINDOW) this.#prompt = this.#prompt.slice(-WINDOW)
    talk.turn = turn
  }

  async #ask(): Promise<{ text: string; usage: object }> {
    const { stream } = await this.#model.doStream({ prompt: this.#prompt })
    const reader = stream.getReader()
    let text = ''
    let usage = {}
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { text, usage }
      if (value.type === 'text-delta') {
        text += value.delta
        this.deltas += 1
      }
      if (value.type === 'finish')
        usage = {
          inputTokens: value.usage?.inputTokens.total,
          outputTokens: 140,
          cachedTokens: 1024,
          costUsd: 0,
        }
    }
  }
}
