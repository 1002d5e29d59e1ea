/** Whether a person must agree to a call, and with which question. It does not know how the question is asked. */
import { debugThrown } from '../base/index.ts'
import { quote } from '../protocol/index.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Approval, ApprovalCall, Tool } from './tool.ts'

export interface ApprovalOptions {
  readonly secrets?: Redactor
  /** Told why the function failed: that is for whoever wrote it, not for the person who is asked. */
  readonly onFailed?: (why: string) => void
}

/**
 * The question to ask before this call, or undefined if none is needed. Whatever goes wrong in deciding it, the person
 * is asked. Never rejects.
 */
export async function approvalOf(
  tool: Tool,
  call: ApprovalCall,
  { secrets = NO_SECRETS, onFailed }: ApprovalOptions = {},
): Promise<string | undefined> {
  const { approve } = tool
  if (approve === 'never') return undefined
  const usual = question(call, secrets)
  if (approve === 'always') return usual
  try {
    const answer: Approval = await approve(call)
    if (answer === false) return undefined
    return typeof answer === 'string' && answer.trim() !== '' ? secrets.text(answer) : usual
  } catch (error) {
    const who = `The function approve of the tool ${tool.name}`
    debugThrown(who, error)
    onFailed?.(`${who} failed: ${thrown(error, secrets, 'It').error}`)
    return `${usual} (You are asked because the approval function of this tool failed.)`
  }
}

const LONGEST_INPUT = 500
/** Characters that are not seen, or that change how others are seen: a person must see what they agree to. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

function question({ tool, input }: ApprovalCall, secrets: Redactor): string {
  const json = toJson(input)
  if (json instanceof JsonProblem) return `May ${quote(tool)} be run?`
  const text = JSON.stringify(secrets.json(json))
  const short = text.length > LONGEST_INPUT ? `${text.slice(0, LONGEST_INPUT).toWellFormed()}…` : text
  const seen = short.replace(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16) ?? ''}}`)
  return text === '{}' ? `May ${quote(tool)} be run?` : `May ${quote(tool)} be run with ${seen}?`
}
