/**
 * The options of a task: from the arguments, and from the file that a task leaves in the folder of conversations, so that
 * `--continue` works on with the same folder, criteria and policy.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Criterion } from 'holdfast/flows'
import { type ApprovalPolicyOptions, approvalPolicy, type Plugin } from 'holdfast/plugins'
import type { ParsedArguments } from '../arguments.ts'
import { unusable, wrongUsage } from '../refusal.ts'
import { replaceJson } from '../replace-json.ts'

export interface TaskOptions {
  /** The working folder. */
  readonly cwd: string
  readonly planning: boolean
  readonly criteria: readonly Criterion[]
  /** `--model`, `--agent`, and the files of `--policy` and `--mcp`. */
  readonly model?: string
  readonly agent?: string
  readonly policy?: string
  readonly mcp?: string
}

type Given = Pick<ParsedArguments, 'value' | 'values' | 'has'>

/** Paths are relative to `cwd`, the folder of the process. */
export function taskOptions(args: Given, cwd: string, saved?: TaskOptions): TaskOptions {
  if (saved !== undefined)
    for (const name of ['cwd', 'no-planning'])
      if (args.has(name)) throw wrongUsage(`Leave --${name} out: --continue goes on as the task began.`)
  const criteria = args.values('criterion').map(criterionFrom)
  const file = (name: 'policy' | 'mcp'): string | undefined => {
    const given = args.value(name)
    return given === undefined ? saved?.[name] : resolve(cwd, given)
  }
  return {
    cwd: saved === undefined ? newFolder(resolve(cwd, args.value('cwd') ?? '.')) : savedFolder(saved.cwd),
    planning: saved?.planning ?? !args.has('no-planning'),
    criteria: criteria.length > 0 ? criteria : (saved?.criteria ?? []),
    ...present('model', args.value('model') ?? saved?.model),
    ...present('agent', args.value('agent') ?? saved?.agent),
    ...present('policy', file('policy')),
    ...present('mcp', file('mcp')),
  }
}

/** Throws if the folder of `--cwd` does not exist. */
export function newFolder(path: string): string {
  if (isFolder(path)) return path
  throw wrongUsage(`--cwd ${path} is not a folder. Create it first, or name another.`)
}

function savedFolder(path: string): string {
  if (isFolder(path)) return path
  throw unusable(`The task works in ${path}, which is no longer a folder. Restore it, or begin a new task.`)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function present<K extends string>(name: K, value: string | undefined): { readonly [P in K]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [P in K]: string })
}

function criterionFrom(text: string): Criterion {
  const [, name = '', command = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? []
  if (name.trim() === '' || command.trim() === '')
    throw wrongUsage(`--criterion ${JSON.stringify(text)} must be NAME=COMMAND, such as "tests=npm test".`)
  return { name: name.trim(), command: command.trim() }
}

/** The plugin of a policy file: JSON with `rules`, as approvalPolicy() takes them. Paths in it are relative to `cwd`. */
export function policyFrom(file: string, cwd: string): Plugin {
  let read: unknown
  try {
    read = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw unusable(`The policy ${file} cannot be read: ${why}`, error)
  }
  try {
    return approvalPolicy({ cwd, ...(read as ApprovalPolicyOptions) })
  } catch (error) {
    throw unusable(`The policy ${file}: ${error instanceof Error ? error.message : String(error)}`, error)
  }
}

export function saveTask(folder: string, id: string, options: TaskOptions): void {
  const path = pathOf(folder, id)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  replaceJson(path, options)
}

/** True if a task with this id began here. */
export function isTask(folder: string, id: string): boolean {
  return /^[\w.-]+$/.test(id) && existsSync(pathOf(folder, id))
}

/** Forgets the options of a task that was erased. */
export function forgetTask(folder: string, id: string): void {
  if (isTask(folder, id)) rmSync(pathOf(folder, id), { force: true })
}

/** Throws if no task with this id began here. */
export function savedTask(folder: string, id: string): TaskOptions {
  try {
    return JSON.parse(readFileSync(pathOf(folder, id), 'utf8')) as TaskOptions
  } catch (error) {
    throw unusable(
      `There is no task ${JSON.stringify(id)} here: its options are not in ${folder}. For a message of one word, give the id, too: holdfast task --continue ID "…".`,
      error,
    )
  }
}

function pathOf(folder: string, id: string): string {
  return join(folder, 'tasks', `${id}.json`)
}
