/** The transcript, case by case (R9). */
import { beforeEach, describe, expect, it } from 'vitest'
import type { AssistantPart, Entry, Json, JsonObject, Message, SettledStatus } from '../protocol/index.ts'
import { transcript } from './transcript.ts'

let seq = 0

function entry(type: string, data: JsonObject, more: Partial<Entry> = {}): Entry {
  seq += 1
  return { seq, turn: 1, at: 1, type, v: 1, data, ...more }
}

const input = (message: string): Entry => entry('input', { message }, { turn: 0, key: `k${seq}` })
const start = (...taken: readonly Entry[]): Entry =>
  entry('turn.start', { principal: { tenant: 't', actor: 'a' } }, { takes: taken.map((one) => one.seq) })
const take = (one: Entry, as = 'message'): Entry => entry('take', { as }, { takes: [one.seq] })
const note = (text: string): Entry => entry('note', { text, from: 'hook' })
const call = (callId: string): AssistantPart => ({
  type: 'tool-call',
  callId,
  providerId: `p-${callId}`,
  tool: 'look',
  args: {},
})
const reply = (...content: readonly AssistantPart[]): Entry => entry('model.end', { content, finish: 'stop' })
const text = (said: string): AssistantPart => ({ type: 'text', text: said })
const begun = (callId: string): Entry =>
  entry('tool.start', { callId, tool: 'look', args: {}, idempotencyKey: callId, replay: 'never' })
const settled = (callId: string, status: SettledStatus = 'ok', output: string = callId): Entry =>
  entry('tool.end', { callId, status, output, display: 'not for models' })
const ended = (outcome = 'stop'): Entry => entry('turn.end', { outcome, durationMs: 1 })
const forked = (): Entry => entry('fork', { parent: 'p', at: seq })
const compacted = (upTo: Entry, summary?: string): Entry =>
  entry('compact', { upTo: upTo.seq, kept: 0, ...(summary === undefined ? {} : { summary }) })

const user = (content: string): Message => ({ role: 'user', content })
const program = (content: string): Message => ({ role: 'user', content, by: 'program' })
const assistant = (...content: readonly AssistantPart[]): Message => ({ role: 'assistant', content })
const results = (...parts: readonly [string, SettledStatus, string][]): Message => ({
  role: 'tool',
  content: parts.map(([callId, status, output]) => ({
    type: 'tool-result',
    callId,
    tool: 'look',
    status,
    output,
  })),
})

describe('what is said', () => {
  it('is what was taken, in the order of taking, and not what was not', () => {
    const [one, two, three, four] = [input('1'), input('2'), input('3'), input('4')]
    const said = [one, two, three, four, start(three, one), take(two, 'nothing')]
    expect(transcript(said)).toEqual([user('3'), user('1')])
  })

  it('leaves out takes whose input is not there, and what is no input', () => {
    const answer = entry('answer', { requestId: 'r', value: 'yes' }, { key: 'k' })
    expect(
      transcript([answer, take(answer), entry('take', { as: 'message' }, { takes: [999_999] })]),
    ).toEqual([])
  })

  it('holds notes of hooks as text of the user', () => {
    expect(transcript([note('Mind the gap.')])).toEqual([program('Mind the gap.')])
  })

  it('keeps files, reasoning and provider ids as they are', () => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'file', mediaType: 'image/png', data: 'aGk=' },
    ] as const
    const posted = entry('input', { message: content }, { key: 'k' })
    const thought: AssistantPart = { type: 'reasoning', text: 'Hm.', provider: { signature: 's' } }
    expect(transcript([posted, start(posted), reply(thought)])).toEqual([
      { role: 'user', content },
      assistant(thought),
    ])
  })

  it('tells which model said it, if that is known', () => {
    const said = entry('model.end', { content: [text('Yes.')], finish: 'stop', model: 'test/one' })
    const asked = entry('model.end', { content: [call('a')], finish: 'tools', model: 'test/two' })
    expect(transcript([said, asked, settled('a'), reply(text('No.'))])).toEqual([
      { role: 'assistant', content: [text('Yes.')], model: 'test/one' },
      { role: 'assistant', content: [call('a')], model: 'test/two' },
      results(['a', 'ok', 'a']),
      assistant(text('No.')),
    ])
  })

  it('keeps a call whose arguments cannot be used as the model wrote it', () => {
    const broken: AssistantPart = { ...call('a'), args: '{"at": ', malformed: 'it ends too early' } as never
    expect(transcript([reply(broken), settled('a', 'rejected', 'No JSON.')])).toEqual([
      assistant(broken),
      results(['a', 'rejected', 'No JSON.']),
    ])
  })

  it('has no place for an empty reply', () => {
    expect(transcript([reply(), reply(text('Yes.'))])).toEqual([assistant(text('Yes.'))])
  })

  it('is not moved by phases, warnings, claims, requests, artifacts and states', () => {
    const quiet = [
      'phase',
      'warning',
      'claim',
      'release',
      'request.start',
      'request.end',
      'artifact',
      'state',
      'late-result',
      'model.start',
      'base',
    ]
    expect(transcript(quiet.map((type) => entry(type, {})))).toEqual([])
  })
})

describe('a round', () => {
  it('is answered in the order of its calls, whatever order they ended in', () => {
    const said = [
      reply(text('Look.'), call('a'), call('b'), call('c')),
      settled('c'),
      settled('a', 'error', 'no'),
      settled('b', 'rejected', 'not allowed'),
    ]
    expect(transcript(said)).toEqual([
      assistant(text('Look.'), call('a'), call('b'), call('c')),
      results(['a', 'error', 'no'], ['b', 'rejected', 'not allowed'], ['c', 'ok', 'c']),
    ])
  })

  it('that is open is shown as far as it has come', () => {
    const asked = reply(call('a'), call('b'))
    expect(transcript([asked])).toEqual([assistant(call('a'), call('b'))])
    expect(transcript([asked, settled('b')])).toEqual([
      assistant(call('a'), call('b')),
      results(['b', 'ok', 'b']),
    ])
  })

  it('comes before everything said while it was open', () => {
    const steering = input('Hurry.')
    const said = [
      reply(call('a'), call('b')),
      note('1'),
      settled('a'),
      steering,
      take(steering),
      settled('b'),
      note('2'),
    ]
    expect(transcript(said)).toEqual([
      assistant(call('a'), call('b')),
      results(['a', 'ok', 'a'], ['b', 'ok', 'b']),
      program('1'),
      user('Hurry.'),
      program('2'),
    ])
    expect(transcript(said.slice(0, 5))).toEqual([
      assistant(call('a'), call('b')),
      results(['a', 'ok', 'a']),
      program('1'),
      user('Hurry.'),
    ])
  })

  it('is completed when its turn ends', () => {
    expect(
      transcript([
        reply(call('a'), call('b'), call('c')),
        begun('b'),
        settled('a'),
        note('1'),
        ended(),
        note('2'),
      ]),
    ).toEqual([
      assistant(call('a'), call('b'), call('c')),
      results(
        ['a', 'ok', 'a'],
        ['b', 'unknown', 'Started; its outcome is unknown.'],
        ['c', 'not-run', 'Not run: the turn ended first.'],
      ),
      program('1'),
      program('2'),
    ])
  })

  it('is completed when the model speaks again', () => {
    expect(transcript([reply(call('a')), reply(text('Never mind.'))])).toEqual([
      assistant(call('a')),
      results(['a', 'not-run', 'Not run.']),
      assistant(text('Never mind.')),
    ])
  })

  it('is not run in a fork, also what was started', () => {
    expect(
      transcript([reply(call('a'), call('b'), call('c')), begun('b'), settled('a'), note('1'), forked()]),
    ).toEqual([
      assistant(call('a'), call('b'), call('c')),
      results(
        ['a', 'ok', 'a'],
        ['b', 'not-run', 'Not run in this fork.'],
        ['c', 'not-run', 'Not run in this fork.'],
      ),
      program('1'),
    ])
  })

  it('takes the first settlement of a call, and none of calls that it does not have', () => {
    const said = [
      settled('a'),
      reply(call('a'), call('b')),
      settled('x'),
      settled('a', 'unknown', 'first'),
      settled('a', 'ok', 'second'),
      settled('b'),
      settled('b', 'error', 'after the round'),
    ]
    expect(transcript(said)).toEqual([
      assistant(call('a'), call('b')),
      results(['a', 'unknown', 'first'], ['b', 'ok', 'b']),
    ])
  })
})

describe('a late result', () => {
  const late = (callId: string, status: SettledStatus, output: Json): Entry =>
    entry('tool.late', { callId, status, output })
  const told = (callId: string, said: string): Message =>
    program(`[The call ${callId}, whose outcome was unknown, has come to an end ${said}]`)

  it('is told as text of the user, and does not change the result that was given', () => {
    expect(
      transcript([reply(call('a')), settled('a', 'unknown', 'Who knows.'), late('a', 'ok', 'Done.')]),
    ).toEqual([assistant(call('a')), results(['a', 'unknown', 'Who knows.']), told('a', '(ok): Done.')])
  })

  it('is JSON if it is no text', () => {
    expect(transcript([late('a', 'error', { litres: [4] }), late('b', 'ok', null)])).toEqual([
      told('a', '(error): {"litres":[4]}'),
      told('b', '(ok): null'),
    ])
  })

  it('comes after a round that is open, in the order in which it was said', () => {
    expect(
      transcript([reply(call('b')), note('1'), late('a', 'ok', 'Done.'), note('2'), settled('b')]),
    ).toEqual([
      assistant(call('b')),
      results(['b', 'ok', 'b']),
      program('1'),
      told('a', '(ok): Done.'),
      program('2'),
    ])
  })

  it('is forgotten and kept by cuts like all that is said', () => {
    const [one, two] = [late('a', 'ok', '1'), late('b', 'ok', '2')]
    expect(transcript([one, two, compacted(one, 'Sum.')])).toEqual([program('Sum.'), told('b', '(ok): 2')])
    expect(transcript([one, two, entry('clear', {})])).toEqual([])
  })
})

describe('a call that is started again after it asked', () => {
  const asking = (callId: string): Entry => entry('request.start', { requestId: 'r', kind: 'k', callId })
  const told = (): Entry => entry('request.end', { requestId: 'r', how: 'answered', value: true })

  it('has one result', () => {
    expect(
      transcript([
        reply(call('a'), call('b')),
        begun('a'),
        asking('a'),
        settled('b'),
        told(),
        begun('a'),
        settled('a'),
      ]),
    ).toEqual([assistant(call('a'), call('b')), results(['a', 'ok', 'a'], ['b', 'ok', 'b'])])
  })

  it('is of unknown outcome if nobody settles it, whether or not it was started again', () => {
    const unknown = [assistant(call('a')), results(['a', 'unknown', 'Started; its outcome is unknown.'])]
    expect(transcript([reply(call('a')), begun('a'), asking('a'), ended()])).toEqual(unknown)
    expect(transcript([reply(call('a')), begun('a'), asking('a'), told(), begun('a'), ended()])).toEqual(
      unknown,
    )
  })
})

describe('a round that is parked', () => {
  const asked = assistant(call('a'), call('b'), call('c'))
  let before: Entry
  let parked: Entry[]
  let next: Entry[]

  beforeEach(() => {
    before = note('0')
    parked = [
      reply(call('a'), call('b'), call('c')),
      begun('b'),
      settled('a'),
      note('1'),
      ended('input-required'),
    ]
    const posted = input('Well?')
    next = [...parked, posted, start(posted)]
  })

  it.each(['input-required', 'auth-required'])('stays open when its turn ends with %s', (outcome) => {
    expect(transcript([...parked.slice(0, -1), ended(outcome)])).toEqual([
      asked,
      results(['a', 'ok', 'a']),
      program('1'),
    ])
  })

  it.each(['stop', 'max-iterations', 'limit', 'failed', 'cancelled'])(
    'is none when its turn ends with %s',
    (outcome) => {
      expect(transcript([...parked.slice(0, -1), ended(outcome)])).toEqual([
        asked,
        results(
          ['a', 'ok', 'a'],
          ['b', 'unknown', 'Started; its outcome is unknown.'],
          ['c', 'not-run', 'Not run: the turn ended first.'],
        ),
        program('1'),
      ])
    },
  )

  it('comes before what the next turn was asked, and is closed by its results', () => {
    expect(transcript(next)).toEqual([asked, results(['a', 'ok', 'a']), program('1'), user('Well?')])
    expect(transcript([...next, settled('c'), note('2'), settled('b'), note('3')])).toEqual([
      asked,
      results(['a', 'ok', 'a'], ['b', 'ok', 'b'], ['c', 'ok', 'c']),
      program('1'),
      user('Well?'),
      program('2'),
      program('3'),
    ])
  })

  it('stays open through turns that wait again', () => {
    const again = [...next, settled('c'), ended('auth-required'), start(), note('2'), ended('input-required')]
    expect(transcript(again)).toEqual([
      asked,
      results(['a', 'ok', 'a'], ['c', 'ok', 'c']),
      program('1'),
      user('Well?'),
      program('2'),
    ])
  })

  it('is completed when the model speaks instead', () => {
    expect(transcript([...next, reply(text('Never mind.'))])).toEqual([
      asked,
      results(
        ['a', 'ok', 'a'],
        ['b', 'unknown', 'Started; its outcome is unknown.'],
        ['c', 'not-run', 'Not run.'],
      ),
      program('1'),
      user('Well?'),
      assistant(text('Never mind.')),
    ])
  })

  it('is completed when the next turn does not wait', () => {
    expect(transcript([...next, ended('failed'), note('2')])).toEqual([
      asked,
      results(
        ['a', 'ok', 'a'],
        ['b', 'unknown', 'Started; its outcome is unknown.'],
        ['c', 'not-run', 'Not run: the turn ended first.'],
      ),
      program('1'),
      user('Well?'),
      program('2'),
    ])
  })

  it('is not run in a fork, wherever that begins', () => {
    const closed = results(
      ['a', 'ok', 'a'],
      ['b', 'not-run', 'Not run in this fork.'],
      ['c', 'not-run', 'Not run in this fork.'],
    )
    expect(transcript([...parked, forked(), settled('b')])).toEqual([asked, closed, program('1')])
    expect(transcript([...next, forked(), settled('b')])).toEqual([
      asked,
      closed,
      program('1'),
      user('Well?'),
    ])
  })

  it('is forgotten with all else by a clear, and so are its results', () => {
    expect(transcript([...parked, entry('clear', {}), note('2')])).toEqual([program('2')])
    expect(transcript([...next, entry('clear', {}), settled('b'), settled('c'), note('2')])).toEqual([
      program('2'),
    ])
  })

  it('outlives a cut before it', () => {
    expect(transcript([before, ...next, compacted(before, 'Zero.'), settled('b'), settled('c')])).toEqual([
      program('Zero.'),
      asked,
      results(['a', 'ok', 'a'], ['b', 'ok', 'b'], ['c', 'ok', 'c']),
      program('1'),
      user('Well?'),
    ])
  })
})

describe('a cut', () => {
  it('forgets what was said up to its position and begins with the summary', () => {
    const [one, two, three] = [note('1'), note('2'), note('3')]
    expect(transcript([one, two, three, compacted(two, 'Counted to two.'), note('4')])).toEqual([
      program('Counted to two.'),
      program('3'),
      program('4'),
    ])
    expect(transcript([one, two, three, compacted(two), note('4')])).toEqual([program('3'), program('4')])
  })

  it('replaces the cut before it, summary and all', () => {
    const [one, two] = [note('1'), note('2')]
    const first = compacted(one, 'One.')
    expect(transcript([one, two, first, compacted(two, 'Two.')])).toEqual([program('Two.')])
    expect(transcript([one, two, first, compacted(one)])).toEqual([program('2')])
  })

  it('takes a round away with the reply that asked for it', () => {
    const asked = reply(call('a'))
    expect(transcript([asked, settled('a'), compacted(asked), note('1')])).toEqual([program('1')])
  })

  it('takes an open round away in the same way, and leaves what was said after the cut', () => {
    const [asked, one, two] = [reply(call('a')), note('1'), note('2')]
    expect(transcript([asked, one, two, compacted(one), settled('a'), note('3')])).toEqual([
      program('2'),
      program('3'),
    ])
  })

  it('of a clear forgets everything', () => {
    expect(transcript([note('1'), compacted(note('2'), 'Sum.'), entry('clear', {}), note('3')])).toEqual([
      program('3'),
    ])
  })

  it('keeps an input that was posted before and is taken after', () => {
    const waiting = input('Later.')
    expect(transcript([waiting, note('1'), entry('clear', {}), start(waiting)])).toEqual([user('Later.')])
  })
})
