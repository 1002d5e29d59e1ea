/** Shared by the tests of logs: folders that are removed, and the files in them. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { parse } from 'yaml'
import type { Message } from '../../src/protocol/index.ts'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-logs-'))
  folders.push(folder)
  return folder
}

/** The lines of a text log; frames of stacks as one line. */
export function logLines(path: string): string[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines
    .filter((line, at) => !(line.startsWith('    at ') && lines[at - 1]?.startsWith('    at ')))
    .map((line) => line.replace(/ \(?(?:file:\/\/)?\/.*$/, ''))
}

export function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).toSorted() : []
}

export interface SessionYaml {
  readonly conversation: string
  readonly agent: string
  readonly model: string
  readonly started: string
  readonly turns: readonly SessionTurn[] | null
}

interface SessionTurn {
  readonly input: string
  readonly model: string
  readonly duration_ms: number
  readonly tokens: number
  readonly cost: number
  readonly tools_called: readonly string[]
  readonly result: string
  readonly messages: string
}

/** A session file, read by a parser that is not ours. */
export function readYaml(folder: string, at = 0): SessionYaml {
  return parse(readFileSync(join(folder, filesIn(folder)[at] ?? ''), 'utf8')) as SessionYaml
}

export function messagesOf(turn: SessionTurn | undefined): readonly Message[] {
  return JSON.parse(turn?.messages ?? '[]') as readonly Message[]
}

/** The warnings of the process while `work` runs. */
export async function warningsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  try {
    await work()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('warning', onWarning)
  }
  return warnings
}
