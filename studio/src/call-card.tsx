/** A call of a tool, a node of a graph or an effect: its arguments, progress, status and result. */
import { memo } from 'react'
import { problemText } from './call-outcome.ts'
import type { CallItem, CallStatus } from './conversation-view.ts'
import { Code, Markdown } from './markdown.tsx'
import { jsonText, shortText, visible } from './visible-text.ts'

const STATUS: Readonly<Record<CallStatus, string>> = {
  requested: 'requested',
  running: 'running',
  waiting: 'waits for you',
  ok: 'done',
  error: 'failed',
  rejected: 'refused',
  unknown: 'outcome unknown',
  'not-run': 'not run',
  cancelled: 'cancelled',
}

const KIND = { tool: 'Tool', node: 'Node', effect: 'Effect' }

export const CallCard = memo(function CallCard({ item }: { readonly item: CallItem }) {
  const { kind, name, args, status, output } = item
  const brief = args ?? (kind !== 'tool' && status === 'ok' && isShort(output) ? output : undefined)
  return (
    <details className={`card call ${status}`}>
      <summary>
        <span className="kind">{KIND[kind]}</span>
        <span className="mono name">{visible(name)}</span>
        {brief !== undefined && <span className="muted brief">{shortText(brief, MOST_BRIEF)}</span>}
        <span className={`badge ${status}`}>{STATUS[status]}</span>
        <Outcome item={item} />
      </summary>
      {args !== undefined && (
        <>
          <h4>Arguments</h4>
          <Code text={jsonText(args)} label="Arguments" />
        </>
      )}
      <Result item={item} />
    </details>
  )
})

const MOST_BRIEF = 80

function isShort(output: CallItem['output']): boolean {
  return output !== undefined && output !== null && JSON.stringify(output).length <= MOST_BRIEF
}

/** Shown without opening the card: progress, and the reason of a call that came to nothing. */
function Outcome({ item }: { readonly item: CallItem }) {
  const { status, progress, below } = item
  if (status === 'running' && progress !== undefined)
    return <span className="line muted">{shortText(progress, 200)}</span>
  if (status === 'running' && below !== undefined)
    return <span className="line muted">{shortText(below.slice(-300), 200)}</span>
  const problem = problemText(item)
  return problem === undefined ? null : <span className="line problem">{shortText(problem, MOST_LINE)}</span>
}

const MOST_LINE = 300

function Result({ item }: { readonly item: CallItem }) {
  const { output, display } = item
  // A text that the summary shows whole is not shown again.
  const text = display ?? output
  const isShown = typeof text === 'string' && text.length <= MOST_LINE && problemText(item) === text
  if (output === undefined || isShown) return null
  return (
    <>
      <h4>Result</h4>
      {display === undefined ? <Code text={jsonText(output)} label="Result" /> : <Markdown text={display} />}
    </>
  )
}
