/** Metadata that a client sends with a message, to be stored with its turn. Fields that a protocol writes are not the client's. */
import type { JsonObject } from '../protocol/index.ts'
import { badRequest } from './problem.ts'

/** The field in which AG-UI stores a run, with the tools that the server has let the client declare. */
export const AG_UI = 'agUi'

/** The field in which HTTP stores the key of a request to continue. */
export const CONTINUE_KEY = 'continueKey'

/** As an option of a turn; empty if there is none. Throws a problem. */
export function clientMetadata(metadata: JsonObject = {}): { readonly metadata?: JsonObject } {
  for (const name of [AG_UI, CONTINUE_KEY])
    if (Object.hasOwn(metadata, name))
      throw badRequest(`metadata.${name} is written by the server. Choose another name.`)
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}
