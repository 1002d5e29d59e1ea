/**
 * What Gemini's `generateContent` and `streamGenerateContent` refuse about the form of a conversation, in words like
 * its own. The model is named in the address and not in the body, so rules of single models are not judged here.
 */
import { isBase64 } from './files.ts'
import { type Complain, type Fields, fieldsOf, isFields, isText, listOf, repeated, shown } from './reading.ts'

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/
const BAD_NAME =
  'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.'
const KINDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]

/** As documented in November 2026. */
const MOST_IMAGES = 3600
const IMAGES: ReadonlySet<string> = new Set(['png', 'jpeg', 'jpg', 'webp', 'heic', 'heif'])
const DOCUMENTS: ReadonlySet<string> = new Set(['pdf', 'json', 'rtf', 'xml', 'javascript', 'x-javascript'])

export function checkGoogle(body: Fields, complain: Complain): void {
  const { contents, systemInstruction: system } = body
  checkTools(body, complain)
  if (system !== undefined) checkParts(fieldsOf(system), 'system_instruction', complain)
  const turns = listOf(contents).map(fieldsOf)
  if (turns.length === 0) complain('* GenerateContentRequest.contents: contents is not specified')
  else if (turns[0]?.['role'] !== 'user')
    complain('Please ensure that the first turn of the conversation has the role user.')
  turns.forEach((turn, at) => {
    const { role } = turn
    if (role !== 'user' && role !== 'model')
      complain(`Please use a valid role: user, model (contents[${at}] has '${shown(role)}').`)
    checkParts(turn, `contents[${at}]`, complain)
    checkOrder(turns, at, complain)
  })
  const images = turns.flatMap((turn) => ofKind(turn, 'inlineData')).filter(isImage).length
  if (images > MOST_IMAGES)
    complain(`Please use fewer than ${MOST_IMAGES} images in your request (${images} are in it).`)
}

function isImage({ mimeType }: Fields): boolean {
  return isText(mimeType) && mimeType.startsWith('image/')
}

function checkTools({ tools, toolConfig: config, generationConfig }: Fields, complain: Complain): void {
  const names = listOf(tools).flatMap((tool) =>
    listOf(fieldsOf(tool)['functionDeclarations']).map((each) => fieldsOf(each)['name']),
  )
  // The newest models accept both; those before do not.
  if (names.length > 0 && fieldsOf(generationConfig)['responseMimeType'] === 'application/json')
    complain("Function calling with a response mime type: 'application/json' is unsupported")
  names.forEach((name, at) => {
    if (!isText(name) || !NAME.test(name))
      complain(`* GenerateContentRequest.tools[0].function_declarations[${at}].name: ${BAD_NAME}`)
  })
  for (const name of repeated(names)) complain(`Duplicate function declaration found: ${name}`)
  const wanted = listOf(fieldsOf(fieldsOf(config)['functionCallingConfig'])['allowedFunctionNames'])
  for (const name of wanted)
    if (!names.includes(name))
      complain(
        `* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: the function ${shown(name)} is not declared.`,
      )
}

function checkParts({ parts }: Fields, path: string, complain: Complain): void {
  const place = `* GenerateContentRequest.${path}.parts`
  if (!Array.isArray(parts) || parts.length === 0) complain(`${place}: contents.parts must not be empty.`)
  listOf(parts).forEach((part, at) => {
    const fields = fieldsOf(part)
    const kinds = KINDS.filter((kind) => fields[kind] !== undefined)
    if (kinds.length !== 1)
      complain(`${place}[${at}].data: required oneof field 'data' must have one initialized field`)
    const { text, thoughtSignature: signature, functionCall: call, functionResponse: response } = fields
    if (text !== undefined && !(isText(text) && (text !== '' || isText(signature))))
      complain(`${place}[${at}].text: Unable to submit request because it has an empty text parameter.`)
    if (fields['inlineData'] !== undefined)
      checkInline(fieldsOf(fields['inlineData']), `${path}.parts[${at}].inline_data`, complain)
    if (call !== undefined) checkCall(fieldsOf(call), `${place}[${at}].function_call`, complain)
    if (response !== undefined)
      checkResponse(fieldsOf(response), `${place}[${at}].function_response`, complain)
  })
}

function checkInline({ mimeType, data }: Fields, path: string, complain: Complain): void {
  const [kind = '', type = ''] = isText(mimeType) ? (mimeType.split(';')[0] ?? '').split('/') : []
  const isTaken =
    (kind === 'image' && IMAGES.has(type)) ||
    (kind === 'application' && DOCUMENTS.has(type)) ||
    ((kind === 'audio' || kind === 'video' || kind === 'text') && type !== '')
  if (!isTaken) complain(`Unsupported MIME type: ${shown(mimeType)}`)
  else if (!isBase64(data))
    complain(`Invalid value at '${path}.data' (TYPE_BYTES), Base64 decoding failed for "${shown(data)}"`)
}

function checkCall({ name, args }: Fields, path: string, complain: Complain): void {
  if (!isText(name) || !NAME.test(name)) complain(`${path}.name: ${BAD_NAME}`)
  if (args !== undefined && !isFields(args)) complain(`${path}.args: Invalid value: Struct expected.`)
}

function checkResponse({ name, response }: Fields, path: string, complain: Complain): void {
  if (!isText(name) || name === '') complain(`${path}.name: Name cannot be empty.`)
  if (!isFields(response)) complain(`${path}.response: Invalid value: Struct expected.`)
}

/** Calls come after a turn of the user, and their results in the one turn after them. */
function checkOrder(turns: readonly Fields[], at: number, complain: Complain): void {
  const calls = ofKind(turns[at], 'functionCall')
  const responses = ofKind(turns[at], 'functionResponse')
  const before = turns[at - 1]
  if (calls.length > 0) {
    if (turns[at]?.['role'] !== 'model')
      complain(`Please ensure that function calls have the role model (contents[${at}]).`)
    if (before?.['role'] !== 'user')
      complain(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (ofKind(turns[at + 1], 'functionResponse').length === 0)
      complain('Please ensure that a function call turn is followed by a function response turn.')
  }
  if (responses.length === 0) return
  const asked = ofKind(before, 'functionCall')
  if (turns[at]?.['role'] !== 'user')
    complain(`Please ensure that function responses have the role user (contents[${at}]).`)
  if (asked.length === 0)
    complain('Please ensure that function response turn comes immediately after a function call turn.')
  else if (asked.length !== responses.length)
    complain(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
  else
    responses.forEach(({ name, id }, index) => {
      const call = asked[index]
      if (call?.['name'] !== name)
        complain(
          `Please ensure that the function response ${shown(name)} comes where the function ${shown(call?.['name'])} was called.`,
        )
      else if (isText(id) && isText(call?.['id']) && call['id'] !== id)
        complain(
          `Please ensure that the function response of ${shown(name)} has the id of its call, ${call['id']}.`,
        )
    })
}

function ofKind(turn: Fields | undefined, kind: string): readonly Fields[] {
  return listOf(turn?.['parts'])
    .map((part) => fieldsOf(part)[kind])
    .filter((found) => found !== undefined)
    .map(fieldsOf)
}
