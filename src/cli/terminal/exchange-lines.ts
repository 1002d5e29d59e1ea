/** A turn that is over, as lines of text. */
import { type Exchange, type Step } from '../exchange.ts'
import { callLines } from './call-line.ts'
import type { Style } from './style.ts'
import { clean, cut, oneLine, spanText } from './text.ts'
import { wrapText } from './word-wrap.ts'

export interface ExchangeLook {
  readonly style: Style
  readonly columns: number
  /** Only the first lines of what was said and replied. */
  readonly shortTo?: number
  /** Outcome, tokens and time. */
  readonly footer?: boolean
}

export function exchangeLines(exchange: Exchange, look: ExchangeLook): string[] {
  const { style } = look
  return [
    ...exchange.said.flatMap((text) => saidLines(text, look)),
    ...exchange.steps.flatMap((step) => stepLines(step, look)),
    ...(exchange.error === undefined ? [] : [style.red(`✗ ${oneLine(exchange.error)}`)]),
    ...(look.footer ? [style.dim(footerOf(exchange))] : endOf(exchange).map(style.dim)),
  ]
}

function stepLines(step: Step, look: ExchangeLook): string[] {
  const { style, columns } = look
  if (step.type === 'text') return shortened(wrapText(clean(step.text), columns), look)
  if (step.type === 'said') return saidLines(step.text, look)
  if (step.type === 'call') return callLines(step, style, columns).split('\n')
  if (step.type === 'node') {
    const said = step.error ?? (step.update === undefined ? '' : JSON.stringify(step.update))
    const line = cut(`${step.error === undefined ? '▸' : '✗'} ${step.task} ${oneLine(said)}`, columns)
    return [step.error === undefined ? line : style.red(line)]
  }
  if (step.type === 'question') return [style.yellow(cut(`? ${oneLine(step.prompt)}`, columns))]
  if (step.type === 'answer') {
    const value = step.value === undefined ? '' : `: ${oneLine(JSON.stringify(step.value))}`
    return [style.dim(cut(`  ${step.how === 'cancelled' ? 'not answered' : step.how}${value}`, columns))]
  }
  return [style.yellow(cut(`! ${oneLine(step.text)}`, columns))]
}

function saidLines(text: string, look: ExchangeLook): string[] {
  const { style, columns } = look
  const lines = shortened(wrapText(clean(text), columns - 2), look)
  return lines.map((line, index) => `${index === 0 ? style.cyan('›') : ' '} ${style.bold(line)}`)
}

function shortened(lines: string[], { shortTo = Number.POSITIVE_INFINITY, style }: ExchangeLook): string[] {
  const left = lines.length - shortTo
  return left <= 0
    ? lines
    : [...lines.slice(0, shortTo), style.dim(`… ${left} more ${left === 1 ? 'line' : 'lines'}`)]
}

/** How it ended, if not as it should. */
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
