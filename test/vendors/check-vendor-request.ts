/** Would a vendor take this request? For tests of prompts and transcripts, without a network and without a key. */
import { checkAnthropic } from './anthropic.ts'
import { checkGoogle } from './google.ts'
import { checkOpenAIChat } from './openai-chat.ts'
import { checkOpenAIResponses } from './openai-responses.ts'
import { type Complain, type Fields, problemsOf } from './reading.ts'

/**
 * The dialects: Anthropic's `/v1/messages`, OpenAI's `/v1/chat/completions` (also of everybody compatible with it) and
 * `/v1/responses`, and Gemini's `generateContent`.
 */
export type Vendor = 'anthropic' | 'openai-chat' | 'openai-responses' | 'google'

const CHECKS: Readonly<Record<Vendor, (body: Fields, complain: Complain) => void>> = {
  anthropic: checkAnthropic,
  'openai-chat': checkOpenAIChat,
  'openai-responses': checkOpenAIResponses,
  google: checkGoogle,
}

/**
 * What a vendor would refuse about the body of a request, in words like its own; an empty list if it is accepted. The
 * rules are the documented ones of form: who speaks when, which call is answered where, what may be empty. Never throws,
 * whatever JSON it is given.
 */
export function checkVendorRequest(vendor: Vendor, body: unknown): string[] {
  return problemsOf(body, CHECKS[vendor])
}
