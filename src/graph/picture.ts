import type { ContextKey } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { GraphDefinition } from './definition.ts'

export interface PictureOptions {
  readonly taken?: Taken
}

export type Taken = object

export function graphPicture(_graph: GraphDefinition, _options: PictureOptions = {}): string {
  throw new Error('soon')
}

export async function takenWays(
  _store: Pick<Store, 'read'>,
  _key: ContextKey,
  _turn?: number,
): Promise<Taken> {
  throw new Error('soon')
}
