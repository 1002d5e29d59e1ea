/** The body of `POST /chat`, and ids of sessions: checked, with problems that name the field. */
import { type Fields, fieldsOf } from '../body-fields.ts'
import { badRequest } from '../problem.ts'

export interface ChatRequest {
  readonly message: string
  /** Undefined: the session begins now. */
  readonly sessionId?: string
  /** Null: the default of the flow. */
  readonly topK: number | null
}

const FIELDS = ['message', 'session_id', 'top_k']
const MOST_TOP_K = 20
/** Clients drop `.` and `..` from addresses: such a session could be neither read nor deleted. */
const SESSION = /^(?!\.\.?$)[\p{L}\p{N}._:-]{1,128}$/u

export function chatRequest(body: unknown): ChatRequest {
  const fields = fieldsOf('The body', body)
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name))
  if (unknown !== undefined)
    throw badRequest(`There is no field ${JSON.stringify(unknown.slice(0, 100))}. Send ${FIELDS.join(', ')}.`)
  const { message } = fields
  if (typeof message !== 'string' || message.trim() === '')
    throw badRequest('message must be a text with at least one character.')
  const sessionId = sessionIn(fields)
  return { message, topK: topKIn(fields), ...(sessionId === undefined ? {} : { sessionId }) }
}

function topKIn({ top_k: topK = null }: Fields): number | null {
  if (topK === null) return null
  if (Number.isInteger(topK) && Number(topK) >= 1 && Number(topK) <= MOST_TOP_K) return Number(topK)
  throw badRequest(`top_k must be a whole number from 1 to ${MOST_TOP_K}.`)
}

function sessionIn({ session_id: sessionId = null }: Fields): string | undefined {
  if (sessionId === null) return undefined
  if (typeof sessionId === 'string' && isSession(sessionId)) return sessionId.normalize('NFC')
  throw badRequest(
    'session_id must have 1 to 128 letters, digits, "_", ".", ":" and "-", and be neither "." nor "..".',
  )
}

/** False for an id that no session can have. */
export function isSession(id: string): boolean {
  return SESSION.test(id.normalize('NFC'))
}
