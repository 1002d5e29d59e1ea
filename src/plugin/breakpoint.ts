/** Stops a turn before or after chosen tools, to look, to edit, and to go on or end the turn. */
import type { AfterEachToolContext, BeforeEachToolContext, CallResult, PluginParts } from '../hook/index.ts'
import { checkOptions, invalidOption, type Json, type OptionSet, shown } from '../protocol/index.ts'

export interface BreakpointOptions {
  /** The tools to stop before: names, true for every tool, or a function of the name. */
  readonly before?: BreakpointTools
  /** The tools to stop after. */
  readonly after?: BreakpointTools
  /** Called at each stop; the turn goes on when it returns. */
  readonly on: (stop: BreakpointStop) => void | Promise<void>
}

export type BreakpointTools = readonly string[] | boolean | ((tool: string) => boolean)

/** A turn that waits at a tool. Its functions count until `on` returns. */
export interface BreakpointStop
  extends Pick<
    BeforeEachToolContext,
    'contextId' | 'turn' | 'iteration' | 'task' | 'trace' | 'messages' | 'signal'
  > {
  readonly when: 'before' | 'after'
  /** The name of the agent. */
  readonly agent: string
  readonly callId: string
  readonly tool: string
  readonly args: Json
  /** After a tool: how it ended. */
  readonly result?: CallResult
  /** Replaces the arguments before a tool, or, after it, the result that the model reads. */
  readonly edit: (value: Json) => void
  /** Stops also at the next tool, before and after, whichever it is. */
  readonly step: () => void
  /** Ends the turn; calls that have not started are not run. */
  readonly abort: (reason?: string) => void
}

const BREAKPOINT: OptionSet<BreakpointOptions> = {
  place: 'breakpoint()',
  options: { before: null, after: null, on: 'a function' },
  foreign: { tools: 'before', beforeTools: 'before', afterTools: 'after', handler: 'on' },
}

/**
 * A plugin. Each agent stops on its own; calls that run together stop one after the other. An edit is an entry of the
 * journal, so a turn that is taken up after a crash goes on with it. A process that dies while it waits stops there again.
 */
export function breakpoint(options: BreakpointOptions): () => PluginParts {
  checkOptions(options, BREAKPOINT)
  const [before, after] = [chosen('before', options.before), chosen('after', options.after)]
  if (typeof options.on !== 'function')
    throw invalidOption(
      'on',
      "of breakpoint() must be a function, such as breakpoint({ before: ['pay'], on: async (stop) => … })",
    )
  return () => {
    let isStepping = false
    const stopAt = async (stop: Omit<BreakpointStop, 'step'>): Promise<void> => {
      isStepping = false
      await options.on({ ...stop, step: () => void (isStepping = true) })
    }
    return {
      name: 'breakpoint',
      on: {
        beforeEachTool: async (context) => {
          const { callId, tool, args } = context.pending
          if (!isStepping && !before(tool)) return
          await stopAt({
            ...common(context),
            when: 'before',
            callId,
            tool,
            args,
            edit: context.edit,
            abort: context.stop,
          })
        },
        afterEachTool: async (context) => {
          const { result } = context
          const { callId, tool, args } = result
          if (!isStepping && !after(tool)) return
          await stopAt({
            ...common(context),
            when: 'after',
            callId,
            tool,
            args,
            result,
            edit: context.edit,
            abort: context.stop,
          })
        },
      },
    }
  }
}

function common(
  context: BeforeEachToolContext | AfterEachToolContext,
): Omit<BreakpointStop, 'when' | 'callId' | 'tool' | 'args' | 'edit' | 'step' | 'abort'> {
  const { contextId, name, turn, iteration, task, trace, messages, signal } = context
  return { agent: name, contextId, turn, iteration, task, trace, messages, signal }
}

function chosen(option: string, choice: BreakpointTools = false): (tool: string) => boolean {
  if (typeof choice === 'function') return choice
  if (typeof choice === 'boolean') return () => choice
  if (Array.isArray(choice) && choice.every((name) => typeof name === 'string'))
    return (tool) => choice.includes(tool)
  throw invalidOption(
    option,
    `of breakpoint() must be a list of tools, true for all, or a function, not ${shown(choice)}`,
  )
}
