/**
 * What Anthropic's `POST /v1/messages` refuses about the form of a conversation, in words like its own. Messages of
 * the same role may follow each other, since the API joins them; results have to come in the one message after the
 * calls all the same. It does not judge what depends on the account or on the model.
 */
import { anthropicContent, isThinking, TOOL_NAME } from './anthropic-blocks.ts'
import { type Complain, type Fields, fieldsOf, isBlank, isText, listOf, repeated, shown } from './reading.ts'

const LEAST_THINKING = 1024
/** Of models that read 200,000 tokens, as documented in November 2026; others take 600. */
const MOST_IMAGES = 100

export function checkAnthropic(body: Fields, complain: Complain): void {
  checkTop(body, complain)
  checkSystem(body['system'], complain)
  checkTools(body, complain)
  checkThinking(body, complain)
  checkMessages(body['messages'], complain)
  checkTurn(body, complain)
}

function checkTop({ model, max_tokens: most }: Fields, complain: Complain): void {
  if (!isText(model) || model === '') complain('model: Field required')
  if (most === undefined) complain('max_tokens: Field required')
  else if (!Number.isInteger(most) || (most as number) < 1)
    complain('max_tokens: Input should be an integer greater than or equal to 1')
}

function checkSystem(system: unknown, complain: Complain): void {
  if (system === undefined) return
  const blocks = isText(system) ? [{ type: 'text', text: system }] : listOf(system)
  if (!isText(system) && !Array.isArray(system))
    complain('system: Input should be a valid string or a list of text blocks')
  for (const block of blocks) {
    const { type, text } = fieldsOf(block)
    if (type !== 'text' || !isText(text)) complain('system: Input should be a text block')
    else if (text === '') complain('system: text content blocks must be non-empty')
    else if (isBlank(text)) complain('system: text content blocks must contain non-whitespace text')
  }
}

function checkTools({ tools, tool_choice: choice }: Fields, complain: Complain): void {
  const names = listOf(tools).map((tool) => fieldsOf(tool)['name'])
  if (tools !== undefined && !Array.isArray(tools)) complain('tools: Input should be a valid list')
  names.forEach((name, at) => {
    if (!isText(name) || !TOOL_NAME.test(name))
      complain(`tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  })
  if (repeated(names).size > 0) complain('tools: Tool names must be unique.')
  listOf(tools).forEach((tool, at) => {
    const { type = 'custom', input_schema: schema } = fieldsOf(tool)
    if (type === 'custom' && fieldsOf(schema)['type'] !== 'object')
      complain(`tools.${at}.custom.input_schema.type: Input should be 'object'`)
  })
  if (choice === undefined) return
  if (names.length === 0) complain('tool_choice may only be specified while providing `tools`.')
  const { type, name } = fieldsOf(choice)
  if (type === 'tool' && !names.includes(name)) complain(`Tool '${shown(name)}' not found in provided tools`)
}

function checkThinking(body: Fields, complain: Complain): void {
  const { type, budget_tokens: budget } = fieldsOf(body['thinking'])
  if (type !== 'enabled') return
  if (typeof budget !== 'number' || budget < LEAST_THINKING)
    complain(`thinking.enabled.budget_tokens: Input should be greater than or equal to ${LEAST_THINKING}`)
  else if (typeof body['max_tokens'] === 'number' && body['max_tokens'] <= budget)
    complain('`max_tokens` must be greater than `thinking.budget_tokens`.')
  if (body['temperature'] !== undefined && body['temperature'] !== 1)
    complain('`temperature` may only be set to 1 when thinking is enabled.')
  const { type: choice } = fieldsOf(body['tool_choice'])
  if (choice === 'any' || choice === 'tool')
    complain('Thinking may not be enabled when tool_choice forces tool use.')
}

/** With thinking on, a turn begins with a thought or not at all: the calls since somebody last spoke are one turn. */
function checkTurn({ thinking, messages }: Fields, complain: Complain): void {
  if (fieldsOf(thinking)['type'] !== 'enabled') return
  const list = listOf(messages).map(fieldsOf)
  const at = list.findLastIndex(({ role, content }) => role === 'user' && !isAllResults(content)) + 1
  const blocks = listOf(list[at]?.['content']).map(fieldsOf)
  const [first] = blocks
  if (first !== undefined && !isThinking(first) && blocks.some(({ type }) => type === 'tool_use'))
    complain(thoughtless(at, first))
}

function isAllResults(content: unknown): boolean {
  return (
    listOf(content).length > 0 && listOf(content).every((block) => fieldsOf(block)['type'] === 'tool_result')
  )
}

function thoughtless(at: number, { type }: Fields): string {
  return `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${shown(type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
}

function checkMessages(messages: unknown, complain: Complain): void {
  const list = listOf(messages)
  if (!Array.isArray(messages)) complain('messages: Field required')
  else if (list.length === 0) complain('messages: at least one message is required')
  else if (fieldsOf(list[0])['role'] !== 'user') complain('messages: first message must use the "user" role')
  const images = list.flatMap((message) => listOf(fieldsOf(message)['content'])).filter(isImage).length
  if (images > MOST_IMAGES) complain(`messages: Too many images: ${images} > ${MOST_IMAGES}`)
  const seen = new Set<string>()
  list.forEach((message, at) => {
    const { role } = fieldsOf(message)
    if (role !== 'user' && role !== 'assistant') {
      complain(`messages.${at}.role: Input should be 'user' or 'assistant'`)
      return
    }
    const place = { at, role, isLast: at === list.length - 1 } as const
    const blocks = anthropicContent(fieldsOf(message)['content'], place, complain)
    if (role === 'user') checkResults(blocks, idsAsked(list[at - 1]), { at, complain })
    else checkReply(blocks, { at, next: list[at + 1], seen, complain })
  })
}

function isImage(block: unknown): boolean {
  return fieldsOf(block)['type'] === 'image'
}

/** The ids of the calls in a message of the assistant. */
function idsAsked(message: unknown): ReadonlySet<string> {
  const { role, content } = fieldsOf(message)
  const calls = role === 'assistant' ? listOf(content).map(fieldsOf) : []
  return new Set(calls.flatMap(({ type, id }) => (type === 'tool_use' && isText(id) ? [id] : [])))
}

interface Asked {
  readonly at: number
  readonly complain: Complain
}

function checkResults(blocks: readonly Fields[], asked: ReadonlySet<string>, { at, complain }: Asked): void {
  const answered = new Set<unknown>()
  let hasOther = false
  blocks.forEach(({ type, tool_use_id: id }, index) => {
    if (type !== 'tool_result') {
      hasOther = true
      return
    }
    const path = `messages.${at}.content.${index}`
    if (!isText(id) || !asked.has(id))
      complain(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${shown(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    else if (answered.has(id))
      complain(
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      )
    else if (hasOther)
      complain(
        `${path}: \`tool_result\` blocks must come first in the content of a message, before any other`,
      )
    answered.add(id)
  })
}

interface Reply extends Asked {
  readonly next: unknown
  /** The ids of all calls so far. */
  readonly seen: Set<string>
}

function checkReply(blocks: readonly Fields[], { at, next, seen, complain }: Reply): void {
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  for (const { id } of calls) {
    if (!isText(id)) continue
    if (seen.has(id))
      complain(`messages.${at}.content.${indexOf(blocks, id)}: \`tool_use\` ids must be unique`)
    seen.add(id)
  }
  const answers = fieldsOf(next)['role'] === 'user' ? listOf(fieldsOf(next)['content']).map(fieldsOf) : []
  const answered = new Set(answers.map(({ type, tool_use_id: id }) => (type === 'tool_result' ? id : null)))
  const open = calls.map(({ id }) => id).filter((id) => !answered.has(id))
  if (open.length > 0)
    complain(
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.map(shown).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    )
  const first = blocks[0]
  if (calls.length > 0 && blocks.some(isThinking) && first !== undefined && !isThinking(first))
    complain(thoughtless(at, first))
  if (blocks.some(isThinking) && isThinking(blocks.at(-1) ?? {}))
    complain(`messages.${at}: The final block in an assistant message cannot be \`thinking\`.`)
}

function indexOf(blocks: readonly Fields[], id: string): number {
  return blocks.findLastIndex((block) => block['type'] === 'tool_use' && block['id'] === id)
}
