/** Prompts the person for the open requests of a turn, one after the other. */

import type { Json, RequestData } from 'holdfast'
import { cyan, dim, joinLines, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { answerFrom } from 'holdfast/tool'
import { problemWith, YES_OR_NO } from '../answer.ts'
import type { RequestSource } from '../request-source.ts'
import type { LineEditor, ReadOptions } from '../terminal/line-editor.ts'
import { grantsOf, optionLines, questionOf } from '../terminal/question-lines.ts'
import type { Screen } from '../terminal/screen.ts'
import { cut } from '../terminal/text.ts'
import { type Field, fieldFrom, fieldsOf } from './fields.ts'

export interface PromptContext {
  readonly screen: Screen
  readonly editor: Pick<LineEditor, 'read' | 'expand'>
  readonly requestSource: (request: RequestData) => Promise<RequestSource>
}

/**
 * The answers that the person gives, by request. Enter leaves a request open, Ctrl-C and Ctrl-D those after it, too: they are
 * added to `deferred`, and a request that is in it already is not asked.
 */
export async function askAll(
  requests: readonly RequestData[],
  context: PromptContext,
  deferred: Set<string> = new Set(),
): Promise<Record<string, Json>> {
  const asked = requests.filter(({ requestId }) => !deferred.has(requestId))
  const answers: Record<string, Json> = {}
  const isBatch = await showTogether(asked, context)
  let isLeft = false
  const readNext: LineEditor['read'] = async (options) => {
    const typed = await context.editor.read(options)
    isLeft = typed.type !== 'line'
    return typed
  }
  const editor = { read: readNext, expand: (text: string) => context.editor.expand(text) }
  for (const [at, request] of asked.entries()) {
    const place = isBatch ? `${at + 1} ` : ''
    const answer = isLeft ? undefined : await askOne(request, { ...context, editor }, place)
    if (answer === undefined) deferred.add(request.requestId)
    else answers[request.requestId] = answer
  }
  return answers
}

/** Several calls with previews are seen together before the first is answered. True if they were shown. */
async function showTogether(requests: readonly RequestData[], context: PromptContext): Promise<boolean> {
  const { screen } = context
  if (requests.length < 2 || !requests.some(({ about }) => about?.['preview'] !== undefined)) return false
  screen.print(styled`${yellow('?')} ${String(requests.length)} questions wait for you`)
  for (const [at, request] of requests.entries()) {
    const { lines } = questionOf(request, await context.requestSource(request), screen)
    screen.print(joinLines([dim(`${at + 1}`), ...lines]))
  }
  return true
}

/** `place`: the number of a question that is on the screen already. */
async function askOne(
  request: RequestData,
  context: PromptContext,
  place: string,
): Promise<Json | undefined> {
  const { screen } = context
  const question = questionOf(request, await context.requestSource(request), screen)
  if (place === '') screen.print(joinLines(question.lines))
  if (request.kind === 'choice') screen.print(joinLines(optionLines(request, screen.columns)))
  const fields = request.kind === 'data' ? fieldsOf(request.schema) : undefined
  if (fields !== undefined) return askFields(fields, context)
  if (request.kind === 'auth') screen.print(dim('  Not shown while you type. It is kept in the journal.'))
  for (;;) {
    const prompt = promptFor(request, { isCut: question.whole !== undefined, place })
    const text = await read(context, { prompt, secret: request.kind === 'auth' })
    if (text === undefined) return undefined
    if (text === '?' && question.whole !== undefined) {
      screen.print(joinLines([...question.whole(), ...question.lines]))
      continue
    }
    const answer = answerFrom(request, text)
    const problem = problemWith(request, answer)
    if (problem === undefined) return answer
    const shown = problem === YES_OR_NO ? `${problem} Press Enter to answer later.` : problem
    screen.print(red(`  ${cut(shown, screen.columns - 3)}`))
  }
}

interface PromptLook {
  readonly isCut: boolean
  readonly place: string
}

function promptFor(request: RequestData, { isCut, place }: PromptLook): Styled {
  const { kind, multiple } = request
  const hint = {
    confirmation: grantsOf(request).length > 0 ? 'y/n/session/always' : 'y/n',
    choice: multiple ? 'numbers, with commas' : 'number or word',
    data: 'JSON',
  }[kind]
  const shown = hint === undefined ? '' : styled`${dim(`[${hint}${isCut ? ', ? shows all' : ''}]`)} `
  return styled`  ${place}${shown}${cyan('›')} `
}

const MOST_NAME = 40

/** One prompt for each field of an object. */
async function askFields(fields: readonly Field[], context: PromptContext): Promise<Json | undefined> {
  const { screen } = context
  const answer: Record<string, Json> = {}
  for (const field of fields) {
    for (;;) {
      const name = cut(field.name, Math.min(MOST_NAME, screen.columns - 8))
      const hint = dim(`[${cut(field.hint, Math.max(12, screen.columns - name.length - 20))}]`)
      const text = await read(context, { prompt: styled`  ${name} ${hint} ${cyan('›')} ` }, field.required)
      if (text === undefined) return undefined
      if (text === '') break
      const value = fieldFrom(field, text)
      if (value.ok) {
        answer[field.name] = value.value
        break
      }
      screen.print(red(`  ${cut(value.problem, screen.columns - 3)}`))
    }
  }
  return answer
}

/** A line that is not empty. An empty line, Ctrl-C and Ctrl-D defer the answer. */
async function read(
  context: PromptContext,
  options: ReadOptions,
  needed = true,
): Promise<string | undefined> {
  const typed = await context.editor.read({ ...options, answer: true })
  if (typed.type !== 'line') return undefined
  const text = context.editor.expand(typed.text).trim()
  return text === '' && needed ? undefined : text
}

/** Secrets as NAME=VALUE, for a turn that waits for credentials; undefined if deferred. */
export async function askCredentials(
  request: RequestData,
  context: PromptContext,
): Promise<Record<string, string> | undefined> {
  const { screen } = context
  screen.print(joinLines(questionOf(request, { tools: [] }, screen).lines))
  screen.print(dim('  NAME=VALUE. Not shown while you type, and not stored.'))
  const text = await read(context, { prompt: styled`  ${cyan('›')} `, secret: true })
  const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text ?? '') ?? []
  return name === '' ? undefined : { [name]: value }
}
