/** States of a run as events: the first as a snapshot, a change as a patch, or as a snapshot if the patch is long. */
import type { Json } from '../../protocol/index.ts'
import { statePatch } from './state-patch.ts'
import type { AgUiEvent } from './wire.ts'

/** A patch of up to so many characters is sent, even where the snapshot is shorter: it says what has changed. */
const SHORT = 1000

export class StateEvents {
  /** The newest state as text: its reader may change the object. */
  #last: string | undefined

  get isEmpty(): boolean {
    return this.#last === undefined
  }

  next(state: unknown): readonly AgUiEvent[] {
    const text = JSON.stringify(state)
    const last = this.#last
    if (text === last) return []
    this.#last = text
    const snapshot = JSON.parse(text) as Json
    const patch = last === undefined ? undefined : statePatch(JSON.parse(last) as Json, snapshot)
    if (patch === undefined || JSON.stringify(patch).length > Math.max(SHORT, text.length))
      return [{ type: 'STATE_SNAPSHOT', snapshot }]
    return patch.length === 0 ? [] : [{ type: 'STATE_DELTA', delta: [...patch] }]
  }
}
