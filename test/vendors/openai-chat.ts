/**
 * What OpenAI's `POST /v1/chat/completions`, and those who speak like it, refuse about the form of a conversation, in
 * words like its own. It does not judge what depends on the account or on the model.
 */
import { checkOpenAIFile, checkOpenAIImage, checkOpenAIImageCount, isBase64 } from './files.ts'
import { checkArguments, checkId, checkJsonMode, checkName } from './openai.ts'
import { type Complain, type Fields, fieldsOf, isText, listOf, repeated, shown } from './reading.ts'

/** Newer versions of the API take 64; 40 is what all of them take. */
const LONGEST_ID = 40
const MOST_TOOLS = 128

export function checkOpenAIChat(body: Fields, complain: Complain): void {
  const { model, messages } = body
  if (!isText(model) || model === '') complain('you must provide a model parameter')
  checkTools(body, complain)
  checkJsonMode(body['response_format'], { prompt: messages, field: 'response_format' }, complain)
  if (!Array.isArray(messages)) complain("Missing required parameter: 'messages'.")
  else if (messages.length === 0)
    complain(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    )
  listOf(messages).forEach((message, at) => checkMessage(fieldsOf(message), `messages[${at}]`, complain))
  checkRounds(listOf(messages).map(fieldsOf), complain)
  const parts = listOf(messages).flatMap((message) => listOf(fieldsOf(message)['content']))
  checkOpenAIImageCount(parts.filter((part) => fieldsOf(part)['type'] === 'image_url').length, complain)
}

function checkTools({ tools, tool_choice: choice }: Fields, complain: Complain): void {
  const names = listOf(tools).map((tool) => fieldsOf(fieldsOf(tool)['function'])['name'])
  if (tools !== undefined && !Array.isArray(tools)) complain("Invalid type for 'tools': expected an array.")
  if (Array.isArray(tools) && tools.length === 0)
    complain("Invalid 'tools': empty array. Expected an array with minimum length 1.")
  if (names.length > MOST_TOOLS)
    complain(
      `Invalid 'tools': array too long. Expected an array with maximum length ${MOST_TOOLS}, but got an array with length ${names.length} instead.`,
    )
  listOf(tools).forEach((tool, at) => {
    if (!isText(fieldsOf(tool)['type'])) complain(`Missing required parameter: 'tools[${at}].type'.`)
  })
  names.forEach((name, at) => checkName(name, `tools[${at}].function.name`, complain))
  for (const name of repeated(names))
    complain(`Invalid 'tools': the function ${name} is declared more than once.`)
  if (choice === undefined) return
  if (names.length === 0)
    complain("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
  const wanted = fieldsOf(fieldsOf(choice)['function'])['name']
  if (wanted !== undefined && !names.includes(wanted))
    complain(`Invalid value for 'tool_choice': the function ${shown(wanted)} is not in 'tools'.`)
}

function checkMessage(message: Fields, path: string, complain: Complain): void {
  const { role, content, tool_calls: calls } = message
  if (role === 'assistant') checkAssistant(message, path, complain)
  else if (role === 'user') checkContent(content, path, complain)
  else if (role === 'tool' || role === 'system' || role === 'developer') {
    if (!isText(content)) checkContent(content, path, complain)
  } else
    complain(
      `Invalid value: '${shown(role)}' for '${path}.role'. Supported values are: 'system', 'developer', 'user', 'assistant' and 'tool'.`,
    )
  if (role !== 'assistant' && calls !== undefined)
    complain(`Invalid '${path}': 'tool_calls' is only allowed in messages with role 'assistant'.`)
}

function checkContent(content: unknown, path: string, complain: Complain): void {
  if (isText(content)) {
    if (content === '') complain(`Invalid '${path}.content': the content must not be empty.`)
    return
  }
  if (!Array.isArray(content)) {
    complain(`Invalid value for 'content' in '${path}': expected a string, got ${shown(content)}.`)
    return
  }
  if (content.length === 0)
    complain(`Invalid '${path}.content': empty array. Expected an array with minimum length 1.`)
  content.forEach((part: unknown, at) => {
    const { type, text, image_url: image, file, input_audio: audio } = fieldsOf(part)
    const place = `${path}.content[${at}]`
    if (type === 'image_url') checkOpenAIImage(fieldsOf(image)['url'], `${place}.image_url.url`, complain)
    if (type === 'file' && !isText(fieldsOf(file)['file_id']))
      checkOpenAIFile(fieldsOf(file)['file_data'], `${place}.file.file_data`, complain)
    if (type === 'input_audio' && !isBase64(fieldsOf(audio)['data']))
      complain(`Invalid '${place}.input_audio.data': the data is not valid base64.`)
    if (!isText(type)) complain(`Missing required parameter: '${path}.content[${at}].type'.`)
    else if (type === 'text' && (!isText(text) || text === ''))
      complain(`Invalid '${path}.content[${at}].text': the text must not be empty.`)
  })
}

function checkAssistant({ content, tool_calls: calls }: Fields, path: string, complain: Complain): void {
  if (calls === undefined) {
    checkContent(content, path, complain)
    return
  }
  if (!Array.isArray(calls) || calls.length === 0)
    complain(`Invalid '${path}.tool_calls': empty array. Expected an array with minimum length 1.`)
  if (content !== null && content !== undefined && !isText(content)) checkContent(content, path, complain)
  listOf(calls).forEach((call, at) => {
    const { id, type, function: called } = fieldsOf(call)
    const { name, arguments: args } = fieldsOf(called)
    const place = `${path}.tool_calls[${at}]`
    checkId(id, { path: `${place}.id`, longest: LONGEST_ID }, complain)
    if (type !== 'function') complain(`Missing required parameter: '${place}.type'.`)
    checkName(name, `${place}.function.name`, complain)
    checkArguments(args, `${place}.function.arguments`, complain)
  })
}

/** Every call is answered right after the message that asked, before anything else is said. */
function checkRounds(messages: readonly Fields[], complain: Complain): void {
  const seen = new Set<string>()
  let open = new Set<string>()
  let answered = new Set<string>()
  let inRound = false
  const close = () => {
    if (open.size > 0)
      complain(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
      )
  }
  messages.forEach(({ role, tool_call_id: id, tool_calls: calls }, at) => {
    if (role === 'tool') {
      if (isText(id) && open.delete(id)) answered.add(id)
      else complain(unasked({ at, id, inRound, isRepeated: isText(id) && answered.has(id) }))
      return
    }
    close()
    const ids = listOf(calls)
      .flatMap((call) => fieldsOf(call)['id'])
      .filter(isText)
    for (const each of ids) {
      if (seen.has(each))
        complain(`Invalid 'messages[${at}].tool_calls': the id ${each} is used more than once.`)
      seen.add(each)
    }
    inRound = role === 'assistant' && ids.length > 0
    open = new Set(inRound ? ids : [])
    answered = new Set()
  })
  close()
}

interface Unasked {
  readonly at: number
  readonly id: unknown
  readonly inRound: boolean
  readonly isRepeated: boolean
}

function unasked({ at, id, inRound, isRepeated }: Unasked): string {
  if (!inRound)
    return `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls' (messages[${at}]).`
  return isRepeated
    ? `Invalid parameter: 'tool_call_id' of '${shown(id)}' has more than one response (messages[${at}]).`
    : `Invalid parameter: 'tool_call_id' of '${shown(id)}' not found in 'tool_calls' of previous message (messages[${at}]).`
}
