/** Events of AG-UI as they are sent: the types of the protocol's package, with names instead of its enum. */
import type { AGUIEvent, EventType } from '@ag-ui/core'

type Wire<E> = E extends { type: infer T extends EventType } ? Omit<E, 'type'> & { type: `${T}` } : never

export type AgUiEvent = Wire<AGUIEvent>

export const PROTOCOL_VERSION = '1.0'
