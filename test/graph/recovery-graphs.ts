/** The graphs that are crashed at every point: one for each feature of a run. */
import { agentNode, modelNode, pendingCalls, toolNode } from '../../src/agent/index.ts'
import {
  type Channels,
  END,
  type Graph,
  graph,
  list,
  merge,
  reduce,
  Send,
  START,
  value,
} from '../../src/graph/index.ts'
import type { Message, RequestData } from '../../src/protocol/index.ts'
import type { ScriptedStep } from '../../src/testing/index.ts'
import type { GraphPlay, GraphProcess } from './recovery-world.ts'

const safe = { replay: 'safe', tool: 'look' } as const
const log = { log: list<string>() }
const start = { inputs: [{ log: ['begun'] }] } as const

const yes = ({ prompt }: RequestData): string => `yes to ${prompt}`

/** Two nodes, each with an effect of either kind. `how`: its behaviour when the outcome is unknown. */
function chain(how: 'step' | 'tryStep') {
  return (process: GraphProcess): Graph<Channels> =>
    process.compile(
      graph({ state: { ...log, last: value<string>() } })
        .addNode('first', async (_, context) => {
          const paid = await process[how](context, 'pay for it')
          return { log: [paid, await process.step(context, 'look at it', safe)], last: context.task }
        })
        .addNode('second', async ({ last }, context) => {
          const looked = await process.step(context, 'look again', safe)
          return { log: [looked, await process[how](context, 'pay again'), last ?? ''], last: context.task }
        })
        .addEdge(START, 'first')
        .addEdge('first', 'second')
        .addEdge('second', END),
    )
}

/** Three branches of different lengths, two of which are joined. */
function branches(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({
      state: { ...log, seen: merge<Record<string, number>>({}), sum: reduce<number>((a, b) => a + b, 0) },
    })
      .addNode('split', () => ({ log: 'split' }))
      .addNode('left', async (_, context) => {
        const paid = await process.tryStep(context, 'left pays', { length: 3 })
        return { log: paid, seen: { left: 1 }, sum: 1 }
      })
      .addNode('right', async (_, context) => {
        const looked = await process.step(context, 'right looks', { ...safe, length: 1 })
        return { log: [looked, await process.tryStep(context, 'right pays')], seen: { right: 2 }, sum: 2 }
      })
      .addNode('further', async (_, context) => {
        const both = [{}, { length: 2 }].map((doing, n) => process.tryStep(context, `further ${n}`, doing))
        return { log: await Promise.all(both), seen: { left: 3 }, sum: 4 }
      })
      .addNode('join', async ({ sum }, context) => ({
        log: [String(sum), await process.tryStep(context, 'join pays')],
      }))
      .addEdge(START, 'split')
      .addEdge('split', 'left')
      .addEdge('split', 'right')
      .addEdge('left', 'further')
      .addEdge(['further', 'right'], 'join')
      .addEdge('join', END),
  )
}

function looping(rounds: number, limits: { readonly steps?: number } = {}) {
  return (process: GraphProcess): Graph<Channels> =>
    process.compile(
      graph({ state: { ...log, round: value(0) } })
        .addNode('round', async ({ round }, context) => ({
          log: await process.tryStep(context, 'pay'),
          round: round + 1,
        }))
        .addNode('rest', async (_, context) => ({ log: await process.step(context, 'look', safe) }))
        .addEdge(START, 'round')
        .addConditionalEdges('round', ({ round }) => (round < rounds ? 'more' : 'enough'), {
          more: 'round',
          enough: 'rest',
        })
        .addEdge('rest', END),
      { limits },
    )
}

/** Fails twice after an effect that stays done; a failed effect runs again in the next attempt. */
function retrying(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: log })
      .addNode(
        'stubborn',
        async (_, context) => {
          const paid = await process.tryStep(context, 'pay once')
          const { attempt } = context
          const tried = await process.tryStep(context, 'try', attempt === 1 ? { fails: 'not yet' } : {})
          const looked = await process.step(context, 'look', safe)
          if (attempt < 3) throw new Error(`failed at ${attempt}`)
          return { log: [paid, tried, looked, `attempt ${attempt}`] }
        },
        { retry: { attempts: 3, waitMs: 5, factor: 3 } },
      )
      .addNode('beside', async (_, context) => ({
        log: await process.tryStep(context, 'pay', { length: 4 }),
      }))
      .addNode('after', async (_, context) => ({ log: await process.tryStep(context, 'pay after') }))
      .addEdge(START, 'stubborn')
      .addEdge(START, 'beside')
      .addEdge(['stubborn', 'beside'], 'after')
      .addEdge('after', END),
  )
}

/** Two nodes ask at once, one of them twice and after an effect; a third works meanwhile. */
function asking(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: log })
      .addNode('one', async (_, context) => {
        const before = await process.tryStep(context, 'before asking')
        const said = await context.interrupt({ kind: 'text', prompt: 'May I?' })
        const more = await context.interrupt({ kind: 'text', prompt: 'Really?', name: 'really' })
        return { log: [before, said, more, await process.tryStep(context, 'after asking')] }
      })
      .addNode('other', async (_, context) => ({
        log: await context.interrupt({ kind: 'text', prompt: 'Which?' }),
      }))
      .addNode('third', async (_, context) => ({
        log: await process.tryStep(context, 'third', { length: 2 }),
      }))
      .addNode('last', async (_, context) => ({ log: await process.tryStep(context, 'last') }))
      .addEdge(START, 'one')
      .addEdge(START, 'other')
      .addEdge(START, 'third')
      .addEdge(['one', 'other', 'third'], 'last')
      .addEdge('last', END),
  )
}

function inner(process: GraphProcess, asks: boolean): Graph<Channels> {
  return process.compile(
    graph({ name: 'inner', state: log })
      .addNode('deep', async (_, context) => {
        const paid = await process.tryStep(context, 'deep')
        const said = asks ? await context.interrupt({ kind: 'text', prompt: 'Deep down?' }) : 'unasked'
        return { log: [paid, said, await process.step(context, 'deep look', safe)] }
      })
      .addNode('deeper', async (_, context) => ({ log: await process.tryStep(context, 'deeper') }))
      .addEdge(START, 'deep')
      .addEdge('deep', 'deeper')
      .addEdge('deeper', END),
  )
}

/** No answer arrives in time, neither here nor below. */
function unanswered(process: GraphProcess): Graph<Channels> {
  const silent = { kind: 'text', prompt: 'Anybody?', expiresInMs: 30, otherwise: 'nobody' } as const
  const below = process.compile(
    graph({ name: 'inner', state: log })
      .addNode('deep', async (_, context) => {
        const paid = await process.tryStep(context, 'deep')
        return { log: [paid, await context.interrupt(silent)] }
      })
      .addEdge(START, 'deep')
      .addEdge('deep', END),
  )
  return process.compile(
    graph({ state: log })
      .addNode('asks', async (_, context) => {
        const said = await context.interrupt(silent)
        return { log: [said, await process.tryStep(context, 'pay')] }
      })
      .addNode('below', below)
      .addEdge(START, 'asks')
      .addEdge('asks', 'below')
      .addEdge('below', END),
  )
}

/** Cancelled from inside of an effect, while another runs. */
function cancelling(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: log })
      .addNode('first', async (_, context) => ({ log: await process.tryStep(context, 'pay') }))
      .addNode('cancels', async (_, context) => {
        await process.tryStep(context, 'pay before')
        await process.step(context, 'cancel', { ...safe, also: () => process.cancel() })
        // The run waits for it only until it notices the cancel.
        while (!context.signal.aborted) await new Promise(setImmediate)
        throw new Error('cancelled')
      })
      .addNode('never', () => ({ log: 'never' }))
      .addEdge(START, 'first')
      .addEdge('first', 'cancels')
      .addEdge('cancels', 'never')
      .addEdge('never', END),
  )
}

/** A graph as a node, beside another node that runs one under its own key. */
function nested(asks: boolean) {
  return (process: GraphProcess): Graph<Channels> => {
    const below = inner(process, asks)
    return process.compile(
      graph({ state: log })
        .addNode('below', below)
        .addNode('beside', async (_, context) => {
          const paid = await process.tryStep(context, 'beside')
          const ran = await context.run('own', below, { log: ['given'] })
          return { log: [paid, ...(ran['log'] as string[])] }
        })
        .addNode('after', async (_, context) => ({ log: await process.tryStep(context, 'after') }))
        .addEdge(START, 'below')
        .addEdge(START, 'beside')
        .addEdge(['below', 'beside'], 'after')
        .addEdge('after', END),
    )
  }
}

function withAgent(approve: { readonly approve?: 'always' } = {}) {
  return (process: GraphProcess): Graph<Channels> => {
    const model = process.model({ calls: [{ tool: 'pay' }, { tool: 'look' }] }, 'Paid and seen.')
    const tools = [process.tool('pay', approve), process.tool('look', { replay: 'safe' })]
    return process.compile(
      graph({ state: { ...log, text: value<string>() } })
        .addNode('before', async (_, context) => ({ log: await process.tryStep(context, 'before') }))
        .addNode('clerk', agentNode({ model, tools, maxClaims }), {
          input: (state) => `Pay ${(state.log as string[]).length}.`,
          output: (text) => ({ text }),
        })
        .addNode('after', async ({ text }, context) => ({
          log: [text ?? '', await process.tryStep(context, 'after')],
        }))
        .addEdge(START, 'before')
        .addEdge('before', 'clerk')
        .addEdge('clerk', 'after')
        .addEdge('after', END),
    )
  }
}

const maxClaims = 1000
const question: { readonly messages: readonly Message[] } = {
  messages: [{ role: 'user', content: 'Pay, and look.' }],
}

/** A model and its tools as nodes, in a loop. */
function modelAndTools(rounds: readonly ScriptedStep[], approve: { readonly approve?: 'always' } = {}) {
  return (process: GraphProcess): Graph<Channels> => {
    const model = process.model(...rounds, 'Done.')
    const tools = [process.tool('pay', approve), process.tool('look', { replay: 'safe' })]
    return process.compile(
      graph({ state: { messages: list<Message>() } })
        .addNode('model', modelNode({ model, tools, maxClaims }))
        .addNode('tools', toolNode({ tools, maxClaims }))
        .addEdge(START, 'model')
        .addConditionalEdges('model', ({ messages }) => (pendingCalls(messages).length > 0 ? 'tools' : END))
        .addEdge('tools', 'model'),
    )
  }
}

const payAndLook: ScriptedStep = { text: 'Let me see.', calls: [{ tool: 'pay' }, { tool: 'look' }] }
const payMore: ScriptedStep = { calls: [{ tool: 'pay', args: { n: 2 } }] }

/** Each call is a task of its own, side by side. */
function toolsSideBySide(process: GraphProcess): Graph<Channels> {
  const model = process.model(payAndLook, 'Done.')
  const tools = [process.tool('pay'), process.tool('look', { replay: 'safe' })]
  return process.compile(
    graph({ state: { messages: list<Message>() } })
      .addNode('model', modelNode({ model, tools, maxClaims }))
      .addNode('tools', toolNode({ tools, maxClaims }))
      .addEdge(START, 'model')
      .addConditionalEdges('model', ({ messages }) => {
        const calls = pendingCalls(messages)
        const sent = calls.map((call) => new Send('tools', [{ role: 'assistant', content: [call] }]))
        return sent.length === 0 ? END : sent
      })
      .addEdge('tools', 'model'),
  )
}

/** One conversation of an agent in two steps. */
function remembering(process: GraphProcess): Graph<Channels> {
  const model = process.model({ calls: [{ tool: 'pay' }] }, 'One.', 'Two.')
  return process.compile(
    graph({ state: { ...log, round: value(0) } })
      .addNode('clerk', agentNode({ model, tools: [process.tool('pay')], maxClaims, memory: true }), {
        input: ({ round }) => `Round ${round}.`,
        output: (text, { round }) => ({ log: text, round: round + 1 }),
      })
      .addEdge(START, 'clerk')
      .addConditionalEdges('clerk', ({ round }) => (round < 2 ? 'clerk' : END)),
  )
}

/** An agent's first reply is rejected: it is asked once more, in a second conversation. */
function askingTwice(process: GraphProcess): Graph<Channels> {
  const model = process.model({ calls: [{ tool: 'look' }] }, 'Seen.')
  const clerk = agentNode({ model, tools: [process.tool('look', { replay: 'safe' })], maxClaims: 1000 })
  return process.compile(
    graph({ state: log })
      .addNode(
        'asks',
        async (_, context) => {
          const said = await context.run('clerk', clerk, `Attempt ${context.attempt}.`)
          if (context.attempt < 2) throw new Error('not good enough')
          return { log: [said, await process.tryStep(context, 'pay')] }
        },
        { retry: { attempts: 2, waitMs: 5 } },
      )
      .addEdge(START, 'asks')
      .addEdge('asks', END),
  )
}

/** One task for each item, and one that sums up. */
function mapping(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: { ...log, sum: reduce<number>((a, b) => a + b, 0) } })
      .addNode('plan', () => ({ log: 'planned' }))
      .addNode('work', async (_, context) => {
        const n = context.input as number
        const doing = n % 2 === 0 ? { ...safe, length: n } : { length: n }
        return { log: await process.tryStep(context, `work ${n}`, doing), sum: n }
      })
      .addNode('total', async ({ sum }, context) => ({
        log: [String(sum), await process.tryStep(context, 'total')],
      }))
      .addEdge(START, 'plan')
      .addConditionalEdges('plan', () => [1, 2, 3].map((n) => new Send('work', n)), ['work'])
      .addEdge('work', 'total')
      .addEdge('total', END),
  )
}

/** Fails without a retry until it is continued; another node ends beside it. */
function failing(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: log })
      .addNode('fails', async (_, context) => {
        const paid = await process.tryStep(context, 'pay')
        if (context.attempt < 3) throw Object.assign(new Error('not today'), { code: 'closed' })
        return { log: [paid, await process.tryStep(context, 'pay then')] }
      })
      .addNode('works', async (_, context) => ({
        log: await process.tryStep(context, 'works', { length: 2 }),
      }))
      .addNode('last', async (_, context) => ({ log: await process.step(context, 'look', safe) }))
      .addEdge(START, 'fails')
      .addEdge(START, 'works')
      .addEdge(['fails', 'works'], 'last')
      .addEdge('last', END),
  )
}

/** The whole graph below fails, and runs again below a second attempt. */
function nestedFailing(process: GraphProcess): Graph<Channels> {
  const below = process.compile(
    graph({ name: 'inner', state: log })
      .addNode('deep', async (_, context) => {
        const paid = await process.tryStep(context, 'deep')
        if (context.contextId.endsWith('.1')) throw new Error('not this time')
        return { log: paid }
      })
      .addEdge(START, 'deep')
      .addEdge('deep', END),
  )
  return process.compile(
    graph({ state: log })
      .addNode('below', below, { retry: { attempts: 2, waitMs: 5 } })
      .addEdge(START, 'below')
      .addEdge('below', END),
  )
}

function lookingUp(process: GraphProcess): Graph<Channels> {
  return process.compile(
    graph({ state: log })
      .addNode('sender', async (_, context) => {
        const send = (key: string) =>
          process.step(context, key, {
            tool: 'send',
            verify: (given) =>
              process.hasHappened(given) ? { happened: true, output: key } : { happened: false },
          })
        return { log: [await send('one'), await send('two')] }
      })
      .addEdge(START, 'sender')
      .addEdge('sender', END),
  )
}

export const GRAPH_SCENARIOS: readonly GraphPlay[] = [
  { name: 'graph: a chain that cannot live with not knowing', ...start, build: chain('step') },
  { name: 'graph: a chain of effects', ...start, build: chain('tryStep') },
  { name: 'graph: branches with effects and a join', ...start, build: branches },
  { name: 'graph: a loop', ...start, build: looping(3) },
  { name: 'graph: attempts with waits', ...start, build: retrying },
  { name: 'graph: questions of several nodes', ...start, build: asking, answer: yes },
  { name: 'graph: graphs as nodes', ...start, build: nested(false) },
  { name: 'graph: graphs as nodes that ask', ...start, build: nested(true), answer: yes },
  { name: 'graph: a graph as a node that is tried again', ...start, build: nestedFailing },
  { name: 'graph: an agent as a node', ...start, build: withAgent() },
  {
    name: 'graph: an agent as a node that asks for approval',
    ...start,
    build: withAgent({ approve: 'always' }),
    answer: () => true,
  },
  { name: 'graph: an agent that is asked by two attempts', ...start, build: askingTwice },
  {
    name: 'graph: a model and its tools as nodes',
    inputs: [question],
    build: modelAndTools([payAndLook, payMore]),
  },
  {
    name: 'graph: tools as a node that asks for approval',
    inputs: [question],
    build: modelAndTools([payAndLook], { approve: 'always' }),
    answer: () => true,
  },
  { name: 'graph: tools as tasks side by side', inputs: [question], build: toolsSideBySide },
  { name: 'graph: an agent with a memory', ...start, build: remembering },
  { name: 'graph: one task for each thing', ...start, build: mapping },
  { name: 'graph: a limit of steps', ...start, build: looping(5, { steps: 2 }) },
  { name: 'graph: failed, and told to go on', ...start, build: failing, tries: 2 },
  {
    name: 'graph: two runs on one state',
    inputs: [{ log: ['one'] }, { log: ['two'] }],
    build: chain('tryStep'),
  },
  { name: 'graph: effects that can be looked up', ...start, build: lookingUp },
  { name: 'graph: questions that nobody answers', ...start, build: unanswered },
  { name: 'graph: cancelled on the way', ...start, build: cancelling },
]
