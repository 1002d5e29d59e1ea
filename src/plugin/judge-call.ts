/** Decides about the subjects of a call by the rules of a policy, and names what a grant would cover. */
import { canonical } from '../protocol/index.ts'
import { type PolicyDecision, toJson } from '../tool/index.ts'
import {
  type ApprovalRule,
  type GivenArguments,
  matchesRule,
  type ReadRule,
  type Subject,
} from './approval-rules.ts'
import { hostOf, inside, isTool, judgedPath } from './call-patterns.ts'
import { reachesBelow, readsFolder } from './folder-reach.ts'
import type { LoadGrammar } from './shell-chain.ts'

export interface Policy {
  readonly rules: readonly ReadRule[]
  readonly cwd: string
  readonly unknown: 'ask' | 'deny'
  /** Names of arguments. */
  readonly names: Readonly<Record<'command' | 'path' | 'url', readonly string[]>>
  readonly load?: LoadGrammar
}

/** The texts of grants for a subject. */
export interface Offers {
  /** For a rule that asks: all that the rule covers; undefined if a grant of that would cover more than is meant. */
  readonly ofRule: (asking: ReadRule) => string | undefined
  /** For this subject alone; undefined if it cannot be granted. */
  readonly own: string | undefined
  /** The decision if no rule matches. */
  readonly otherwise: PolicyDecision
}

/** The strictest matching rule decides. */
export function judge(
  { rules }: Policy,
  subject: Subject,
  { ofRule, own, otherwise }: Offers,
): PolicyDecision {
  const matching = rules.filter((rule) => matchesRule(rule, subject))
  const of = (decision: ApprovalRule['decision']) => matching.filter(({ rule }) => rule.decision === decision)
  const denying = of('deny').map(({ rule }) => whenLeft(rule))
  if (denying.length > 0) return strictest(denying)
  const isNamed = rules.some((read) => isKnown(read, subject.tool))
  if (!isNamed && otherwise.decision === 'deny') return otherwise
  const asking = of('ask')
  const [allowing] = isNamed ? of('allow') : []
  if (asking.length > 0)
    return strictest(asking.map((read) => ({ ...whenLeft(read.rule), ...grantsOf(ofRule(read) ?? own) })))
  return allowing === undefined ? { ...otherwise, ...grantsOf(own) } : whenLeft(allowing.rule)
}

function grantsOf(pattern: string | undefined): Pick<PolicyDecision, 'grants'> {
  return pattern === undefined ? {} : { grants: [pattern] }
}

function whenLeft({ decision, reason, stop }: ApprovalRule): PolicyDecision {
  return {
    decision,
    ...(reason === undefined ? {} : { reason }),
    ...(stop === undefined ? {} : { stop }),
  }
}

/** The strictest of several decisions. Grants are offered only if each question has some, and all of them are needed. */
export function strictest(verdicts: readonly PolicyDecision[]): PolicyDecision {
  const denied = verdicts.filter(({ decision }) => decision === 'deny')
  const [hardest] = denied.toSorted((a, b) => Number(b.stop ?? false) - Number(a.stop ?? false))
  if (hardest !== undefined) return hardest
  const asks = verdicts.filter(({ decision }) => decision === 'ask')
  const [allowed] = verdicts
  if (asks.length === 0 && allowed !== undefined) return allowed
  const reasons = [...new Set(asks.flatMap(({ reason }) => reason ?? []))]
  const isOffered = asks.every(({ grants = [] }) => grants.length > 0)
  return {
    decision: 'ask',
    ...(reasons.length === 0 ? {} : { reason: reasons.join(' ') }),
    ...(isOffered ? { grants: [...new Set(asks.flatMap(({ grants = [] }) => grants))] } : {}),
  }
}

/** True if a rule is about this tool, and not about all tools. */
function isKnown({ tools }: ReadRule, tool: string): boolean {
  return tools.some((pattern) => pattern !== '*' && isTool(pattern, tool))
}

/** True if commands need not be read: rules allow the tool by its whole name, and no other rule could concern them. */
export function hasFreeCommands({ rules }: Policy, tool: string): boolean {
  const own = rules.filter(({ tools, hosts }) => !hosts && tools.some((pattern) => isTool(pattern, tool)))
  const isFree = ({ rule, commands, paths }: ReadRule) => rule.decision === 'allow' && !commands && !paths
  return own.every(isFree) && own.some(({ tools }) => tools.includes(tool))
}

/** The decisions of rules that deny or ask, about the paths and addresses that a call names beside its command. */
export function judgePlaces(policy: Policy, tool: string, input: unknown): readonly PolicyDecision[] {
  const fields = fieldsOf(input)
  const isGiven = [...policy.names.path, ...policy.names.url].some((name) => fields[name] !== undefined)
  if (!isGiven) return []
  const rules = policy.rules.filter(({ rule, paths, hosts }) => rule.decision !== 'allow' && (paths ?? hosts))
  const given = argumentsOf(policy, input)
  return rules.some((read) => matchesRule(read, { kind: 'call', tool, given }))
    ? [judgeArguments({ ...policy, rules, unknown: 'ask' }, tool, input)]
    : judgeUnread(policy, tool, given)
}

/** The decision about a call that no rule matches. */
export function unmatched(policy: Policy, tool: string, reason: string): PolicyDecision {
  return policy.rules.some((read) => isKnown(read, tool))
    ? { decision: 'ask', reason }
    : { decision: policy.unknown, reason: `No rule is about ${tool}.` }
}

/** Decides by the tool and its arguments. */
export function judgeArguments(policy: Policy, tool: string, input: unknown): PolicyDecision {
  const given = argumentsOf(policy, input)
  const decided = judge(
    policy,
    { kind: 'call', tool, given },
    {
      ofRule: ({ paths, hosts }) => {
        const patterns = [...(paths ?? []), ...(hosts ?? [])]
        return `${tool}: ${patterns.length === 0 ? 'any arguments' : patterns.join(', ')}`
      },
      own: placeOf(policy, tool, given) ?? exactly(tool, input),
      otherwise: unmatched(policy, tool, `No rule allows this call of ${tool}.`),
    },
  )
  return strictest([decided, ...judgeUnread(policy, tool, given), ...judgeBelow(policy, tool, input)])
}

/**
 * Decides about a tool that acts on its conversation alone: by rules without conditions, since it uses no path or host and runs
 * no command. Undefined if none of them asks or denies.
 */
export function judgeControl(policy: Policy, tool: string, input: unknown): PolicyDecision | undefined {
  const rules = strictRules(policy, tool).filter(
    ({ commands, paths, hosts }) => !(commands ?? paths ?? hosts),
  )
  return rules.length === 0 ? undefined : judgeArguments({ ...policy, rules, unknown: 'ask' }, tool, input)
}

/** A question about a tool that reads the files of a folder, if a rule that denies or asks is about a path below. */
function judgeBelow(policy: Policy, tool: string, input: unknown): readonly PolicyDecision[] {
  // A listing shows names, not contents.
  if (!readsFolder(tool) || tool === 'list_files') return []
  const { file_pattern: names } = fieldsOf(input)
  const folders = argumentsOf(policy, input).paths.filter((path) => path !== undefined)
  const below = strictRules(policy, tool)
    .flatMap(({ paths = [] }) => paths)
    .find((pattern) => folders.some((path) => reachesBelow(pattern, path, names)))
  if (below === undefined) return []
  const reason = `It may reach ${below}, which a rule is about.`
  return [{ decision: 'ask', reason, ...grantsOf(exactly(tool, input)) }]
}

/** Rules for this tool that deny or ask. */
function strictRules({ rules }: Policy, tool: string): readonly ReadRule[] {
  return rules.filter(
    ({ rule, tools }) => rule.decision !== 'allow' && tools.some((pattern) => isTool(pattern, tool)),
  )
}

/** A question about an argument that cannot be judged, if a rule that denies or asks could concern it. */
function judgeUnread(
  policy: Policy,
  tool: string,
  { paths, hosts }: GivenArguments,
): readonly PolicyDecision[] {
  const strict = strictRules(policy, tool)
  const unread = [
    ...(paths.includes(undefined) && strict.some((read) => read.paths) ? ['path'] : []),
    ...(hosts.includes(undefined) && strict.some((read) => read.hosts) ? ['address'] : []),
  ]
  return unread.map((what) => ({ decision: 'ask', reason: `The ${what} of this call cannot be judged.` }))
}

/** A call of a tool that has rules for paths or hosts, by the place that it leads to alone: a link may change. */
function placeOf(policy: Policy, tool: string, given: GivenArguments): string | undefined {
  const { paths, hosts, isOnFiles } = given
  const own = policy.rules.filter((read) => isKnown(read, tool))
  const [byPath, byHost] = [own.some((read) => read.paths), own.some((read) => read.hosts)]
  if (!byPath && !byHost) return undefined
  const places = [
    ...(byPath && isOnFiles ? paths.map((path) => path && inside(path.realFolder, path.real)) : []),
    ...(byHost || !isOnFiles ? hosts : []),
  ]
  const isWhole = places.length > 0 && places.every((place) => place !== undefined)
  return isWhole ? `${tool}: ${places.map(quoted).join(', ')}` : undefined
}

/** Texts that could be taken for patterns are quoted. */
function quoted(place: string | undefined): string {
  return /^[\w./:-]+$/.test(place ?? '') ? (place ?? '') : JSON.stringify(place)
}

function exactly(tool: string, input: unknown): string | undefined {
  const json = toJson(input)
  return json instanceof Error ? undefined : `${tool}: with ${canonical(json)}`
}

function argumentsOf({ cwd, names }: Policy, input: unknown): GivenArguments {
  const fields = fieldsOf(input)
  const valuesOf = (list: readonly string[]) =>
    list.flatMap((name) => (fields[name] === undefined ? [] : [fields[name]]))
  const paths = valuesOf(names.path)
  const urls = valuesOf(names.url)
  return {
    isOnFiles: paths.length > 0 || urls.length === 0,
    paths: (paths.length === 0 ? ['.'] : paths).map((path) =>
      typeof path === 'string' ? judgedPath(cwd, path) : undefined,
    ),
    hosts: urls.map((url) => (typeof url === 'string' ? hostOf(url) : undefined)),
    hasCommand: valuesOf(names.command).length > 0,
  }
}

export function fieldsOf(input: unknown): Readonly<Record<string, unknown>> {
  return (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
}
