/** Reading an artifact that may not be there. */
import { HoldfastError } from '../protocol/index.ts'
import type { Artifacts } from '../tool/index.ts'

/** The content of the newest version; undefined if there is none. */
export async function storedContent(artifacts: Pick<Artifacts, 'read'>, id: string): Promise<unknown> {
  try {
    return (await artifacts.read(id)).content
  } catch (error) {
    if (HoldfastError.is(error, 'not-found')) return undefined
    throw error
  }
}
