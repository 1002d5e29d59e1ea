/** Formats an ended turn as lines of text. */

import { bold, cyan, dim, red, type Styled, styled, visibleValue, yellow } from 'holdfast/terminal'
import type { Exchange, OpenCall, Step } from '../exchange.ts'
import { argumentsText, callLines, toolText } from './call-line.ts'
import { type FlowPrinter, flowPrinter } from './flow-lines.ts'
import { repeats } from './result-line.ts'
import { counted, cut, oneLine, spanText } from './text.ts'
import { wrapText } from './word-wrap.ts'

export interface ExchangeLook {
  readonly columns: number
  /** Show only so many lines of messages and replies. */
  readonly shortTo?: number
  /** Outcome, tokens and time. */
  readonly footer?: boolean
}

/** The lines of each turn of a conversation. A call that one turn of a flow requests may end in a later one. */
export function conversationLines(exchanges: readonly Exchange[], look: ExchangeLook): Styled[][] {
  const printers = new Map<string | undefined, FlowPrinter>()
  return exchanges.map((exchange) => {
    const printer = printers.get(exchange.graph) ?? flowPrinter(exchange.graph, look.columns)
    printers.set(exchange.graph, printer)
    return linesOf(exchange, look, printer)
  })
}

export function exchangeLines(exchange: Exchange, look: ExchangeLook): Styled[] {
  return linesOf(exchange, look, flowPrinter(exchange.graph, look.columns))
}

function linesOf(exchange: Exchange, look: ExchangeLook, flowLines: FlowPrinter): Styled[] {
  return [
    ...exchange.said.flatMap((text) => saidLines(text, look)),
    ...exchange.steps.flatMap((step, at) => flowLines(step) ?? stepLines(step, look, exchange.steps[at + 1])),
    ...(exchange.openCalls ?? []).map((call) => openCallLine(call, look)),
    ...errorLines(exchange),
    ...(look.footer ? [dim(footerOf(exchange))] : endOf(exchange).map(dim)),
  ]
}

/** None if the node that failed has shown the error. */
function errorLines({ error, steps }: Exchange): Styled[] {
  if (error === undefined || steps.some((step) => step.type === 'node' && step.error === error)) return []
  return [red(`✗ ${oneLine(error)}`)]
}

/** True if the reply after a call repeats its result: then only the reply is shown. */
function isRepeated(call: Extract<Step, { type: 'call' }>, next: Step | undefined): boolean {
  return call.status === 'ok' && next?.type === 'text' && repeats(next.text, call)
}

function stepLines(step: Step, look: ExchangeLook, next?: Step): Styled[] {
  const { columns } = look
  if (step.type === 'text') return shortened(wrapText(step.text, columns), look)
  if (step.type === 'said') return saidLines(step.text, look)
  if (step.type === 'call') return [callLines({ ...step, isRepeated: isRepeated(step, next) }, columns)]
  if (step.type === 'node') {
    const said = step.error ?? (step.update === undefined ? 'changed nothing' : visibleValue(step.update))
    const line = cut(`${step.error === undefined ? '▸' : '✗'} ${step.task} ${oneLine(said)}`, columns)
    return [step.error === undefined ? styled`${line}` : red(line)]
  }
  if (step.type === 'question') return [yellow(cut(`? ${questionText(step)}`, columns))]
  if (step.type === 'answer') {
    const value = step.value === undefined ? '' : `: ${visibleValue(step.value)}`
    return [dim(cut(`  ${step.how === 'cancelled' ? 'not answered' : step.how}${value}`, columns))]
  }
  return [yellow(cut(`! ${oneLine(step.text)}`, columns))]
}

const OPEN_CALL = {
  started: 'started, no result yet',
  asked: 'waits for an answer',
  waiting: 'not started',
} as const

function openCallLine({ tool, args, state }: OpenCall, { columns }: ExchangeLook): Styled {
  const end = ` · ${OPEN_CALL[state]}`
  const call = `→ ${toolText(tool)} ${argumentsText(args)}`.trim()
  return yellow(`${cut(call, columns - end.length)}${end}`)
}

const MOST_ARGUMENTS = 120

/** The asking tool, or the call to approve, precedes the tool's own text. */
function questionText({ prompt, tool, approves }: Extract<Step, { type: 'question' }>): string {
  const who = tool === undefined ? '' : `${toolText(tool)} `
  const call =
    approves === undefined ? who : `approval of ${who}${cut(visibleValue(approves), MOST_ARGUMENTS)} `
  return `${call}${call === '' ? '' : '│ '}${oneLine(prompt)}`
}

function saidLines(text: string, look: ExchangeLook): Styled[] {
  const lines = shortened(wrapText(text, look.columns - 2), look)
  return lines.map((line, index) => styled`${index === 0 ? cyan('›') : ' '} ${bold(line)}`)
}

function shortened(lines: string[], { shortTo = Number.POSITIVE_INFINITY }: ExchangeLook): Styled[] {
  const left = lines.length - shortTo
  const shown = lines.slice(0, shortTo).map((line) => styled`${line}`)
  return left <= 0 ? shown : [...shown, dim(`… ${counted(left, 'more line')}`)]
}

/** The outcome, unless the turn is complete. */
function endOf({ outcome, limit }: Exchange): string[] {
  if (outcome === 'cancelled') return ['— cancelled']
  return outcome === 'limit' || outcome === 'max-iterations' ? [`— stopped by the limit on ${limit}`] : []
}

function footerOf({ turn, outcome, limit, usage, durationMs }: Exchange): string {
  const ended = outcome === undefined ? 'not ended' : `${outcome}${limit === undefined ? '' : ` (${limit})`}`
  const tokens = usage === undefined ? [] : [`${usage.inputTokens} in, ${usage.outputTokens} out`]
  const cost = usage === undefined || usage.costUsd === 0 ? [] : [costText(usage.costUsd)]
  const span = durationMs === undefined ? [] : [spanText(durationMs)]
  return [`turn ${turn}`, ended, ...tokens, ...cost, ...span].join(' · ')
}

export function costText(costUsd: number): string {
  return `$${costUsd < 0.01 ? costUsd.toFixed(5) : costUsd.toFixed(2)}`
}
