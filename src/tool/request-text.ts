/** The question of a request as one text, for surfaces that show nothing else of it. Knows no protocol. */
import type { Json, RequestData } from '../protocol/index.ts'
import { visibleText } from './approval.ts'
import { schemaNode } from './schema-node.ts'

const LONGEST = 30_000

/** The prompt, and what it leaves out of the call that it is about: the tool, the arguments, the preview. */
export function requestText({ prompt, about = {} }: Pick<RequestData, 'prompt' | 'about'>): string {
  const { tool, args, preview } = about
  const given = args === undefined ? '{}' : visibleText(JSON.stringify(args))
  const call = [
    typeof tool === 'string' && !prompt.includes(tool) ? tool : '',
    given === '{}' || prompt.includes(given) ? '' : bounded(given),
  ]
  return [prompt, call.filter((part) => part !== '').join(' '), previewText(preview)]
    .filter((part) => part !== '')
    .join('\n')
}

/** Of a call as `{ text, cut }` or `{ error }`, of a question of a tool as text. */
function previewText(preview: Json | undefined): string {
  if (typeof preview === 'string') return bounded(visibleText(preview))
  const { text, error, cut } = schemaNode(preview) ?? {}
  if (typeof text !== 'string') return typeof error === 'string' ? visibleText(error) : ''
  return `${visibleText(text)}${cut === true ? '\n… The rest of the preview is too long to be shown.' : ''}`
}

function bounded(text: string): string {
  const more = text.length - LONGEST
  return more <= 0 ? text : `${text.slice(0, LONGEST).toWellFormed()}… and ${more} more characters`
}
