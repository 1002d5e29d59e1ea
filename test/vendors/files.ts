/** What vendors refuse about files: types that they do not take, and bytes that are not base64. */
import { type Complain, isText } from './reading.ts'

export function isBase64(data: unknown): boolean {
  if (!isText(data) || data === '' || data.length % 4 !== 0) return false
  return !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ''))
}

const OPENAI_IMAGES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/jpg',
  'image/gif',
  'image/webp',
])

/** As documented in November 2026. */
const MOST_OPENAI_IMAGES = 1500

export function checkOpenAIImageCount(images: number, complain: Complain): void {
  if (images > MOST_OPENAI_IMAGES)
    complain(`Too many images in request: ${images}. The maximum number of images is ${MOST_OPENAI_IMAGES}.`)
}

/** A picture: an address, or a data URL. */
export function checkOpenAIImage(url: unknown, path: string, complain: Complain): void {
  const { type, data } = dataUrl(url)
  if (type === undefined) {
    if (!isText(url) || !/^https?:\/\//.test(url))
      complain(`Invalid '${path}'. Expected a valid URL, but got a value with an invalid format.`)
  } else if (!OPENAI_IMAGES.has(type))
    complain(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    )
  else if (!isBase64(data)) complain(`Invalid '${path}'. Expected a base64-encoded data URL.`)
}

/** A document inside of the request. */
export function checkOpenAIFile(fileData: unknown, path: string, complain: Complain): void {
  const { type, data } = dataUrl(fileData)
  if (type !== 'application/pdf' || !isBase64(data))
    complain(
      `Invalid '${path}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,aGVsbG8='), but got unsupported data.`,
    )
}

function dataUrl(url: unknown): { readonly type?: string; readonly data?: string } {
  const found = isText(url) ? /^data:([^;,]*)[^,]*,/.exec(url) : null
  return found === null || !isText(url) ? {} : { type: found[1] ?? '', data: url.slice(found[0].length) }
}
