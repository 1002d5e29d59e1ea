/** Applies a hook phase to the open turn. */
import type { HookKind, Json } from '../protocol/index.ts'
import type { OpenDraft, Writable } from './fold-draft.ts'
import type { Call } from './session.ts'

/** Marks the work that a durable hook phase completes (R8). A hook of a newer version changes nothing. */
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

/** Marks that the hooks around one call have run, or that its ids were accepted. */
export function passCall(open: OpenDraft, { hook, callId, grounds }: Pass): void {
  const call = open.calls.find((candidate) => candidate.callId === callId)
  if (grounds !== undefined && call !== undefined) call.grounds = grounds
  if (hook?.scope === 'call' && !hook.closes && call !== undefined) call.checked = true
  if (!hook?.closes || open.ended === undefined) return
  const unseen = open.ended.filter((ended) => ended !== callId)
  if (unseen.length > 0) open.ended = unseen
  else open.ended = undefined
}

export function changeArgs(call: Writable<Call>, args: Json | undefined): void {
  if (args === undefined || call.state !== 'requested') return
  call.args = args
  call.malformed = undefined
}
