/**
 * The structured output of a turn. The verdict on the last reply follows from the journal alone, so a turn that is taken
 * over comes to the same one: the reply is judged again, and a note says that it was returned.
 */
import { OUTPUT_NOTE } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import { type EntryData, replyText } from '../protocol/index.ts'
import { toJson } from '../tool/index.ts'
import { entriesSoFar } from './context-fill.ts'
import { endTurn } from './ending.ts'
import { lastOf } from './last-of.ts'
import { correction, invalidOutput, judgeReply, type ReplyVerdict } from './output-schema.ts'
import { finish } from './phases.ts'
import type { TurnRun } from './turn-run.ts'

/** True if the last reply has to fit a schema. */
export function hasOutput({ session, scope }: TurnRun): boolean {
  return session.outputSchema !== undefined || scope.definition.output !== undefined
}

/**
 * Judges the last reply: a valid one completes the turn, if its value can be stored; an invalid one is returned with the reason, and `again` asks
 * for another; after the last one the turn fails.
 */
export async function* concludeOutput(
  run: TurnRun,
  again: (run: TurnRun) => AsyncGenerator<Batch, void>,
): AsyncGenerator<Batch, void> {
  const verdict = await run.within(judgeLast(run))
  if ('value' in verdict) {
    const output = toJson(verdict.value, { isExact: true })
    if (!(output instanceof Error)) yield* finish(run, 'stop', { output })
    else await endTurn(run, 'failed', { error: { code: 'invalid-output', message: unstorable(output) } })
    return
  }
  const { issues } = verdict
  const before = run.open.invalidOutputs ?? 0
  if (before < run.scope.definition.outputRetries) {
    run.draft.append('note', { text: correction(issues), from: OUTPUT_NOTE })
    yield* again(run)
    return
  }
  const error = { code: 'invalid-output', message: invalidOutput(before + 1, issues), issues }
  await endTurn(run, 'failed', { error })
}

/** No other reply of the model would help. */
function unstorable({ message }: Error): string {
  return `The result of the \`output\` schema cannot be stored as JSON: ${message}. Change what the schema transforms to.`
}

async function judgeLast(run: TurnRun): Promise<ReplyVerdict> {
  const required = await run.output()
  const { turn } = run.open
  const reply = lastOf(await entriesSoFar(run), 'model.end', (entry) => entry.turn === turn)
  const { content, finish: why }: Pick<EntryData['model.end'], 'content' | 'finish'> = reply?.data ?? {
    content: [],
    finish: '',
  }
  if (required === undefined) return { issues: ['The schema of the output is not known'] }
  return judgeReply({ text: replyText(content), finish: why }, required.schema)
}
