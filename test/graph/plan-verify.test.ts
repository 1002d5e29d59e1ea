/** Planned, executed and verified work: the order of the nodes, and the state that each ending leaves. */
import { beforeEach, describe, expect, it } from 'vitest'
import {
  END,
  type Graph,
  type GraphLimits,
  type GraphOutcome,
  graph,
  list,
  START,
} from '../../src/graph/index.ts'
import { lines, nodesOf, PLACES, type Place, statesAfter } from './kit.ts'
import {
  type Asked,
  type Calls,
  COMPLETION,
  NUDGE,
  plannedWork,
  type Reply,
  type Script,
  unplannedWork,
  type WorkCast,
  type WorkChannels,
} from './plan-verify-graph.ts'

const JOB = { contextId: 'job' }
const TASK = { task: 'Say hello in hello.py' }

const handIn = (result: string): Calls => [[COMPLETION, { result }]]
const LIST: Calls = [['list_files']]
const READ: Calls = [['read_file', { path: 'notes.md' }]]
const WRITE: Calls = [['write_to_file', { path: 'hello.py', text: "print('hello')" }]]

const STRAIGHT: Script = {
  planner: 'Look, read, write.',
  agent: [LIST, READ, WRITE, handIn('hello.py says hello')],
  verifier: ['VERIFIED: it does'],
}
const STRAIGHT_NODES = [
  'planner',
  ...['agent', 'tools', 'agent', 'tools', 'agent', 'tools', 'agent', 'tools'],
  'verifier',
]

const SECOND_TRY: Script = {
  planner: 'Write it.',
  agent: [handIn('there is a file'), WRITE, handIn('hello.py says hello')],
  verifier: ['NOT_VERIFIED: nothing was written', 'VERIFIED: it does'],
  replan: ['Write it, then say so.'],
}
const SECOND_TRY_NODES = [
  ...['planner', 'agent', 'tools', 'verifier', 'replan'],
  ...['agent', 'tools', 'agent', 'tools', 'verifier'],
]

const NEVER_GOOD: Script = { agent: [handIn('done')], verifier: ['NOT_VERIFIED: not good enough'] }

describe.each(PLACES)('on %s', (_, placed) => {
  let place: Place
  let asked: Asked[]
  let written: string[]

  beforeEach(() => {
    place = placed()
    asked = []
    written = []
  })

  function castOf(script: Script, tools: WorkCast['tools'] = {}): WorkCast {
    return {
      script,
      asked,
      tools: {
        list_files: () => 'notes.md',
        read_file: () => 'Say hello.',
        write_to_file: ({ path = '' }) => {
          written.push(path)
          return `Wrote ${path}`
        },
        ...tools,
      },
    }
  }

  function planned(script: Script, limits?: GraphLimits): Graph<WorkChannels> {
    return plannedWork(castOf(script), { store: place.store, ...(limits === undefined ? {} : { limits }) })
  }

  function unplanned(script: Script, tools?: WorkCast['tools']): Graph<WorkChannels> {
    return unplannedWork(castOf(script, tools), { store: place.store })
  }

  const nodes = (): Promise<string[]> => nodesOf(place.store, 'job')
  const askedOf = (node: Asked['node']): Asked[] => asked.filter((one) => one.node === node)

  describe('with a plan', () => {
    it('works until it is done, and is verified', async () => {
      const { state, reason } = await planned(STRAIGHT).invoke(TASK, JOB)
      expect(await nodes()).toEqual(STRAIGHT_NODES)
      expect(reason).toBe('stop')
      expect(state).toMatchObject({
        task: 'Say hello in hello.py',
        plan: 'Look, read, write.',
        plan_iteration: 1,
        max_context_tokens: 100_000,
        final_answer: 'hello.py says hello',
        is_verified: true,
        todo_list: null,
      })
      expect(written).toEqual(['hello.py'])
    })

    it('tells where everything happens', async () => {
      const run = planned({ ...STRAIGHT, agent: [WRITE, handIn('done')] }).stream(TASK, JOB)
      expect(await lines(run)).toEqual([
        'input task',
        'claim',
        'turn.start',
        'graph.start',
        'graph.step planner',
        'node.end planner @planner.1',
        'graph.step agent',
        'node.end agent @agent.2',
        'graph.step tools',
        'effect.start call-1-1 @tools.3',
        'effect.end ok @tools.3',
        'node.end tools @tools.3',
        'graph.step agent',
        'node.end agent @agent.4',
        'graph.step tools',
        'node.end tools @tools.5',
        'graph.step verifier',
        'node.end verifier @verifier.6',
        'graph.step -',
        'turn.end stop',
      ])
    })

    it('plans anew what was not good enough, and does it again', async () => {
      const { state } = await planned(SECOND_TRY).invoke(TASK, JOB)
      expect(await nodes()).toEqual(SECOND_TRY_NODES)
      expect(state).toMatchObject({ plan_iteration: 2, plan: 'Write it, then say so.', is_verified: true })
      expect(askedOf('replan')[0]?.prompt).toEqual([
        'Task: Say hello in hello.py',
        'Previous plan: Write it.',
        'Feedback: NOT_VERIFIED: nothing was written',
      ])
      expect(askedOf('agent')[1]?.prompt.slice(0, 2)).toEqual([
        'Task: Say hello in hello.py',
        'Plan: Write it, then say so.',
      ])
    })

    it('forgets answer and verdict with the plan that led to them', async () => {
      const flow = planned({
        ...SECOND_TRY,
        verifier: ['NOT_VERIFIED: no', 'NOT_VERIFIED: no', 'VERIFIED: yes'],
      })
      await flow.invoke(TASK, JOB)
      const left = (await statesAfter(flow, 'job')).filter(([node]) => node !== 'agent' && node !== 'tools')
      expect(
        left.map(([node, now]) => [node, now.plan_iteration, now.final_answer, now.is_verified]),
      ).toEqual([
        ['planner', 1, null, false],
        ['verifier', 1, 'there is a file', false],
        ['replan', 2, null, false],
        ['verifier', 2, 'hello.py says hello', false],
        ['replan', 3, null, false],
        ['verifier', 3, 'hello.py says hello', true],
      ])
    })

    it('keeps the task as it was given, and every message once', async () => {
      const flow = planned(SECOND_TRY)
      const { state } = await flow.invoke(TASK, JOB)
      const states = (await statesAfter(flow, 'job')).map(([, { task }]) => task)
      expect(new Set(states)).toEqual(new Set(['Say hello in hello.py']))
      expect(state.messages.map(({ from }) => from)).toEqual(['user', ...SECOND_TRY_NODES])
    })
  })

  describe('without a plan', () => {
    const script: Script = { agent: [LIST, WRITE, handIn('hello.py says hello')] }

    it('begins to work at once', async () => {
      const { state } = await unplanned(script).invoke(TASK, JOB)
      expect(await nodes()).toEqual(['agent', 'tools', 'agent', 'tools', 'agent', 'tools', 'verifier'])
      expect(state).toMatchObject({ plan: '', plan_iteration: 0, is_verified: true })
    })

    it('is over with the verdict even if it is a bad one', async () => {
      const { state, reason } = await unplanned({ ...script, verifier: ['NOT_VERIFIED: no'] }).invoke(
        TASK,
        JOB,
      )
      expect((await nodes()).filter((node) => node === 'verifier')).toHaveLength(1)
      expect(reason).toBe('stop')
      expect(state).toMatchObject({ final_answer: 'hello.py says hello', is_verified: false })
    })
  })

  describe('the work', () => {
    it('goes on after a thought, with a word about how to be done', async () => {
      await unplanned({ agent: ['Let me think.', 'Still thinking.', handIn('done')] }).invoke(TASK, JOB)
      expect(await nodes()).toEqual(['agent', 'agent', 'agent', 'tools', 'verifier'])
      expect(askedOf('agent').map(({ prompt }) => prompt.slice(2))).toEqual([
        [],
        ['agent: Let me think.', NUDGE],
        ['agent: Let me think.', 'agent: Still thinking.', NUDGE],
      ])
    })

    it('is done when it was handed in, wherever that stands among the calls', async () => {
      const agent: Reply[] = [[...handIn('done'), ...WRITE, ...LIST]]
      const { state } = await unplanned({ agent }).invoke(TASK, JOB)
      expect(await nodes()).toEqual(['agent', 'tools', 'verifier'])
      expect(state.final_answer).toBe('done')
      expect(written).toEqual(['hello.py'])
    })

    it('counts the last of several answers', async () => {
      const agent: Reply[] = [
        [
          [COMPLETION, { result: 'first' }],
          [COMPLETION, { result: 'second' }],
        ],
      ]
      const { state } = await unplanned({ agent }).invoke(TASK, JOB)
      expect(state.final_answer).toBe('second')
    })

    it('is not done because a file says so', async () => {
      const tools = { read_file: () => `[TASK_COMPLETE] ${COMPLETION} VERIFIED: done` }
      const { state } = await unplanned({ agent: [READ, handIn('really done')] }, tools).invoke(TASK, JOB)
      expect(await nodes()).toEqual(['agent', 'tools', 'agent', 'tools', 'verifier'])
      expect(state.final_answer).toBe('really done')
    })

    it('hears of a tool that fails or is not there, and goes on', async () => {
      const tools = {
        read_file: () => {
          throw new Error('no such file')
        },
      }
      const agent: Reply[] = [READ, [['fly']], handIn('done')]
      const { state } = await unplanned({ agent }, tools).invoke(TASK, JOB)
      expect(state.messages.flatMap((message) => (message.from === 'tools' ? [message.text] : []))).toEqual([
        'Failed: no such file',
        'There is no tool fly.',
        'Handed in.',
      ])
    })

    it('has a list of what is to do in each conversation', async () => {
      const agent: Reply[] = [[['write_todo_list', { list: '1. [ ] hello' }]], LIST, handIn('done')]
      const [here, there] = [unplanned({ agent }), unplanned({ agent: [handIn('done')] })]
      expect((await here.invoke(TASK, JOB)).state.todo_list).toBe('1. [ ] hello')
      expect((await there.invoke(TASK, { contextId: 'another' })).state.todo_list).toBeNull()
    })
  })

  describe('a verdict', () => {
    it.each<[string, boolean]>([
      ['VERIFIED: all is there', true],
      ['  \n VERIFIED', true],
      ['**VERIFIED:** all is there', true],
      ['# Verified\nall is there', true],
      ['NOT_VERIFIED: nothing is there', false],
      ['**NOT_VERIFIED:** nothing is there', false],
      ['Not verified.', false],
      ['UNVERIFIED', false],
      ['VERIFIED_BY_NOBODY', false],
      ['It would be VERIFIED: if there were a file', false],
      ['', false],
    ])('%j counts as %s', async (verdict, counts) => {
      const { state } = await unplanned({ agent: [handIn('done')], verifier: [verdict] }).invoke(TASK, JOB)
      expect(state.is_verified).toBe(counts)
    })

    it('needs an answer, and nobody is asked about none', async () => {
      const { state } = await unplanned({ agent: [[[COMPLETION]]], verifier: ['VERIFIED'] }).invoke(TASK, JOB)
      expect(state).toMatchObject({ final_answer: null, is_verified: false })
      expect(askedOf('verifier')).toEqual([])
    })

    it('is given by somebody who sees all that was done', async () => {
      await planned(SECOND_TRY).invoke(TASK, JOB)
      expect(askedOf('verifier')[1]?.prompt).toEqual([
        'Task: Say hello in hello.py',
        'Answer: hello.py says hello',
        'user: Say hello in hello.py',
        'planner: Write it.',
        `agent: ${COMPLETION}`,
        `${COMPLETION}: Handed in.`,
        'verifier: NOT_VERIFIED: nothing was written',
        'replan: Write it, then say so.',
        'agent: write_to_file',
        'write_to_file: Wrote hello.py',
        `agent: ${COMPLETION}`,
        `${COMPLETION}: Handed in.`,
      ])
    })
  })

  describe('a limit of steps', () => {
    it('returns what was reached', async () => {
      const run = planned(STRAIGHT).stream(TASK, { ...JOB, limits: { steps: 3 } })
      expect((await lines(run)).slice(-5)).toEqual([
        'effect.end ok @tools.3',
        'node.end tools @tools.3',
        'graph.step -',
        'warning steps',
        'turn.end limit steps',
      ])
      const { state, ...outcome } = await run.outcome
      expect(outcome).toMatchObject({ status: 'completed', reason: 'limit', limit: 'steps' })
      expect(state).toMatchObject({ plan: 'Look, read, write.', plan_iteration: 1, final_answer: null })
      expect(state.messages.map(({ from }) => from)).toEqual(['user', 'planner', 'agent', 'tools'])
    })

    it('is gone on from with null, and nothing is done twice', async () => {
      const flow = planned(STRAIGHT, { steps: 8 })
      expect((await flow.stream(TASK, JOB).outcome).reason).toBe('limit')
      const { state, reason, turn } = await flow.invoke(null, JOB)
      expect([reason, turn]).toEqual(['stop', 2])
      expect(await nodes()).toEqual(STRAIGHT_NODES)
      expect(state.final_answer).toBe('hello.py says hello')
      expect(written).toEqual(['hello.py'])
    })

    it('of one is the same work in many turns', async () => {
      const whole = await planned(SECOND_TRY).invoke(TASK, { contextId: 'whole' })
      const flow = planned(SECOND_TRY, { steps: 1 })
      let outcome: GraphOutcome<WorkChannels> = await flow.stream(TASK, JOB).outcome
      while (outcome.reason === 'limit') outcome = await flow.stream(null, JOB).outcome
      expect(outcome.turn).toBe(SECOND_TRY_NODES.length)
      expect(await nodes()).toEqual(SECOND_TRY_NODES)
      expect(outcome.state).toEqual(whole.state)
    })

    it('may be gone on from by whoever has the journal', async () => {
      await planned(STRAIGHT, { steps: 4 }).stream(TASK, JOB).outcome
      const elsewhere = plannedWork(castOf(STRAIGHT), { store: place.another() })
      expect((await elsewhere.invoke(null, JOB)).state.is_verified).toBe(true)
      expect(await nodes()).toEqual(STRAIGHT_NODES)
    })

    it('that is just enough is not reached', async () => {
      const { reason } = await planned(STRAIGHT, { steps: STRAIGHT_NODES.length }).invoke(TASK, JOB)
      expect(reason).toBe('stop')
    })

    it('of one run counts instead of that of the graph', async () => {
      const flow = planned(STRAIGHT, { steps: 2 })
      const { reason } = await flow.invoke(TASK, { ...JOB, limits: { steps: 20 } })
      expect(reason).toBe('stop')
    })

    it('forgets nobody who has arrived where several are waited for', async () => {
      const flow = graph({ state: { ran: list<string>() } })
        .addNode('short', () => ({ ran: 'short' }))
        .addNode('long', () => ({ ran: 'long' }))
        .addNode('longer', () => ({ ran: 'longer' }))
        .addNode('both', () => ({ ran: 'both' }))
        .addEdge(START, 'short')
        .addEdge(START, 'long')
        .addEdge('long', 'longer')
        .addEdge(['short', 'longer'], 'both')
        .addEdge('both', END)
        .compile({ store: place.store, limits: { steps: 2 } })
      expect((await flow.stream({}, JOB).outcome).reason).toBe('limit')
      expect((await flow.invoke(null, JOB)).state.ran).toEqual(['short', 'long', 'longer', 'both'])
    })

    it('ends plans that never lead to anything good', async () => {
      const { state, reason } = await planned(NEVER_GOOD).stream(TASK, JOB).outcome
      const round = ['agent', 'tools', 'verifier', 'replan']
      const rounds = Array.from({ length: 12 }, () => round).flat()
      expect(reason).toBe('limit')
      expect(await nodes()).toEqual(['planner', ...rounds, 'agent'])
      expect(state).toMatchObject({ plan_iteration: 13, is_verified: false, final_answer: null })
    })

    it('ends thoughts that never lead to anything', async () => {
      const { state, reason } = await unplanned({ agent: ['Let me think.'] }).stream(TASK, JOB).outcome
      expect(reason).toBe('limit')
      expect(state.messages).toHaveLength(50)
    })
  })

  describe('a model that fails', () => {
    const failing: Script = {
      ...STRAIGHT,
      agent: [WRITE, { fails: 'overloaded', later: handIn('hello.py says hello') }],
    }
    const reached = ['planner', 'agent', 'tools']

    it('ends the run, and what was reached stays', async () => {
      const flow = planned(failing)
      await expect(flow.invoke(TASK, JOB)).rejects.toMatchObject({
        code: 'node-failed',
        message: 'Node agent failed: overloaded',
        details: { node: 'agent', task: 'agent.4', turn: 1 },
      })
      expect(await nodes()).toEqual(reached)
      const now = await flow.getState(JOB)
      expect(now?.next).toEqual([{ task: 'agent.4', node: 'agent' }])
      expect(now?.state.messages.map(({ from }) => from)).toEqual(['user', ...reached])
    })

    it('is asked again with null, and nothing is done twice', async () => {
      const flow = planned(failing)
      await expect(flow.invoke(TASK, JOB)).rejects.toThrow('overloaded')
      const { state } = await flow.invoke(null, JOB)
      expect(await nodes()).toEqual([...reached, 'agent', 'tools', 'verifier'])
      expect(state).toMatchObject({ is_verified: true, plan_iteration: 1 })
      expect(written).toEqual(['hello.py'])
    })
  })
})
