/** The system prompts of the nodes: defaults, templates, plain texts, and the values that they need. Calls no model. */
import { HoldfastError } from '../../protocol/index.ts'

export const PROMPT_NODES = ['planner', 'agent', 'verifier', 'replan'] as const

export type PromptNode = (typeof PROMPT_NODES)[number]

/** The values of each node's prompt, in the order in which a plain text gets them; instructions of tools come last. */
const VALUES: Readonly<Record<PromptNode, readonly PromptValue[]>> = {
  planner: ['task'],
  agent: ['task', 'plan'],
  verifier: ['task', 'answer', 'trace_section'],
  replan: ['task', 'previous_plan', 'verification_feedback'],
}

const INSTRUCTIONS = 'tool_instructions'

type PromptValue = 'task' | 'plan' | 'answer' | 'trace_section' | 'previous_plan' | 'verification_feedback'

/** `earlier`: the earlier rounds of the conversation, which follow the task in its place. */
export type PromptValues = Partial<
  Readonly<Record<PromptValue | 'earlier' | 'tool_instructions', string | undefined>>
>

const HEADINGS: Readonly<Record<PromptValue, string>> = {
  task: 'Task',
  plan: 'Plan',
  answer: 'Answer',
  trace_section: 'Execution trace',
  previous_plan: 'Previous plan',
  verification_feedback: 'Feedback of the verification',
}

/** The form of a verdict, for the verifier. */
export const VERDICT_FORM = `Reply with one JSON object and nothing else:
{"verified": true or false, "unmet": ["each requirement that is not met"], "evidence": ["the step of the trace that shows it"]}`

const DEFAULTS: Readonly<Record<PromptNode, string>> = {
  planner: `You plan a task that another model will carry out with tools.

# Task
{task}

Write a numbered plan of the steps. Name the files to look at and the command or check that shows that the task is done.
Use only the tools that are listed. Do not carry anything out yet.

{tool_instructions}`,
  agent: `You carry out a task with tools.

# Task
{task}

# Plan
{plan}

Work step by step. Look before you change something, and check what you have changed. A text alone ends nothing: call a tool
in every reply. When the task is done, call attempt_completion with the result, alone, after you have seen that it is done.

{tool_instructions}`,
  verifier: `You verify whether a task is done. Trust the trace, not the claim.

# Task
{task}

# Answer
{answer}

# Execution trace
{trace_section}

${VERDICT_FORM}
Without evidence in the trace a requirement is not met.

{tool_instructions}`,
  replan: `A task was not done as it should be. You write a better plan.

# Task
{task}

# Previous plan
{previous_plan}

# Feedback of the verification
{verification_feedback}

Keep what worked, change what did not. Write the whole new plan, numbered.

{tool_instructions}`,
}

/** The prompts of one agent. A prompt is checked when it is set. */
export class Prompts {
  readonly #custom = new Map<PromptNode, string>()

  set(node: PromptNode, text: string): void {
    if (typeof text !== 'string' || text.trim() === '')
      throw invalid(`The prompt of ${node} is empty. Give a text, or call resetPrompts() for the default.`)
    checkTemplate(node, text)
    this.#custom.set(node, text)
  }

  /** The text as it was set, or the default. */
  template(node: PromptNode): string {
    return this.#custom.get(node) ?? DEFAULTS[node]
  }

  /** True if the prompt of the node was set. */
  isCustom(node: PromptNode): boolean {
    return this.#custom.has(node)
  }

  reset(): void {
    this.#custom.clear()
  }

  render(node: PromptNode, values: PromptValues): string {
    const template = this.template(node)
    const text = isTemplate(template) ? template : wrapped(node, template)
    const { task = '', earlier = '' } = values
    const filled = { ...values, task: earlier === '' ? task : `${task}\n\n${earlier}` }
    return text.replace(PLACEHOLDER, (_, name: PromptValue) => filled[name] ?? '').trim()
  }
}

const ALL_VALUES: readonly string[] = [...new Set<string>([...Object.values(VALUES).flat(), INSTRUCTIONS])]
/** Braces around any other text are literal. */
const PLACEHOLDER = new RegExp(`\\{(${ALL_VALUES.join('|')})\\}`, 'g')

function placeholdersIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))
}

function isTemplate(text: string): boolean {
  return placeholdersIn(text).size > 0
}

function checkTemplate(node: PromptNode, text: string): void {
  const found = placeholdersIn(text)
  if (found.size === 0) return
  const required: readonly string[] = [...VALUES[node], INSTRUCTIONS]
  const missing = required.filter((name) => !found.has(name))
  const foreign = [...found].filter((name) => !required.includes(name))
  if (missing.length > 0)
    throw invalid(
      `The prompt of ${node} lacks ${braced(missing)}. Add ${missing.length === 1 ? 'it' : 'them'}, or write a text without placeholders: the values are then put around it.`,
    )
  if (foreign.length > 0)
    throw invalid(
      `The prompt of ${node} has ${braced(foreign)}, and ${node} has no such value. It has ${braced(required)}.`,
    )
}

/** A plain text between the values and the instructions of tools. */
function wrapped(node: PromptNode, text: string): string {
  const values = VALUES[node].map((name) => `# ${HEADINGS[name]}\n{${name}}`)
  return [...values, text.trim(), `{${INSTRUCTIONS}}`].join('\n\n')
}

function braced(names: readonly string[]): string {
  return names.map((name) => `{${name}}`).join(', ')
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid-option', { message })
}
