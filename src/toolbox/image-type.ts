/** The media type of an image by its first bytes: names and headers may say anything. */

/** Types that every vendor of vision models takes, by the bytes at an offset. */
const SIGNATURES: readonly (readonly [mediaType: string, ...parts: readonly Signature[]])[] = [
  ['image/png', [0, '\x89PNG\r\n\x1a\n']],
  ['image/jpeg', [0, '\xff\xd8\xff']],
  ['image/gif', [0, 'GIF87a']],
  ['image/gif', [0, 'GIF89a']],
  ['image/webp', [0, 'RIFF'], [8, 'WEBP']],
]

type Signature = readonly [offset: number, bytes: string]

export const IMAGE_TYPES: readonly string[] = [...new Set(SIGNATURES.map(([mediaType]) => mediaType))]

/** Undefined for bytes that are no image of these types. */
export function imageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return SIGNATURES.find(([, ...parts]) =>
    parts.every(([offset, text]) => start.startsWith(text, offset)),
  )?.[0]
}
