/** The subject of a request: above all what an approved call would do. Pure. */
import { isObject, type Json, type JsonObject, type RequestData, textIn } from './types.ts'

export interface Preview {
  readonly text: string
  /** The rest is too long to be kept. */
  readonly isCut: boolean
  /** There is none: the text says why. */
  readonly isError: boolean
}

export interface RequestSubject {
  /** The tool, if the prompt does not name it. */
  readonly tool?: string
  /** The arguments, if the prompt does not have them. */
  readonly args?: Json
  readonly preview?: Preview
  readonly more?: JsonObject
}

/** Undefined if the prompt says it all. */
export function subjectOf({
  about = {},
  prompt,
}: Pick<RequestData, 'about' | 'prompt'>): RequestSubject | undefined {
  // Grants are for callers that can give one; the page answers yes or no.
  const { preview: given, tool, args, grants: _, ...more } = about
  const preview = previewIn(given)
  const subject = {
    ...(typeof tool === 'string' && !prompt.includes(tool) ? { tool } : {}),
    ...(args === undefined || prompt.includes(JSON.stringify(args)) ? {} : { args }),
    ...(preview === undefined ? {} : { preview }),
    ...(Object.keys(more).length === 0 ? {} : { more }),
  }
  return Object.keys(subject).length === 0 ? undefined : subject
}

/** True if the prompt may have arguments of a call, which a person must see as they are. */
export function isAboutCall({ about = {}, from }: Pick<RequestData, 'about' | 'from'>): boolean {
  return from === 'approval' || about['args'] !== undefined
}

/** The text of a question, or the preview that the tool of a call made: `{ text, cut }` or `{ error }`. */
function previewIn(given: Json | undefined): Preview | undefined {
  if (typeof given === 'string') return { text: given, isCut: false, isError: false }
  if (!isObject(given)) return undefined
  const { text, error, cut } = given
  const shown = textIn(text) ?? textIn(error)
  return shown === undefined
    ? undefined
    : { text: shown, isCut: cut === true, isError: textIn(text) === undefined }
}
