/**
 * What OpenAI's `POST /v1/responses` refuses about the form of its input, in words like its own. A request that goes on
 * from a stored response may answer calls that it does not hold. It does not judge what depends on the account or on
 * the model.
 */
import { checkOpenAIFile, checkOpenAIImage, checkOpenAIImageCount } from './files.ts'
import { checkArguments, checkId, checkJsonMode, checkName, tooLong } from './openai.ts'
import { type Complain, type Fields, fieldsOf, isFields, isText, listOf, repeated, shown } from './reading.ts'

const LONGEST_ID = 64
const PREFIXES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ['function_call', 'fc'],
  ['function_call_output', 'fc'],
  ['reasoning', 'rs'],
  ['message', 'msg'],
])
const INPUT_PARTS: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file', 'input_audio'])
const OUTPUT_PARTS: ReadonlySet<unknown> = new Set(['output_text', 'refusal'])

export function checkOpenAIResponses(body: Fields, complain: Complain): void {
  const { model, input } = body
  if (!isText(model) || model === '') complain("Missing required parameter: 'model'.")
  checkTools(body, complain)
  checkJsonMode(fieldsOf(body['text'])['format'], { prompt: input, field: 'text.format' }, complain)
  if (!isText(input) && !Array.isArray(input)) complain("Missing required parameter: 'input'.")
  else if (input.length === 0)
    complain("Invalid 'input': empty. Expected a string or an array with minimum length 1.")
  const items = listOf(input).map(fieldsOf)
  items.forEach((item, at) => checkItem(item, `input[${at}]`, complain))
  for (const twice of repeated(items.map(({ id }) => id)))
    complain(`Duplicate item found with id ${twice}. Remove duplicate items from your input and try again.`)
  const parts = items.flatMap(({ content }) => listOf(content).map(fieldsOf))
  checkOpenAIImageCount(parts.filter(({ type }) => type === 'input_image').length, complain)
  checkStored(body, items, complain)
  checkReasoning(items, complain)
  checkCalls(body, items, complain)
}

function checkTools({ tools, tool_choice: choice }: Fields, complain: Complain): void {
  const functions = listOf(tools).map(fieldsOf)
  if (tools !== undefined && !Array.isArray(tools)) complain("Invalid type for 'tools': expected an array.")
  functions.forEach(({ type, name }, at) => {
    if (!isText(type)) complain(`Missing required parameter: 'tools[${at}].type'.`)
    if (type === 'function') checkName(name, `tools[${at}].name`, complain)
  })
  const names = functions.filter(({ type }) => type === 'function').map(({ name }) => name)
  for (const name of repeated(names))
    complain(`Invalid 'tools': the function ${name} is declared more than once.`)
  const { type, name } = fieldsOf(choice)
  if (type === 'function' && !names.includes(name))
    complain(`Tool choice '${shown(name)}' not found in 'tools' parameter.`)
}

/** Messages may leave their type out. */
function typeOf({ type, role }: Fields): unknown {
  return type ?? (role === undefined ? undefined : 'message')
}

function checkItem(item: Fields, path: string, complain: Complain): void {
  const type = typeOf(item)
  if (!isText(type)) {
    complain(`Missing required parameter: '${path}.type'.`)
    return
  }
  const { id } = item
  const prefix = PREFIXES.get(type)
  if (id !== undefined && id !== null && prefix !== undefined) {
    if (!isText(id) || !id.startsWith(prefix))
      complain(`Invalid '${path}.id': '${shown(id)}'. Expected an ID that begins with '${prefix}'.`)
    else if (id.length > LONGEST_ID) complain(tooLong(`${path}.id`, id, LONGEST_ID))
  }
  if (type === 'message') checkMessage(item, path, complain)
  if (type === 'function_call' || type === 'function_call_output')
    checkId(item['call_id'], { path: `${path}.call_id`, longest: LONGEST_ID }, complain)
  if (type === 'function_call') {
    checkName(item['name'], `${path}.name`, complain)
    checkArguments(item['arguments'], `${path}.arguments`, complain)
  }
  if (type === 'function_call_output' && !isText(item['output']) && !Array.isArray(item['output']))
    complain(`Missing required parameter: '${path}.output'.`)
  if (type === 'reasoning' && !Array.isArray(item['summary']))
    complain(`Missing required parameter: '${path}.summary'.`)
}

function checkMessage({ role, content }: Fields, path: string, complain: Complain): void {
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer')
    complain(
      `Invalid value: '${shown(role)}' for '${path}.role'. Supported values are: 'assistant', 'system', 'developer' and 'user'.`,
    )
  if (isText(content)) {
    if (content === '') complain(`Invalid '${path}.content': the content must not be empty.`)
    return
  }
  if (!Array.isArray(content) || content.length === 0)
    complain(`Invalid '${path}.content': empty array. Expected an array with minimum length 1.`)
  const allowed = role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS
  listOf(content).forEach((part, at) => {
    const { type, text, image_url: image, file_data: file, file_id: id, file_url: url } = fieldsOf(part)
    const place = `${path}.content[${at}]`
    if (type === 'input_image' && !isText(id)) checkOpenAIImage(image, `${place}.image_url`, complain)
    if (type === 'input_file' && !isText(id) && !isText(url))
      checkOpenAIFile(file, `${place}.file_data`, complain)
    if (!allowed.has(type))
      complain(
        `Invalid value: '${shown(type)}' for '${path}.content[${at}].type'. Supported values are: ${[...allowed].map((each) => `'${shown(each)}'`).join(', ')}.`,
      )
    else if ((type === 'input_text' || type === 'output_text') && (!isText(text) || text === ''))
      complain(`Invalid '${path}.content[${at}].text': the text must not be empty.`)
  })
}

/** What was not stored cannot be named. */
function checkStored({ store }: Fields, items: readonly Fields[], complain: Complain): void {
  if (store !== false) return
  for (const item of items) {
    const { type, id, encrypted_content: content } = item
    if (type === 'item_reference' || (type === 'reasoning' && !isText(content)))
      complain(
        `Item with id '${shown(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      )
  }
}

/** From the end, so that each item knows what the reasoning before it led to. */
function checkReasoning(items: readonly Fields[], complain: Complain): void {
  let isMade = false
  for (const item of items.toReversed()) {
    const type = typeOf(item)
    if (type !== 'reasoning') isMade = type !== 'function_call_output' && item['role'] !== 'user'
    else if (!isMade)
      complain(
        `Item '${shown(item['id'])}' of type 'reasoning' was provided without its required following item.`,
      )
  }
}

function checkCalls(body: Fields, items: readonly Fields[], complain: Complain): void {
  const goesOn =
    isText(body['previous_response_id']) || isFields(body['conversation']) || isText(body['conversation'])
  const asked = new Set<string>()
  const answered = new Set<string>()
  items.forEach(({ type, call_id: id }, at) => {
    if (!isText(id)) return
    if (type === 'function_call') {
      if (asked.has(id)) complain(`Invalid 'input[${at}].call_id': the call ${id} is there more than once.`)
      asked.add(id)
    }
    if (type !== 'function_call_output') return
    if (answered.has(id)) complain(`Invalid 'input[${at}].call_id': the call ${id} has more than one output.`)
    else if (!asked.has(id) && !goesOn)
      complain(`No tool call found for function call output with call_id ${id}.`)
    answered.add(id)
  })
  for (const id of asked) if (!answered.has(id)) complain(`No tool output found for function call ${id}.`)
}
