/**
 * `npm run research`: the research assistant without a key on the questions and scenarios of examples/papers. Exit code 1
 * if a citation is wrong, a scenario fails, or plain FTS5 ranks better.
 */
import { parseArgs } from 'node:util'
import { hasPdftotext } from '../test/flow/research/evaluation/check-citations.ts'
import {
  type Evaluation,
  evaluate,
  type Figures,
  figuresOf,
  type Tally,
} from '../test/flow/research/evaluation/evaluate.ts'
import type { JudgedAnswer } from '../test/flow/research/evaluation/judge-answer.ts'
import {
  documentFiles,
  type PaperQuestion,
  type QuestionSet,
  readQuestions,
  readScenarios,
} from '../test/flow/research/evaluation/questions.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run research [-- OPTIONS]

The questions and scenarios of examples/papers, answered without a model: retrieval beside plain FTS5, answers,
refusals, clarifications, citations, conflicts, agents and tools.

  --set NAME    other questions instead: development (the same papers) or bakery (twelve other documents); both were
                read while rules were made
  --failures    print each question that was not answered as expected, with its answer, but for held-out ones
  --json        print the figures and all answers as JSON, but for held-out ones
  --help

Exit code 1: a citation is wrong, a scenario fails, or plain FTS5 ranks better.`)

const { values } = parseArgs({
  options: { failures: { type: 'boolean' }, json: { type: 'boolean' }, set: { type: 'string' } },
})
const set = (values.set ?? 'known') as QuestionSet
if (!['known', 'development', 'bakery'].includes(set)) throw new UsageError('--set is development or bakery.')
const isShipped = set === 'known'
const [questions, scenarios] = [readQuestions(set), isShipped ? readScenarios() : []]
const others: readonly PaperQuestion[] = isShipped ? readQuestions('held-out') : []
const progress = new Progress(questions.length + others.length + scenarios.length, 'questions')
const onProgress = (): void => progress.add(1)
const evaluation = await evaluate({ questions, documents: documentFiles(set), scenarios, onProgress })
const figures = figuresOf(evaluation)
const heldOut = isShipped
  ? figuresOf(await evaluate({ questions: others, scenarios: [], onProgress }))
  : undefined
progress.end()
if (values.json === true) console.log(JSON.stringify({ figures, heldOut, ...evaluation }, null, 2))
else {
  report(evaluation, figures)
  if (heldOut !== undefined) reportHeldOut(heldOut)
}
if (values.failures === true && values.json !== true) printFailures(evaluation)
if (hasFailed(evaluation, figures)) process.exitCode = 1

function report({ skipped, citations: { faults } }: Evaluation, all: Figures): void {
  for (const reason of skipped) console.log(`skipped ${reason}`)
  console.log(`              recall@5  nDCG@5
corpus        ${all.recallAt5.toFixed(3).padStart(8)}${all.ndcgAt5.toFixed(3).padStart(8)}
plain FTS5    ${all.plainRecallAt5.toFixed(3).padStart(8)}${all.plainNdcgAt5.toFixed(3).padStart(8)}
`)
  print('one passage: the passage is cited', all.cited)
  print('one passage: it is cited, or shown as a near one', all.shown)
  print('follow-ups: the passage is cited', all.followedUp)
  print('one passage, follow-ups: the quote is in the answer', all.said)
  print('two documents: both are cited', all.bothCited)
  print('contradictions: both sides are cited', all.contradictionsCited)
  print('contradictions: the conflict is named', all.contradictionsNamed)
  print('no contradiction: a conflict is named all the same', all.falseConflicts)
  print('unanswerable: refused', all.refused)
  print('vague: asked back, with the right kind', all.clarified)
  print('clear questions that were asked back', all.askedBack)
  print(`citations with the words, on the page${hasPdftotext ? ' by pdftotext' : ''}`, all.citations)
  print('scenarios: agents and tools', all.scenarios)
  for (const fault of faults) console.log(`citation: ${fault}`)
}

/** Counts alone: a rule that is made for one of these questions would make the figure worthless. */
function reportHeldOut(all: Figures): void {
  console.log(`
${others.length} held-out questions, for which no rule was made: recall@5 ${all.recallAt5.toFixed(3)}, nDCG@5 ${all.ndcgAt5.toFixed(3)}; plain FTS5 ${all.plainRecallAt5.toFixed(3)}, ${all.plainNdcgAt5.toFixed(3)}`)
  print('one passage: the passage is cited', all.cited)
  print('one passage: it is cited, or shown as a near one', all.shown)
  print('two documents: both are cited', all.bothCited)
  print('contradictions: both sides are cited', all.contradictionsCited)
  print('contradictions: the conflict is named', all.contradictionsNamed)
  print('no contradiction: a conflict is named all the same', all.falseConflicts)
  print('unanswerable: refused', all.refused)
}

function print(name: string, { right, count }: Tally): void {
  console.log(`${name.padEnd(56)}${`${right} of ${count}`.padStart(12)}`)
}

function printFailures({ answers, scenarios: judged }: Evaluation): void {
  const isFailure = ({ isRight, question, namesConflict, saysQuotes }: JudgedAnswer): boolean =>
    !isRight || (question.expect.conflict === true && !namesConflict) || !saysQuotes
  for (const judgedAnswer of answers.filter(isFailure)) {
    const { question, answer, isRight } = judgedAnswer
    console.log(
      `\n${isRight ? 'cited, quote or conflict not said' : 'FAILED'} ${question.id}: ${question.question}\n${answer}`,
    )
  }
  for (const { id, missing, unwanted } of judged)
    if (missing.length + unwanted.length > 0)
      console.log(`\nFAILED scenario ${id}: missing ${missing.join(', ')}; unwanted ${unwanted.join(', ')}`)
}

function hasFailed({ skipped, citations }: Evaluation, all: Figures): boolean {
  const isRankedWorse = all.recallAt5 < all.plainRecallAt5 || all.ndcgAt5 < all.plainNdcgAt5
  return (
    skipped.length + citations.faults.length > 0 ||
    all.scenarios.right < all.scenarios.count ||
    (isShipped && isRankedWorse)
  )
}
