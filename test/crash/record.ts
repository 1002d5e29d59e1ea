/**
 * What processes leave behind outside of the store: for each conversation a file to which they write a line at once,
 * before they go on. A process that is killed has no chance to take a line back.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryEvent } from '../../src/protocol/index.ts'

export type Line =
  | { readonly what: 'asked' | 'begun' | 'ended' }
  /** It threw, or did not come to its end. */
  | { readonly what: 'broke'; readonly why: string }
  /** What a tool does to the world takes two lines. */
  | {
      readonly what: 'effect'
      readonly phase: 'begin' | 'end'
      readonly tool: string
      readonly callId: string
      readonly key: string
    }
  /** A reader of a turn got this, and it said that it is durable. `anywhere`: in whichever journal. */
  | { readonly what: 'told'; readonly event: EntryEvent; readonly anywhere?: true }

export type EffectLine = Extract<Line, { what: 'effect' }>
export type ToldLine = Extract<Line, { what: 'told' }>

/** Each conversation has an owner of its own, whose name the file has. */
export interface Place {
  readonly folder: string
  readonly actor: string
}

function fileOf({ folder, actor }: Place): string {
  return join(folder, `${actor}.log`)
}

export function write(place: Place, line: Line): void {
  appendFileSync(fileOf(place), `${JSON.stringify(line)}\n`)
}

export function readLines(place: Place): readonly Line[] {
  const path = fileOf(place)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Line)
}
