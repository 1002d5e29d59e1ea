/**
 * A process of its own with an agent in it, told what to do by the test that started it. Its model replies by what was
 * said last; its tool `hold` does its effect, says so, and then holds on until it is let go or aborted.
 */
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { Agent, type Turn, type TurnOptions } from '../../src/agent/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, defineTool } from '../../src/tool/index.ts'

export type Command =
  | { readonly do: 'start' | 'cancel' | 'let go' | 'close' }
  | { readonly do: 'say'; readonly text: string; readonly options?: TurnOptions }
  | { readonly do: 'answer'; readonly value: Json }

/** `started` and `cancelled` answer commands, `holding` and `aborted` come from the tool, the rest from a turn. */
export type Report =
  | {
      readonly what: 'ready' | 'started' | 'cancelled' | 'holding' | 'aborted' | 'closed'
      readonly at: number
    }
  | { readonly what: 'entry'; readonly type: string; readonly turn: number; readonly at: number }
  | {
      readonly what: 'outcome'
      readonly of: string
      readonly reason: string
      readonly turn: number
      readonly text: string
      readonly code?: string
      readonly at: number
    }

type Unsent<T> = T extends unknown ? Omit<T, 'at'> : never

function report(said: Unsent<Report>): void {
  process.send?.({ ...said, at: Date.now() })
}

function reply(said: string, replied: number): ScriptedStep {
  if (replied === 0 && said.startsWith('hold')) return { calls: [{ tool: 'hold' }] }
  if (replied === 0 && said.startsWith('ask')) return { calls: [{ tool: 'choose' }] }
  return `You said ${said}.`
}

function live(path: string, log: string): void {
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  let letGo = Promise.withResolvers<void>()
  const hold = defineTool({
    name: 'hold',
    description: 'Holds on',
    input: z.object({}),
    run: async (_, { callId, signal }) => {
      appendFileSync(log, `${callId}\n`)
      report({ what: 'holding' })
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await Promise.race([letGo.promise, aborted])
      letGo = Promise.withResolvers<void>()
      if (signal.aborted) report({ what: 'aborted' })
      signal.throwIfAborted()
      return 'held'
    },
  })
  const choose = defineTool({
    name: 'choose',
    description: 'Asks',
    input: z.object({}),
    run: (_, { answers, callId }) => {
      const { which } = answers
      if (which === undefined) return ask({ kind: 'text', prompt: 'Which one?', name: 'which' })
      appendFileSync(log, `${callId}\n`)
      return { which }
    },
  })
  const model = new ScriptedModel(({ prompt }) => {
    const last = prompt.findLastIndex(({ role }) => role === 'user')
    const content = prompt[last]?.content ?? []
    const said = typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
    return reply(said, prompt.slice(last + 1).filter(({ role }) => role === 'assistant').length)
  })
  const agent = new Agent({ contextId: 'talk', store, model, tools: [hold, choose] })
  const obey = async (command: Command): Promise<void> => {
    if (command.do === 'start') {
      await agent.start()
      report({ what: 'started' })
      if (agent.turn !== undefined) follow('start', agent.turn)
    } else if (command.do === 'say') {
      follow(command.text, agent.executeTurn(command.text, command.options))
    } else if (command.do === 'answer') {
      const requests = await agent.requests()
      follow(
        'answer',
        agent.answer(Object.fromEntries(requests.map((one) => [one.requestId, command.value]))),
      )
    } else if (command.do === 'cancel') {
      await agent.cancel('from elsewhere')
      report({ what: 'cancelled' })
    } else if (command.do === 'close') {
      await agent.shutdown()
      await store.close()
      report({ what: 'closed' })
    } else letGo.resolve()
  }
  process.on('message', (command: Command) => void obey(command))
  report({ what: 'ready' })
}

function follow(of: string, turn: Turn): void {
  turn.subscribe(({ type, turn: number }) => report({ what: 'entry', type, turn: number }))
  void reportEnd(of, turn)
}

async function reportEnd(of: string, turn: Turn): Promise<void> {
  const { reason, turn: number, text, error } = await turn.outcome
  const code = error === undefined ? {} : { code: error.code }
  report({ what: 'outcome', of, reason, turn: number, text, ...code })
}

const [path, log] = process.argv.slice(2)
if (process.send !== undefined && path !== undefined && log !== undefined) live(path, log)
