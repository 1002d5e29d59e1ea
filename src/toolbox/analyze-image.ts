/** `analyze_image`: the answer of a vision model about an image. The model is behind a function that the caller gives. */
import { defined, type JsonObject, quote } from '../protocol/index.ts'
import {
  defineTool,
  jsonSchema,
  type Tool,
  type ToolContext,
  type ToolResult,
  toolResult,
} from '../tool/index.ts'
import type { DescribeImage, ImageAnswer } from './describe-image.ts'
import { IMAGE_TYPES, imageType } from './image-type.ts'
import { readBytes } from './read-bytes.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import { UNTRUSTED, type WebAccess, webAccess } from './web-access.ts'
import type { Workspace } from './workspace.ts'

interface AnalyzeImageInput {
  readonly path?: string
  readonly url?: string
  readonly question: string
}

const INPUT = jsonSchema<AnalyzeImageInput>({
  type: 'object',
  properties: {
    path: {
      type: 'string',
      description: 'The image, as a path in the working folder. Either this or `url`.',
    },
    url: { type: 'string', description: 'The image, as a web address. Either this or `path`.' },
    question: { type: 'string', minLength: 1, description: 'The question about the image.' },
  },
  required: ['question'],
  additionalProperties: false,
})

/** The largest that every vendor takes inside of a request. */
const MAX_BYTES = 5_000_000

export function analyzeImage({ workspace, web, describeImage }: ToolboxContext): Tool {
  const access = webAccess({ ...web, maxBytes: Math.min(web?.maxBytes ?? MAX_BYTES, MAX_BYTES) })
  return defineTool({
    name: 'analyze_image',
    description:
      'Answers a question about an image in the working folder or on the web: PNG, JPEG, GIF or WebP, at most 5 MB.',
    input: INPUT,
    replay: 'safe',
    approve: ({ input: { url } }) => url !== undefined && !access.isAllowed(url),
    preview: ({ path, url }) => (url === undefined ? `Read ${path ?? ''}` : access.preview(url)),
    run: async (input, context) => {
      if (describeImage === undefined) throw new Error(NO_MODEL)
      const image = await imageOf(input, context, { workspace, access })
      return answered(input, image, await ask(describeImage, { image, input, context }))
    },
  })
}

const NO_MODEL =
  'No vision model is set, so images cannot be analyzed. Set one: loadTools({ describeImage: ({ bytes, mediaType, question, signal }) => llmDo([{ type: "text", text: question }, { type: "file", mediaType, data: bytes }], { model: "openai/gpt-4.1-mini", signal }) }).'

interface Image {
  readonly bytes: Uint8Array
  readonly mediaType: string
  readonly source: { readonly path: string } | { readonly url: string }
}

interface Sources {
  readonly workspace: Workspace
  readonly access: WebAccess
}

async function imageOf(
  { path, url }: AnalyzeImageInput,
  { signal }: ToolContext,
  { workspace, access }: Sources,
): Promise<Image> {
  if ((path === undefined) === (url === undefined))
    throw new Error('Give either `path` or `url`, and not both.')
  const found =
    url === undefined ? await fileBytes(path ?? '', workspace) : await webBytes(url, access, signal)
  const mediaType = imageType(found.bytes)
  if (mediaType !== undefined) return { ...found, mediaType }
  const name = quote(path ?? url, 200)
  throw new Error(
    `${name} is no image that can be analyzed. Use ${IMAGE_TYPES.join(', ')}; convert others first.`,
  )
}

type Found = Omit<Image, 'mediaType'>

function fileBytes(given: string, workspace: Workspace): Promise<Found> {
  return workspace.withFile(given, async ({ path, handle }) => {
    const bytes = await readBytes(handle, 0, MAX_BYTES + 1)
    if (bytes.length > MAX_BYTES) throw tooLarge(given)
    return { bytes, source: { path } }
  })
}

async function webBytes(given: string, access: WebAccess, signal: AbortSignal): Promise<Found> {
  const types = ['image/*', 'application/octet-stream']
  const { url, status, body, location } = await access.get(given, {
    types,
    headers: { accept: 'image/*' },
    signal,
  })
  if (location !== undefined)
    throw new Error(
      `The address redirects to another site. Call analyze_image with ${quote(location, 2000)}.`,
    )
  if (status !== 200) throw new Error(`The server answers with status ${status}, not with an image.`)
  return { bytes: body, source: { url } }
}

interface Asking {
  readonly image: Image
  readonly input: AnalyzeImageInput
  readonly context: ToolContext
}

async function ask(
  describe: DescribeImage,
  { image: { bytes, mediaType }, input: { question }, context: { signal } }: Asking,
): Promise<ImageAnswer> {
  const answer = await describe({ bytes, mediaType, question, signal })
  if (typeof answer?.text === 'string') return answer
  throw new Error('describeImage of loadTools() must return { text }, as llmDo() does.')
}

function answered(
  input: AnalyzeImageInput,
  { source, mediaType, bytes }: Image,
  { text, usage }: ImageAnswer,
): ToolResult<JsonObject> {
  const image = { ...source, mediaType, bytes: bytes.length }
  const data = {
    image,
    ...(input.url === undefined ? {} : { notice: UNTRUSTED }),
    answer: text.toWellFormed(),
  }
  return toolResult(data, text, defined({ usage }))
}

function tooLarge(path: string): Error {
  return new Error(`${quote(path, 200)} has more than ${MAX_BYTES} bytes. Make the image smaller first.`)
}
