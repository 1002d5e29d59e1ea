/** Asks the person what a turn waits for, one request after the other, in the form that fits. */
import type { Json, RequestData } from 'holdfast'
import { answerFrom, optionText, problemWith } from '../answer.ts'
import type { LineEditor, ReadOptions } from '../terminal/line-editor.ts'
import type { Screen } from '../terminal/screen.ts'
import type { Style } from '../terminal/style.ts'
import { clean, oneLine } from '../terminal/text.ts'
import { type Field, fieldFrom, fieldsOf } from './fields.ts'

export interface Asking {
  readonly screen: Screen
  readonly editor: Pick<LineEditor, 'read' | 'expand'>
  readonly style: Style
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
  const { screen, style } = asking
  sayQuestion(request.prompt, asking)
  if (request.kind === 'choice') sayOptions(request, asking)
  const fields = request.kind === 'data' ? fieldsOf(request.schema) : undefined
  if (fields !== undefined) return askFields(fields, asking)
  if (request.kind === 'auth') screen.say(style.dim('  Not shown while you type. It is kept in the journal.'))
  for (;;) {
    const text = await read(asking, { prompt: promptFor(request, style), secret: request.kind === 'auth' })
    if (text === undefined) return undefined
    const answer = answerFrom(request, text)
    const problem = problemWith(request, answer)
    if (problem === undefined) return answer
    screen.say(style.red(`  ${problem}`))
  }
}

function sayQuestion(prompt: string, { screen, style }: Asking): void {
  screen.tell(`? ${clean(prompt)}`, (line) => line.replace(/^\?/, style.yellow('?')))
}

function sayOptions({ options = [] }: RequestData, { screen, style }: Asking): void {
  for (const [index, option] of options.entries())
    screen.say(`  ${style.cyan(String(index + 1))} ${oneLine(optionText(option))}`)
}

function promptFor({ kind, multiple }: RequestData, style: Style): string {
  const hint = { confirmation: 'y/n', choice: multiple ? 'numbers, with commas' : 'number', data: 'JSON' }[
    kind
  ]
  return `  ${hint === undefined ? '' : `${style.dim(`[${hint}]`)} `}${style.cyan('›')} `
}

/** One line for each field of an object. */
async function askFields(fields: readonly Field[], asking: Asking): Promise<Json | undefined> {
  const { screen, style } = asking
  const answer: Record<string, Json> = {}
  for (const field of fields) {
    for (;;) {
      const hint = style.dim(`[${field.hint}]`)
      const text = await read(
        asking,
        { prompt: `  ${field.name} ${hint} ${style.cyan('›')} ` },
        field.required,
      )
      if (text === undefined) return undefined
      if (text === '') break
      const value = fieldFrom(field, text)
      if (value.ok) {
        answer[field.name] = value.value
        break
      }
      screen.say(style.red(`  ${value.problem}`))
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
  prompt: string,
  asking: Asking,
): Promise<Record<string, string> | undefined> {
  const { screen, style } = asking
  sayQuestion(prompt, asking)
  screen.say(style.dim('  NAME=VALUE. Not shown while you type, and not stored.'))
  const text = await read(asking, { prompt: `  ${style.cyan('›')} `, secret: true })
  const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text ?? '') ?? []
  return name === '' ? undefined : { [name]: value }
}
