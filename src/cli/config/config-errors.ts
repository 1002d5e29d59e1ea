/** Turns an error of a config file into one message with file and line. */
import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Refusal, unusable } from '../refusal.ts'

export function configError(path: string, error: unknown, what = ''): Refusal {
  if (error instanceof Refusal) return error
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown }
  const text = typeof message === 'string' ? message : String(error)
  const position = positionIn(path, error)
  return unusable(`${position}: ${what}${advised(oneSentence(text), code)}`, error)
}

/** The path of the file, and the line if the error has one. */
function positionIn(path: string, error: unknown): string {
  const stack = error instanceof Error && typeof error.stack === 'string' ? error.stack : ''
  const traces = error instanceof SyntaxError ? `${stack}\n${checked(path)}` : stack
  const short = shownPath(path)
  for (const [, file = '', line = ''] of traces.matchAll(/(file:\/\/\/?[^\s):]+|\/[^\s():]+):(\d+)/g))
    if (sameFile(file, path)) return `${short}:${line}`
  return short
}

/** Relative if the file is below the current folder, else absolute. */
export function shownPath(path: string): string {
  const shown = relative(process.cwd(), path)
  return shown.startsWith('..') ? path : shown
}

/** `node --check` prints the line of a syntax error; the error itself lacks it. */
function checked(path: string): string {
  return spawnSync(process.execPath, ['--check', path], { encoding: 'utf8', timeout: 5000 }).stderr
}

function sameFile(file: string, path: string): boolean {
  try {
    return (file.startsWith('file:') ? fileURLToPath(file) : file) === path
  } catch {
    return false
  }
}

/** The first line of a message that is not empty: some of Node's have several. */
function oneSentence(message: string): string {
  const lines = message.split('\n').map((line) => line.trim().replace(/^x\s+/, ''))
  return lines.find((line) => line !== '') ?? 'it could not be loaded'
}

function advised(message: string, code: unknown): string {
  const missing = /Cannot find package '([^']+)'/.exec(message)
  if (code === 'ERR_MODULE_NOT_FOUND' && missing !== null)
    return `it needs the package ${missing[1]}, which is not installed: npm install ${missing[1]}`
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return `${message.replace(/[.!?]?$/, '.')} Only types may be written here: Node runs the file by leaving them out.`
  return /[.!?]$/.test(message) ? message : `${message}.`
}
