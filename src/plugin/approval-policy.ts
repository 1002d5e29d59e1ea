/**
 * An approval policy: rules that allow, ask or deny by tool, command, path and host. A call that no rule allows asks, a
 * command that is not fully understood asks, and a chain of commands is as strict as its strictest command.
 */
import { statSync } from 'node:fs'
import type { PluginParts } from '../hook/index.ts'
import { checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { PolicyCall, PolicyDecision } from '../tool/index.ts'
import { type ApprovalRule, type ReadRule, readRule } from './approval-rules.ts'
import {
  fieldsOf,
  hasFreeCommands,
  judgeArguments,
  judgeControl,
  judgePlaces,
  type Policy,
  strictest,
} from './judge-call.ts'
import { judgeCommand } from './judge-command.ts'

export interface ApprovalPolicyOptions {
  /** The name of the plugin. Default: `approvalPolicy`. */
  readonly name?: string
  /** In any order: of the rules that match a call, the strictest counts. */
  readonly rules: readonly ApprovalRule[]
  /** The folder that paths are relative to: that of the tools. Rules with `path` need it. Default: that of the process. */
  readonly cwd?: string
  /** The decision about tools that no rule names. Default: `ask`. */
  readonly unknown?: 'ask' | 'deny'
  /** Names of the arguments that rules look at. Default: `command`, `path` and `url`. */
  readonly arguments?: PolicyArguments
}

export interface PolicyArguments {
  readonly command?: readonly string[]
  readonly path?: readonly string[]
  readonly url?: readonly string[]
}

const POLICY: OptionSet<ApprovalPolicyOptions> = {
  place: 'approvalPolicy()',
  options: {
    name: 'a text',
    rules: 'a list',
    cwd: 'a text',
    unknown: ['ask', 'deny'],
    arguments: 'an object',
  },
  foreign: {
    default: 'unknown',
    allow: "rules: [{ tool, decision: 'allow' }]",
    deny: "rules: [{ tool, decision: 'deny' }]",
  },
}

const ARGUMENTS: OptionSet<PolicyArguments> = {
  place: 'arguments',
  options: { command: 'a list', path: 'a list', url: 'a list' },
  foreign: { host: 'url' },
}

/**
 * A plugin. Its decisions come before the tools' own `approve`, and hold for the agents below, too.
 *
 * @example
 * approvalPolicy({
 *   cwd: process.cwd(),
 *   rules: [
 *     { tool: ['read_file', 'list_files', 'search_files'], decision: 'allow' },
 *     { tool: 'write_to_file', path: 'src/**', decision: 'allow' },
 *     { tool: 'execute_command', command: ['npm test', 'git status', 'ls *'], decision: 'allow' },
 *     { tool: '*', path: '.env', decision: 'deny', reason: 'Secrets are not for models.' },
 *   ],
 * })
 */
export function approvalPolicy(options: ApprovalPolicyOptions): PluginParts {
  checkOptions(options, POLICY)
  const { name = 'approvalPolicy', rules, unknown = 'ask' } = options
  const { arguments: names = {} } = options
  if (!Array.isArray(rules))
    throw new HoldfastError('invalid-option', {
      message: "approvalPolicy() needs rules, such as [{ tool: 'read_file', decision: 'allow' }].",
    })
  checkOptions(names, ARGUMENTS)
  const read = (rules as readonly ApprovalRule[]).map(readRule)
  return policyPlugin(name, {
    rules: read,
    cwd: folderOf(options, read),
    unknown,
    names: { command: ['command'], path: ['path'], url: ['url'], ...names },
  })
}

/** The links of paths are read in this folder, so that it must be the one of the tools. */
function folderOf({ cwd }: ApprovalPolicyOptions, rules: readonly ReadRule[]): string {
  if (cwd === undefined && rules.some(({ paths }) => paths))
    throw new HoldfastError('invalid-option', {
      message: 'approvalPolicy(): path rules need cwd, the folder that the tools work in.',
    })
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new HoldfastError('invalid-option', {
      message: `approvalPolicy(): cwd ${quote(cwd)} is no folder.`,
    })
  return cwd ?? process.cwd()
}

export function policyPlugin(name: string, policy: Policy): PluginParts {
  return { name, approve: (call) => decide(policy, call) }
}

async function decide(
  policy: Policy,
  { tool, input, isControl }: PolicyCall,
): Promise<PolicyDecision | undefined> {
  if (isControl) return judgeControl(policy, tool, input)
  const fields = fieldsOf(input)
  const texts = policy.names.command.flatMap((name) => (fields[name] === undefined ? [] : [fields[name]]))
  if (texts.length === 0 || hasFreeCommands(policy, tool)) return judgeArguments(policy, tool, input)
  const { cwd: folder } = fields
  const verdicts = await Promise.all(texts.map((text) => judgeCommand(policy, { tool, text, folder })))
  return strictest([...verdicts.flat(), ...judgePlaces(policy, tool, input)])
}
