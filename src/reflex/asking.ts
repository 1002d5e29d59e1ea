/** The question for a thing, and what it was about. */

import type { Goal, Step } from './goal.ts'
import type { Things } from './knowledge.ts'
import { isMarked } from './marked.ts'
import { readRequest } from './request.ts'
import type { Row } from './results.ts'
import type { Param } from './schema.ts'
import { askParam, askRow, askThing } from './wording.ts'

interface Wanted {
  readonly param: Param
  readonly rows: readonly Row[]
  /** What it was called, if nothing is called so. */
  readonly said: string
}

export function askWhich(goal: Goal, { param, rows, said }: Wanted, { marked, lexicon }: Things): Step {
  const { tool } = goal.tool
  const pending: (Step & { kind: 'ask' })['pending'] =
    rows.length === 0 ? { of: 'param', goal, param, options: [] } : { of: 'row', goal, param, rows }
  if (!isMarked(param)) {
    const text = rows.length === 0 ? askParam(tool, param) : askRow(tool, param, { rows, said })
    return { kind: 'ask', text, pending }
  }
  const { isFrench } = readRequest(goal.text, lexicon)
  const called = marked.entities[param.entity]?.called ?? {}
  const noun = (isFrench ? called['fr'] : undefined) ?? called['en'] ?? param.entity
  return { kind: 'ask', text: askThing({ noun, isFrench }, { rows, said }), pending }
}
