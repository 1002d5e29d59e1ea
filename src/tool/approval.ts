/** Decides whether a call needs approval, and with which question. Knows nothing of delivery. */
import { debugThrown } from '../base/index.ts'
import { quote } from '../protocol/index.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import { shownInput } from './shown-input.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Approval, ApprovalCall, Tool } from './tool.ts'

export interface ApprovalOptions {
  readonly secrets?: Redactor
  /** Receives the failure of `approve`: for its author, not for the person who is asked. */
  readonly onFailed?: (why: string) => void
}

/** The approval question for this call, or undefined if none is needed. Any failure asks the person. Never rejects. */
export async function approvalOf(
  tool: Tool,
  call: ApprovalCall,
  { secrets = NO_SECRETS, onFailed }: ApprovalOptions = {},
): Promise<string | undefined> {
  const { approve } = tool
  if (approve === 'never') return undefined
  const usual = usualQuestion(call, secrets)
  if (approve === 'always') return usual
  try {
    const answer: Approval = await approve(call)
    if (answer === false) return undefined
    return typeof answer === 'string' && answer.trim() !== '' ? secrets.text(answer) : usual
  } catch (error) {
    const source = `The function approve of the tool ${tool.name}`
    debugThrown(source, error)
    onFailed?.(`${source} failed: ${thrown(error, secrets, 'It').error}`)
    return `${usual} (You are asked because the approval function of this tool failed.)`
  }
}

const LONGEST_INPUT = 500
/** Invisible characters, and those that change how others are displayed: a person must see the approved input. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The runtime's own question: the tool and its arguments. */
export function usualQuestion(
  { tool, input }: Pick<ApprovalCall, 'tool' | 'input'>,
  secrets: Redactor,
): string {
  const json = toJson(input)
  const text =
    json instanceof JsonProblem ? secrets.text(shownInput(input)) : JSON.stringify(secrets.json(json))
  const short = text.length > LONGEST_INPUT ? `${text.slice(0, LONGEST_INPUT).toWellFormed()}…` : text
  return text === '{}'
    ? `May ${quote(tool)} be run?`
    : `May ${quote(tool)} be run with ${visibleText(short)}?`
}

export function visibleText(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16) ?? ''}}`)
}
