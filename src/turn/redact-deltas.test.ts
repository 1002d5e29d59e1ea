import { expect, it } from 'vitest'
import type { ModelDelta } from '../model/index.ts'
import { redactorOf } from '../tool/index.ts'
import { redactDeltas } from './redact-deltas.ts'

it('no secret is pieced together from deltas, in whatever order they come', () => {
  const secrets = redactorOf({ token: 'sk-supersecret-0123456789' })
  const texts = new Map<string, string>()
  const pipe = redactDeltas(secrets, (delta) => {
    const kind = delta.type === 'call.delta' ? delta.callId : delta.type
    texts.set(kind, (texts.get(kind) ?? '') + delta.text)
  })
  const call = (callId: string, text: string): ModelDelta => ({ type: 'call.delta', callId, tool: 't', text })
  pipe.push(call('1', '{"h":"sk-supersec'))
  pipe.push({ type: 'text.delta', text: 'I use sk-super' })
  pipe.push(call('2', '{"h":'))
  pipe.push(call('1', 'ret-0123456789"}'))
  pipe.push({ type: 'text.delta', text: 'secret-0123456789.' })
  pipe.push(call('2', '"sk-supers'))
  pipe.end()
  expect(Object.fromEntries(texts)).toEqual({
    1: '{"h":"[redacted]"}',
    2: '{"h":"[redacted]',
    'text.delta': 'I use [redacted].',
  })
})
