/** The tasks of a step: run side by side, each settled as soon as it ends. */
import { debugThrown } from '../base/index.ts'
import type { GraphTask } from '../journal/index.ts'
import { type Batch, request } from '../loop/index.ts'
import {
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  MAX_OUTPUT_BYTES,
  type Usage,
} from '../protocol/index.ts'
import { askedBy, type CallEnd, type Credentials, runCall, type Tool } from '../tool/index.ts'
import { Attempt } from './attempt.ts'
import type { NodeDefinition, RetryPolicy } from './definition.ts'
import type { EntryQueue } from './entry-queue.ts'
import { plainTool } from './plain-tool.ts'
import type { Run } from './run.ts'
import { stateView } from './state-view.ts'
import { checkedUpdate } from './update.ts'

/** What they say while others run is made durable without waiting for those; the last words go with what comes next. */
export async function* runTasks(
  run: Run,
  tasks: readonly GraphTask[],
  credentials: Credentials,
): AsyncGenerator<Batch, void> {
  const { queue } = run
  const working = tasks.map((task) => queue.employ(runTask(run, { queue, task, credentials })))
  for (;;) {
    const sayings = await queue.next()
    try {
      for (const { write } of sayings) write()
      if (queue.isDone && sayings.every(({ durable }) => durable === undefined)) return
      if (sayings.length > 0) yield* run.commit('tools')
      for (const { durable } of sayings) durable?.resolve()
    } catch (error) {
      queue.close(error, sayings)
      await Promise.allSettled(working)
      throw error
    }
  }
}

interface Running {
  readonly queue: EntryQueue
  readonly task: GraphTask
  readonly credentials: Credentials
}

async function runTask(run: Run, { queue, task, credentials }: Running): Promise<void> {
  const node = run.graph.nodes.get(task.node)
  if (node === undefined) {
    const message = `The graph has no node ${task.node} any more. Add it again, or give the graph a new input.`
    queue.say(() => sayFailure(run, task, { error: { code: 'no-such-node', message, next: 'fail' } }))
    return
  }
  const attempt = new Attempt({ run, queue, task, node, credentials })
  const end = await runCall({
    tool: nodeTool(run, attempt),
    input: undefined,
    context: attempt.context,
    timer: run.scope.timer,
    secrets: run.secrets,
    graceMs: run.scope.definition.graceMs,
  })
  attempt.close()
  queue.say(() => sayEnd(run, attempt, end))
}

function nodeTool(run: Run, attempt: Attempt): Tool {
  const { node } = attempt
  const { channels } = run.graph
  const state = stateView(run.position.state, channels)
  return plainTool({
    '~kind': 'node',
    name: node.name,
    // What a node does to the world it does in steps.
    replay: 'safe',
    maxResultBytes: MAX_OUTPUT_BYTES,
    ...defined({ timeoutMs: node.timeoutMs }),
    run: async (_, context) => {
      const said = await attempt.perform(state, context)
      return askedBy(said) === undefined
        ? checkedUpdate(channels, { who: `node ${node.name}`, shown: state }, said)
        : said
    },
  })
}

function sayEnd(run: Run, attempt: Attempt, end: CallEnd): void {
  const { task } = attempt
  const { usage, below } = attempt
  const isFree = usage.inputTokens + usage.outputTokens + usage.costUsd === 0
  const used = isFree ? {} : { usage }
  // A run that was cut off goes on with the task, and has to know what was counted.
  const isOpen = end.kind === 'asks' || (end.status !== 'ok' && run.signal.aborted)
  if (isOpen && !isFree) run.draft.append('usage', { callId: task.task, usage, below })
  if (end.kind === 'asks') {
    for (const { name, ...asked } of end.requests) {
      const before = task.answers?.filter((answer) => answer.name === name).length ?? 0
      request(run, { id: before === 0 ? name : `${name}-${before}`, name, ...asked }, task.task)
    }
  } else if (end.status === 'ok') {
    const update = end.output as JsonObject
    const said = Object.keys(update).length === 0 ? {} : { update }
    const { seen } = attempt
    const shown = seen.length === 0 ? {} : { seen }
    run.draft.append('node.end', { task: task.task, node: task.node, ...said, ...used, ...shown })
  } else if (!run.signal.aborted) {
    if (attempt.thrown !== undefined) debugThrown(`Node ${task.node}`, attempt.thrown)
    run.thrown.set(task.task, attempt.thrown)
    const error = { ...failureOf(attempt.node, end.output), ...whatNext(attempt.node, task, attempt.thrown) }
    sayFailure(run, task, { error, ...used, ...(isFree ? {} : { below }) })
  }
}

function sayFailure(run: Run, { task, node }: GraphTask, failure: Failure): void {
  run.draft.append('node.end', { task, node, ...failure })
}

interface Failure {
  readonly error: JsonObject
  readonly usage?: Usage
  readonly below?: Readonly<Record<string, Usage>>
}

function failureOf(node: NodeDefinition, output: Json): { readonly code: string; readonly message: string } {
  const { error, code, bytes, limit } = (
    typeof output === 'object' && output !== null ? output : {}
  ) as Record<string, Json>
  if (code === 'too-large' && typeof bytes === 'number' && typeof limit === 'number')
    return {
      code,
      message: `What ${node.name} says has ${bytes} bytes, and at most ${limit} can be stored. Say less in one step, or write it into an artifact.`,
    }
  return {
    code: typeof code === 'string' ? code : 'node-failed',
    message: typeof error === 'string' ? error : JSON.stringify(output),
  }
}

type Next = { readonly next: 'fail' } | { readonly next: 'retry'; readonly waitMs: number }

function whatNext({ retry }: NodeDefinition, { failures }: GraphTask, thrown: unknown): Next {
  if (failures + 1 >= retry.attempts || !isWorthIt(retry, thrown)) return { next: 'fail' }
  const waitMs = Math.min(retry.maxWaitMs, retry.waitMs * retry.factor ** failures)
  return { next: 'retry', waitMs }
}

/** Nobody knows whether an effect happened: another attempt would know no more. */
function isWorthIt({ when }: RetryPolicy, thrown: unknown): boolean {
  if (HoldfastError.is(thrown, 'unknown-outcome')) return false
  try {
    return when === undefined || when(thrown)
  } catch {
    return false
  }
}
