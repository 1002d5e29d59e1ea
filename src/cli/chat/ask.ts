/** Asks the person what a turn waits for, one request after the other, in the form that fits. */
import type { Json, RequestData } from 'holdfast'
import { answerFrom, problemWith } from '../answer.ts'
import type { AskedBy } from '../asked-by.ts'
import { cyan, dim, joinLines, red, type Styled, styled } from '../gate/styled.ts'
import type { LineEditor, ReadOptions } from '../terminal/line-editor.ts'
import { optionLines, questionOf } from '../terminal/question-lines.ts'
import type { Screen } from '../terminal/screen.ts'
import { cut, hardWrap } from '../terminal/text.ts'
import { type Field, fieldFrom, fieldsOf } from './fields.ts'

export interface Asking {
  readonly screen: Screen
  readonly editor: Pick<LineEditor, 'read' | 'expand'>
  readonly askedBy: (request: RequestData) => Promise<AskedBy>
}

/** Answers by request; undefined if the person would rather answer later. */
export async function askAll(
  requests: readonly RequestData[],
  asking: Asking,
): Promise<Record<string, Json> | undefined> {
  const answers: Record<string, Json> = {}
  for (const request of requests) {
    const answer = await askOne(request, asking)
    if (answer === undefined) return undefined
    answers[request.requestId] = answer
  }
  return answers
}

async function askOne(request: RequestData, asking: Asking): Promise<Json | undefined> {
  const { screen } = asking
  const question = questionOf(request, await asking.askedBy(request), screen)
  screen.say(joinLines(question.lines))
  if (request.kind === 'choice') screen.say(joinLines(optionLines(request, screen.columns)))
  const fields = request.kind === 'data' ? fieldsOf(request.schema) : undefined
  if (fields !== undefined) return askFields(fields, asking)
  if (request.kind === 'auth') screen.say(dim('  Not shown while you type. It is kept in the journal.'))
  for (;;) {
    const prompt = promptFor(request, question.whole !== undefined)
    const text = await read(asking, { prompt, secret: request.kind === 'auth' })
    if (text === undefined) return undefined
    if (text === '?' && question.whole !== undefined) {
      const rows = hardWrap(question.whole, screen.columns - 2).map((row) => styled`  ${row}`)
      screen.say(joinLines([...rows, ...question.lines]))
      continue
    }
    const answer = answerFrom(request, text)
    const problem = problemWith(request, answer)
    if (problem === undefined) return answer
    screen.say(red(`  ${cut(problem, screen.columns - 3)}`))
  }
}

function promptFor({ kind, multiple }: RequestData, isCut: boolean): Styled {
  const hint = {
    confirmation: 'y/n',
    choice: multiple ? 'numbers, with commas' : 'number or word',
    data: 'JSON',
  }[kind]
  const shown = hint === undefined ? '' : styled`${dim(`[${hint}${isCut ? ', ? shows all' : ''}]`)} `
  return styled`  ${shown}${cyan('›')} `
}

const MOST_NAME = 40

/** One line for each field of an object. */
async function askFields(fields: readonly Field[], asking: Asking): Promise<Json | undefined> {
  const { screen } = asking
  const answer: Record<string, Json> = {}
  for (const field of fields) {
    for (;;) {
      const name = cut(field.name, Math.min(MOST_NAME, screen.columns - 8))
      const hint = dim(`[${cut(field.hint, Math.max(12, screen.columns - name.length - 20))}]`)
      const text = await read(asking, { prompt: styled`  ${name} ${hint} ${cyan('›')} ` }, field.required)
      if (text === undefined) return undefined
      if (text === '') break
      const value = fieldFrom(field, text)
      if (value.ok) {
        answer[field.name] = value.value
        break
      }
      screen.say(red(`  ${cut(value.problem, screen.columns - 3)}`))
    }
  }
  return answer
}

/** A line that says something. Nothing, Ctrl-C and Ctrl-D mean later. */
async function read(asking: Asking, options: ReadOptions, needed = true): Promise<string | undefined> {
  const typed = await asking.editor.read({ ...options, answer: true })
  if (typed.type !== 'line') return undefined
  const text = asking.editor.expand(typed.text).trim()
  return text === '' && needed ? undefined : text
}

/** Secrets as NAME=VALUE, for a turn that waits for credentials; undefined for later. */
export async function askCredentials(
  request: RequestData,
  asking: Asking,
): Promise<Record<string, string> | undefined> {
  const { screen } = asking
  screen.say(joinLines(questionOf(request, { tools: [] }, screen).lines))
  screen.say(dim('  NAME=VALUE. Not shown while you type, and not stored.'))
  const text = await read(asking, { prompt: styled`  ${cyan('›')} `, secret: true })
  const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text ?? '') ?? []
  return name === '' ? undefined : { [name]: value }
}
