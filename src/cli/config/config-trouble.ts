/** What is wrong with a config file, as one message with file and line. */
import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Refusal, unusable } from '../refusal.ts'

export function configTrouble(path: string, error: unknown, what = ''): Refusal {
  if (error instanceof Refusal) return error
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown }
  const said = typeof message === 'string' ? message : String(error)
  const place = placeIn(path, error)
  return unusable(`${place}: ${what}${advised(oneSentence(said), code)}`, error)
}

/** The file from here, and the line if the error tells. */
function placeIn(path: string, error: unknown): string {
  const stack = error instanceof Error && typeof error.stack === 'string' ? error.stack : ''
  const told = error instanceof SyntaxError ? `${stack}\n${checked(path)}` : stack
  const short = shownPath(path)
  for (const [, file = '', line = ''] of told.matchAll(/(file:\/\/\/?[^\s):]+|\/[^\s():]+):(\d+)/g))
    if (sameFile(file, path)) return `${short}:${line}`
  return short
}

/** From here if it is below, else whole. */
export function shownPath(path: string): string {
  const shown = relative(process.cwd(), path)
  return shown.startsWith('..') ? path : shown
}

/** Node keeps the line of a syntax error to itself, unless it is asked to check the file. */
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

/** Node says some things over several lines; the first that says something is enough. */
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
