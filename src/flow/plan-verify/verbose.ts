/** Prints a run of a task for a person, a line for each step, to standard error. All text goes through the gate. */
import type { GraphEvent } from '../../graph/index.ts'
import { standardError } from '../../observe/index.ts'
import { type EntryEventOf, type EntryType, replyText } from '../../protocol/index.ts'
import { bold, cyan, dim, green, red, type Styled, styled, yellow } from '../../terminal/index.ts'

const LONGEST = 160

/** A function that prints each event of a run. */
export function taskProgress(): (event: GraphEvent) => void {
  const out = standardError()
  return (event) => {
    const line = lineOf(event)
    if (line !== undefined) out.line(line)
  }
}

type Lines = { readonly [T in EntryType]?: (event: EntryEventOf<T>) => Styled | undefined }

const LINES: Lines = {
  'tool.start': ({ data }) => styled`  ${cyan(data.tool)} ${dim(short(JSON.stringify(data.args)))}`,
  'tool.end': ({ data: { status, output, display } }) => {
    const paint = status === 'ok' ? green : status === 'unknown' ? yellow : red
    return styled`    ${paint(status)} ${dim(short(display ?? text(output)))}`
  },
  'model.end': ({ data }) => {
    const said = replyText(data.content).trim()
    return said === '' ? undefined : styled`  ${short(said)}`
  },
  'request.start': ({ data }) => styled`  ${yellow('waits')} ${short(data.prompt)}`,
  'node.end': ({ data }) => styled`${bold(data.task.split('.')[0] ?? '')} ${dim('done')}`,
}

function lineOf(event: GraphEvent): Styled | undefined {
  const line = (LINES as Readonly<Record<string, ((event: never) => Styled | undefined) | undefined>>)[
    event.type
  ]
  return line?.(event as never)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function short(value: string): string {
  const line = value.replaceAll(/\s+/g, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
