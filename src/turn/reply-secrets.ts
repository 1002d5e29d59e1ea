/** Secrets in a model's reply that the redaction of entries does not find: in names that are kept, and at cut ends (R19). */
import type { AssistantPart, ToolCallPart } from '../protocol/index.ts'
import type { TurnRun } from './turn-run.ts'

export async function withoutSecrets(
  run: TurnRun,
  content: readonly AssistantPart[],
): Promise<readonly AssistantPart[]> {
  const tools = await run.tools()
  return content.map((part) => {
    if (part.type !== 'tool-call') return withSafeEnd(run, part)
    const isKnown = tools.some(({ name }) => name === part.tool)
    return withSafeArgs(run, isKnown ? part : { ...part, tool: run.secrets.ended(part.tool) })
  })
}

/** A reply that was cut off may end inside a secret. A redacted thought no longer fits its provider's signature. */
export function withSafeEnd(run: TurnRun, part: AssistantPart): AssistantPart {
  if (part.type === 'tool-call') return part
  const text = run.secrets.ended(part.text)
  if (text === part.text) return part
  return part.type === 'reasoning' ? { type: part.type, text } : { ...part, text }
}

/** Malformed arguments may end inside a secret, and the parser's message quotes a piece that may begin there, too. */
function withSafeArgs(run: TurnRun, part: ToolCallPart): ToolCallPart {
  const { args, malformed } = part
  if (malformed === undefined) return part
  const safe = typeof args === 'string' ? run.secrets.ended(args) : run.redacted(args)
  return safe === args ? part : { ...part, args: safe, malformed: malformed.replace(PARSER, '$1') }
}

/** The tool's own check says where the redacted arguments are wrong. */
const PARSER = /^(the arguments are not JSON): .*$/su
