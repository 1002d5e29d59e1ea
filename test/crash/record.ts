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

/** A line begins with its own line break: what a killed process left half-written ends there. */
export function write(place: Place, line: Line): void {
  appendFileSync(fileOf(place), `\n${JSON.stringify(line)}`)
}

export interface Lines {
  readonly lines: readonly Line[]
  /** Lines that a kill cut off while they were written: their process did nothing after them. */
  readonly torn: number
}

export function readRecord(place: Place): Lines {
  const path = fileOf(place)
  const texts = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const written = texts.filter((text) => text !== '')
  const lines = written.flatMap((text) => parsed(text) ?? [])
  return { lines, torn: written.length - lines.length }
}

export function readLines(place: Place): readonly Line[] {
  return readRecord(place).lines
}

function parsed(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    return undefined
  }
}
