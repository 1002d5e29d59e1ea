/** Gemini's contents, as they are streamed. */
import { type Dialect, pieces, type Reply, sse, type Trouble, USED } from './speaking.ts'

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

function refusal({ status, message, type = STATUSES[status], retryDelay }: Trouble): object {
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }
  return {
    error: { code: status, message, status: type, ...(retryDelay === undefined ? {} : { details: [retry] }) },
  }
}

/** Its arguments are objects from the start, so that they cannot be broken; and calls have no ids. */
function partsOf({ thought, text, calls = [] }: Reply): object[] {
  const signature = thought === undefined ? {} : { thoughtSignature: `google-signature-of ${thought}` }
  return [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : pieces(text).map((piece) => ({ text: piece }))),
    ...calls.map(({ tool, args = {} }, index) => ({
      functionCall: { name: tool, args: typeof args === 'string' ? {} : args },
      ...(index === 0 ? signature : {}),
    })),
  ]
}

interface Content {
  readonly role: string
  readonly parts: readonly {
    readonly functionCall?: object
    readonly text?: string
    readonly thoughtSignature?: string
  }[]
}

/** Gemini 3 wants a signature on the first call of each step since the user last spoke. */
function missingSignatures(path: string, body: unknown): string[] {
  if (!path.includes('gemini-3')) return []
  const { contents } = body as { readonly contents: readonly Content[] }
  const spoke = contents.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some(({ text }) => text !== undefined),
  )
  return contents.slice(spoke + 1).flatMap(({ parts }) => {
    const [first] = parts.filter(({ functionCall }) => functionCall !== undefined)
    return first === undefined || first.thoughtSignature !== undefined
      ? []
      : ['Function call is missing a thought_signature in functionCall parts.']
  })
}

export const google: Dialect = {
  vendor: 'google',
  base: '/google/v1beta',
  isAsked: (path) => /^\/google\/v1beta\/models\/[\w.-]+:streamGenerateContent$/.test(path),
  key: (headers) => headers['x-goog-api-key']?.toString(),
  events: (reply, number) => {
    const chunk = (parts: object[], more: object = {}) =>
      sse({
        candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
        usageMetadata: {
          promptTokenCount: USED.input,
          cachedContentTokenCount: USED.cached,
          candidatesTokenCount: USED.output,
          totalTokenCount: USED.input + USED.output,
        },
        modelVersion: 'gemini',
        responseId: `r${number}`,
      })
    return {
      content: partsOf(reply).map((part) => chunk([part])),
      end: [chunk([{ text: '' }], { finishReason: reply.isCutOff ? 'MAX_TOKENS' : 'STOP' })],
    }
  },
  failing: (trouble) => sse(refusal(trouble)),
  refusal,
  alsoRefuses: missingSignatures,
}
