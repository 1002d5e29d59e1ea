/** What a phase of hooks changes in the open turn. */
import type { HookKind, Json } from '../protocol/index.ts'
import type { OpenDraft, Writable } from './fold-draft.ts'
import type { Call } from './session.ts'

/** What counts as done once the phase of a hook is durable (R8). A hook of a newer version says nothing here. */
export function passPhase(open: OpenDraft, name: string, hook: HookKind | undefined): void {
  if (hook?.scope === 'input') open.fresh = undefined
  if (hook?.scope === 'failure') open.failed = undefined
  if (hook?.step !== undefined) open.phase = name
}

interface Pass {
  readonly hook: HookKind | undefined
  readonly callId: string
  readonly grounds: Call['grounds']
}

/** The hooks around one call have run, or its ids were found good. */
export function passCall(open: OpenDraft, { hook, callId, grounds }: Pass): void {
  const call = open.calls.find((candidate) => candidate.callId === callId)
  if (grounds !== undefined && call !== undefined) call.grounds = grounds
  if (hook?.scope === 'call' && !hook.closes && call !== undefined) call.checked = true
  if (!hook?.closes || open.ended === undefined) return
  const untold = open.ended.filter((ended) => ended !== callId)
  if (untold.length > 0) open.ended = untold
  else open.ended = undefined
}

export function changeArgs(call: Writable<Call>, args: Json | undefined): void {
  if (args === undefined || call.state !== 'requested') return
  call.args = args
  call.malformed = undefined
}
