/** The nodes of a JSON Schema, and the targets of its references. */
import { isObject, type Json, type JsonObject } from '../protocol/index.ts'

export type SchemaNode = JsonObject

/** Undefined for `true`, `false` and non-schemas: they describe nothing inside. */
export function schemaNode(value: Json | undefined): SchemaNode | undefined {
  return isObject(value) ? value : undefined
}

/** The target of `#`, `#/$defs/row` or `#row`; undefined if it is outside of the schema, missing, or `true` or `false`. */
export function refOf(root: SchemaNode, ref: string): SchemaNode | undefined {
  return schemaNode(refTarget(root, ref))
}

/** As `refOf`, with `true` and `false`. */
export function refTarget(root: SchemaNode, ref: string): Json | undefined {
  if (!ref.startsWith('#')) return undefined
  const pointer = ref.slice(1)
  if (pointer === '') return root
  if (!pointer.startsWith('/')) return anchored(root, pointer)
  const steps = pointer.slice(1).split('/').map(pointerStep)
  return steps.reduce<Json | undefined>((here, step) => {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined
    return (here as Record<string, Json>)[step]
  }, root)
}

/** The schemas of the first items, and of those after them, in old and new drafts. */
export function itemSchemas({ items, prefixItems, additionalItems }: SchemaNode): {
  readonly first: readonly Json[]
  readonly rest: Json | undefined
} {
  if (Array.isArray(items)) return { first: items as readonly Json[], rest: additionalItems }
  return { first: Array.isArray(prefixItems) ? (prefixItems as readonly Json[]) : [], rest: items }
}

/** A step of a JSON pointer in a fragment, such as `a~1b` or `a%20b`, as the name that it stands for. */
export function pointerStep(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** Anchors below another `$id` belong to that, not to the schema around it. */
function anchored(value: Json | undefined, name: string, isInner = false): SchemaNode | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const node = schemaNode(value)
  if (isInner && typeof node?.['$id'] === 'string' && !node['$id'].startsWith('#')) return undefined
  if (node !== undefined && (node['$anchor'] === name || node['$dynamicAnchor'] === name)) return node
  for (const inner of Object.values(value)) {
    const found = anchored(inner, name, true)
    if (found !== undefined) return found
  }
  return undefined
}
