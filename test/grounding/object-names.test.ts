/** An entity may have a name that every object knows. */
import { expect, it } from 'vitest'
import { entity, lookupsOf, lookupTool } from '../../src/grounding/index.ts'

it.each(['constructor', 'toString', 'valueOf'])('%s has a lookup only if a tool is one', (name) => {
  const find = lookupTool(entity(name), () => [], { fields: { id: 'id', label: 'name' } })
  expect(lookupsOf([])[name]).toBeUndefined()
  expect(lookupsOf([find])[name]).toBe(find.name)
})
