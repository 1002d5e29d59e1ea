/** The difference of two states as a JSON Patch (RFC 6902). */
import { isObject, type Json, type JsonObject } from '../../protocol/index.ts'

export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }

/** Undefined if the change needs a path that clients refuse: one that could reach a prototype. */
export function statePatch(from: Json, to: Json): readonly PatchOperation[] | undefined {
  const operations = changes(from, to, '')
  return operations.some(({ path }) => REFUSED.test(path)) ? undefined : operations
}

const REFUSED = /\/(__proto__|constructor|prototype)(\/|$)/

function changes(from: Json, to: Json, path: string): PatchOperation[] {
  if (isList(from) && isList(to)) return listChanges(from, to, path)
  if (isObject(from) && isObject(to)) return objectChanges(from, to, path)
  return from === to ? [] : [{ op: 'replace', path, value: to }]
}

function objectChanges(from: JsonObject, to: JsonObject, path: string): PatchOperation[] {
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key))
  return [
    ...removed.map((key): PatchOperation => ({ op: 'remove', path: `${path}/${escaped(key)}` })),
    ...(Object.entries(to) as [string, Json][]).flatMap(([key, value]): PatchOperation[] => {
      const place = `${path}/${escaped(key)}`
      if (!Object.hasOwn(from, key)) return [{ op: 'add', path: place, value }]
      return changes(from[key] as Json, value, place)
    }),
  ]
}

/** Element by element: the lists of a state grow at their end. */
function listChanges(from: readonly Json[], to: readonly Json[], path: string): PatchOperation[] {
  const shared = Math.min(from.length, to.length)
  const operations = to
    .slice(0, shared)
    .flatMap((value, at) => changes(from[at] as Json, value, `${path}/${at}`))
  for (let at = from.length - 1; at >= shared; at--) operations.push({ op: 'remove', path: `${path}/${at}` })
  for (let at = shared; at < to.length; at++)
    operations.push({ op: 'add', path: `${path}/${at}`, value: to[at] as Json })
  return operations
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
