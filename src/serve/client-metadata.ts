/** Metadata that a client sends with a message, to be stored with its turn. Fields that a protocol writes are not the client's. */
import type { JsonObject } from '../protocol/index.ts'
import { badRequest } from './problem.ts'

/** The field in which AG-UI stores a run, with the tools that the server has let the client declare. */
export const AG_UI = 'agUi'

/** As an option of a turn; empty if there is none. Throws a problem. */
export function clientMetadata(metadata: JsonObject = {}): { readonly metadata?: JsonObject } {
  if (Object.hasOwn(metadata, AG_UI))
    throw badRequest(`metadata.${AG_UI} is written by runs of AG-UI. Choose another name.`)
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}
