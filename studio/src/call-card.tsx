/** A call of a tool, a node of a graph or an effect: its arguments, progress, status and result. */
import { memo } from 'react'
import type { CallItem, CallStatus } from './conversation-view.ts'
import { Code, Markdown } from './markdown.tsx'
import { jsonText, reasonText, shortText, visible } from './visible-text.ts'

const STATUS: Readonly<Record<CallStatus, string>> = {
  requested: 'requested',
  running: 'running',
  waiting: 'waits for you',
  ok: 'done',
  error: 'failed',
  rejected: 'refused',
  unknown: 'outcome unknown',
  'not-run': 'not run',
}

const KIND = { tool: 'Tool', node: 'Node', effect: 'Effect' }

export const CallCard = memo(function CallCard({ item }: { readonly item: CallItem }) {
  const { kind, name, args, status } = item
  return (
    <details className={`card call ${status}`}>
      <summary>
        <span className="kind">{KIND[kind]}</span>
        <span className="mono name">{visible(name)}</span>
        {args !== undefined && <span className="muted brief">{shortText(args, 80)}</span>}
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

/** Shown without opening the card: progress, and the reason of a call that came to nothing. */
function Outcome({ item: { status, output, progress, below } }: { readonly item: CallItem }) {
  if (status === 'running' && progress !== undefined)
    return <span className="line muted">{shortText(progress, 200)}</span>
  if (status === 'running' && below !== undefined)
    return <span className="line muted">{shortText(below.slice(-300), 200)}</span>
  if (status === 'unknown')
    return (
      <span className="line problem">
        It was started, and nobody knows whether it took effect. {shortText(reasonText(output), 300)}
      </span>
    )
  if (status === 'rejected' || status === 'error' || status === 'not-run')
    return <span className="line problem">{shortText(reasonText(output), 300)}</span>
  return null
}

function Result({ item: { output, display } }: { readonly item: CallItem }) {
  if (output === undefined) return null
  return (
    <>
      <h4>Result</h4>
      {display === undefined ? <Code text={jsonText(output)} label="Result" /> : <Markdown text={display} />}
    </>
  )
}
