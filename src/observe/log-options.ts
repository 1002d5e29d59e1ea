/** The options for logs of agents and graphs, and the observers that they ask for. */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../base/index.ts'
import type { Telemetry } from '../loop/index.ts'
import { type ContextKey, checkOptions, invalidOption, type OptionSet, shown } from '../protocol/index.ts'
import { consoleLog, standardError } from './console.ts'
import type { FileBounds } from './log-file.ts'
import { fileNameOf, homeFolder } from './log-folder.ts'
import { type Logger, loggerOption, loggerTelemetry } from './logger.ts'
import { sessionLog } from './session-log.ts'
import { textLog } from './text-log.ts'

export interface LogOptions {
  /** The folder of the files. Default: `logs` or `sessions` in `.holdfast`. */
  readonly folder?: string
  /** Of a text log: the most bytes of one file, default 10 MB. Of sessions: of all files of this agent, 100 MB. */
  readonly maxBytes?: number
  /** The most files, of which the oldest are deleted. Default: 3 text logs, 500 sessions of this agent. */
  readonly maxFiles?: number
}

export interface LogConfig {
  /** False: prints turns to standard error while they run. Default: true. */
  readonly quiet?: boolean
  /**
   * The text log `.holdfast/logs/NAME.log`, a line for each step of a turn. Default: true for an agent with a `name` and
   * a store on disk.
   */
  readonly log?: boolean | LogOptions
  /**
   * The session file `.holdfast/sessions/NAME_TIME.yaml`, with every turn and its messages. Default: as `log`, and not
   * changed by it.
   */
  readonly sessions?: boolean | LogOptions
  /** Gets one call for each step of a turn: pino, a logger of its shape, or `console`. */
  readonly logger?: Logger
}

/** The agent that logs. */
export interface LoggedAgent {
  readonly key: ContextKey
  readonly name: string
  /** True if the user has named it. */
  readonly isNamed: boolean
  readonly model: string
  readonly clock: Clock
  /** The file of the store. */
  readonly storePath?: string | undefined
}

const MB = 1024 * 1024
const LOG_BOUNDS: FileBounds = { maxBytes: 10 * MB, maxFiles: 3 }
const SESSION_BOUNDS: FileBounds = { maxBytes: 100 * MB, maxFiles: 500 }

export function logTelemetry(
  { quiet = true, log, sessions, logger }: LogConfig,
  agent: LoggedAgent,
): readonly Telemetry[] {
  const { key, name, model, clock, storePath } = agent
  const isDefault = agent.isNamed && storePath !== undefined
  const text = filesOf('log', log ?? isDefault, LOG_BOUNDS)
  const yaml = filesOf('sessions', sessions ?? isDefault, SESSION_BOUNDS)
  const folderOf = (kind: string, folder?: string): string => folder ?? join(homeFolder(storePath), kind)
  const found: Telemetry[] = []
  if (text !== undefined) {
    const path = join(folderOf('logs', text.folder), `${fileNameOf(name)}.log`)
    if (storePath !== undefined) checkNotStore(path, storePath)
    found.push(textLog({ agent: name, clock, target: { path, bounds: text.bounds } }))
  }
  if (yaml !== undefined) {
    const folder = folderOf('sessions', yaml.folder)
    found.push(sessionLog({ key, agent: name, model, folder, bounds: yaml.bounds }))
  }
  if (logger !== undefined) found.push(loggerTelemetry(loggerOption(logger)))
  if (!quiet) found.push(consoleLog(key, standardError()))
  return found
}

/** The folders that the options name; the default ones are `defaultFolders`. */
export function givenFolders({ log, sessions }: Pick<LogConfig, 'log' | 'sessions'>): readonly string[] {
  return [log, sessions].flatMap((option) =>
    // JavaScript may give null, for the default.
    typeof option === 'object' && option?.folder !== undefined ? [option.folder] : [],
  )
}

/** Where agents with this store write their files if their options name no folder. */
export function defaultFolders(storePath: string | undefined): readonly string[] {
  return ['logs', 'sessions'].map((kind) => join(homeFolder(storePath), kind))
}

/** The observer of a graph's logger. */
export function loggerObservers(logger: Logger | undefined): readonly Telemetry[] {
  return logger === undefined ? [] : [loggerTelemetry(loggerOption(logger))]
}

function filesOf(
  option: 'log' | 'sessions',
  value: boolean | LogOptions,
  defaults: FileBounds,
): { readonly folder?: string; readonly bounds: FileBounds } | undefined {
  if (value === false) return undefined
  if (value === true) return { bounds: defaults }
  if (typeof value !== 'object' || value === null)
    throw invalidOption(option, `must be true, false or { folder, maxBytes, maxFiles }, not ${shown(value)}`)
  checkOptions(value, { ...LOG_OPTIONS, place: option })
  const { folder, ...bounds } = value
  if (folder !== undefined && statSync(folder, { throwIfNoEntry: false })?.isFile())
    throw invalidOption(`${option}.folder`, `must be a folder, and ${folder} is a file`)
  return { ...(folder === undefined ? {} : { folder }), bounds: { ...defaults, ...bounds } }
}

/** Throws if the log, or a file that it becomes by rotation, is the file of the store: lines would destroy it. */
function checkNotStore(path: string, storePath: string): void {
  const [suffix = ''] = /\.\d+$/.exec(storePath) ?? []
  const taken = [path, `${path}${suffix}`].find((each) => isSameFile(each, storePath))
  if (taken !== undefined)
    throw invalidOption(
      'log',
      `would be written to ${taken}, which is the file of the store: name another folder`,
    )
}

/** By any name that it has. */
function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

const LOG_OPTIONS: Omit<OptionSet<LogOptions>, 'place'> = {
  options: { folder: 'a text', maxBytes: { least: 1 }, maxFiles: { least: 1 } },
  foreign: { dir: 'folder', directory: 'folder', path: 'folder', maxSize: 'maxBytes' },
}
