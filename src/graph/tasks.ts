/** The tasks of a step: run side by side, each settled as soon as it ends. */
import type { GraphTask } from '../journal/index.ts'
import { type Batch, newRequestId, request } from '../loop/index.ts'
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

/** Entries of a task become durable without waiting for the other tasks; the last ones go with the next batch. */
export async function* runTasks(
  run: Run,
  tasks: readonly GraphTask[],
  credentials: Credentials,
): AsyncGenerator<Batch, void> {
  const { queue } = run
  const working = tasks.map((task) => queue.track(runTask(run, { queue, task, credentials })))
  for (;;) {
    const writes = await queue.next()
    try {
      for (const { write } of writes) write()
      if (queue.isDone && writes.every(({ durable }) => durable === undefined)) return
      if (writes.length > 0) yield run.commit('tools')
      for (const { durable } of writes) durable?.resolve()
    } catch (error) {
      queue.close(error, writes)
      await Promise.allSettled(working)
      throw error
    }
  }
}

interface TaskRun {
  readonly queue: EntryQueue
  readonly task: GraphTask
  readonly credentials: Credentials
}

async function runTask(run: Run, { queue, task, credentials }: TaskRun): Promise<void> {
  const node = run.graph.nodes.get(task.node)
  if (node === undefined) {
    queue.append(() => appendFailure(run, task, { error: { ...noSuchNode(task.node), next: 'fail' } }))
    return
  }
  const attempt = new Attempt({ run, queue, task, node, credentials })
  const call = {
    tool: nodeTool(run, attempt),
    input: undefined,
    context: attempt.context,
    timer: run.scope.timer,
    secrets: run.secrets,
    graceMs: run.scope.definition.graceMs,
  }
  const step = { kind: 'node', turn: run.open.turn, task: task.task, name: node.name } as const
  const end = await run.observed(
    () => step,
    () => runCall(call),
  )
  attempt.close()
  queue.append(() => appendEnd(run, attempt, end))
}

/** The error of a run whose node a deploy has removed or renamed. */
export function noSuchNode(node: string): { readonly code: string; readonly message: string } {
  const message = `The graph has no node ${node} any more. Add it again, or give the graph a new input.`
  return { code: 'no-such-node', message }
}

function nodeTool(run: Run, attempt: Attempt): Tool {
  const { node } = attempt
  const { channels } = run.graph
  const state = stateView(run.position.state, channels)
  return plainTool({
    '~kind': 'node',
    name: node.name,
    // A node's effects are its steps, so the node itself may run again.
    replay: 'safe',
    maxResultBytes: MAX_OUTPUT_BYTES,
    ...defined({ timeoutMs: node.timeoutMs }),
    run: async (_, context) => {
      const update = await attempt.perform(state, context)
      if (askedBy(update) !== undefined) return update
      try {
        return checkedUpdate(channels, { source: `node ${node.name}`, shown: state, isNode: true }, update)
      } catch (error) {
        attempt.thrown = error
        throw error
      }
    },
  })
}

function appendEnd(run: Run, attempt: Attempt, end: CallEnd): void {
  const { task } = attempt
  const { usage, below } = attempt
  const isFree = usage.inputTokens + usage.outputTokens + usage.costUsd === 0
  const used = isFree ? {} : { usage }
  // A run that was cut off continues the task, and has to know which usage was counted.
  const isOpen = end.kind === 'asks' || (end.status !== 'ok' && run.cancelledOrTimedOut.aborted)
  if (isOpen && !isFree) run.draft.append('usage', { callId: task.task, usage, below })
  if (end.kind === 'asks') {
    const asker = { ...task, callId: task.task }
    for (const { name, ...question } of end.requests) {
      const inputKey = attempt.questionKeys.get(name)
      const id = newRequestId(run, asker, name)
      request(run, { id, name, ...question, ...defined({ inputKey }) }, task.task)
    }
  } else if (end.status === 'ok') {
    const update = end.output as JsonObject
    const changes = Object.keys(update).length === 0 ? {} : { update }
    const { seen } = attempt
    const shown = seen.length === 0 ? {} : { seen }
    run.draft.append('node.end', { task: task.task, node: task.node, ...changes, ...used, ...shown })
  } else if (!run.cancelledOrTimedOut.aborted) {
    if (attempt.thrown !== undefined)
      run.threw({ kind: 'node', name: task.node, callId: task.task }, attempt.thrown)
    run.thrown.set(task.task, attempt.thrown)
    const failure = failureOf(attempt.node, end.output)
    // A node that ran out of time threw nothing.
    const thrown = attempt.thrown ?? Object.assign(new Error(failure.message), { code: failure.code })
    const error = { ...failure, ...nextAttempt(attempt.node, task, thrown) }
    appendFailure(run, task, { error, ...used, ...(isFree ? {} : { below }) })
  }
}

function appendFailure(run: Run, { task, node }: GraphTask, failure: Failure): void {
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
      message: `The update of ${node.name} has ${bytes} bytes, and at most ${limit} can be stored. Return less in one step, or write it into an artifact.`,
    }
  return {
    code: typeof code === 'string' ? code : 'node-failed',
    message: typeof error === 'string' ? error : JSON.stringify(output),
  }
}

type Next = { readonly next: 'fail' } | { readonly next: 'retry'; readonly waitMs: number }

function nextAttempt({ retry }: NodeDefinition, { failures }: GraphTask, thrown: unknown): Next {
  if (failures + 1 >= retry.attempts || !isRetryable(retry, thrown)) return { next: 'fail' }
  // No wait stays none: zero times infinity is no number.
  const waitMs = retry.waitMs === 0 ? 0 : Math.min(retry.maxWaitMs, retry.waitMs * retry.factor ** failures)
  return { next: 'retry', waitMs }
}

/** An effect of unknown outcome stays unknown in another attempt. */
function isRetryable({ when }: RetryPolicy, thrown: unknown): boolean {
  if (HoldfastError.is(thrown, 'unknown-outcome')) return false
  try {
    return when === undefined || when(thrown)
  } catch {
    return false
  }
}
