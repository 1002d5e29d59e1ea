/**
 * `npm run reflex`: the built-in model on written wordings, known and held out, and on generated sets of tools whose words
 * mean nothing, by kind of request.
 */
import { parseArgs } from 'node:util'
import * as phrases from '../test/reflex/phrases.ts'
import { type Judged, tally, tryToolSet } from '../test/reflex/trial.ts'
import { playWording, readWordings, WORDING_FILES } from '../test/reflex/wordings/play.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

const HELP = `npm run reflex -- [SETS] [SEED] [options]
Plays written wordings and SETS (200) generated sets of tools, from SEED (1), against the built-in model.
  --file NAME   one file of wordings only: ${WORDING_FILES.join(', ')}
  --stories     prints the faults, but for held-out and sealed wordings`

helpIfAsked(HELP)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { file: { type: 'string' }, stories: { type: 'boolean' } },
})
const [sets = 200, seed = 1] = positionals.map(Number)
if (!Number.isSafeInteger(sets) || sets < 1 || !Number.isSafeInteger(seed)) {
  throw new UsageError('Give the number of sets and a seed, such as: npm run reflex -- 200 1')
}
const files = WORDING_FILES.filter((file) => values.file === undefined || file === values.file)
if (files.length === 0) throw new UsageError(`There is no file of wordings called ${values.file}.`)

/** The largest share of wrong calls, and the least of right ones. */
interface Bounds {
  readonly right: number
  readonly wrong: number
}

let isTrouble = false
for (const file of files) {
  const judged: Judged[] = []
  const wordings = readWordings(file)
  const progress = new Progress(Math.max(1, wordings.length), `${file} wordings`)
  for (const wording of wordings) {
    judged.push(await playWording(wording))
    progress.add(1)
  }
  progress.end()
  if (judged.length === 0) console.log(`\n${file} wordings: none are written yet`)
  else report(`${file} wordings, ${judged.length} messages`, judged, { right: 0.95, wrong: 0.005 })
  if (file !== 'held-out' && file !== 'sealed') tellStories(judged)
}
for (const [name, way] of values.file === undefined ? Object.entries(phrases) : []) {
  const judged: Judged[] = []
  const progress = new Progress(sets, `sets, ${name} phrases`)
  for (let at = 0; at < sets; at++) {
    judged.push(...(await tryToolSet(seed * 100_000 + at, way)))
    progress.add(1)
  }
  progress.end()
  const title = `${name} phrases, ${sets} sets, seed ${seed}, ${judged.length} messages`
  report(title, judged, { right: 0, wrong: 0.05 })
  tellStories(judged)
}
if (isTrouble) process.exitCode = 1

function report(title: string, judged: readonly Judged[], { right, wrong }: Bounds): void {
  const row = (kind: string, cells: readonly string[]): string =>
    `${kind.padEnd(14)}${cells.map((cell) => cell.padStart(10)).join('')}`
  console.log(`\n${title}\n${row('kind', ['count', 'right', 'asked', 'gave up', 'wrong', 'invented'])}`)
  for (const { kind, count, shares, invented } of tally(judged)) {
    const cells = [shares.right, shares.asked, shares['gave up'], shares.wrong].map(
      (share) => `${(share * 100).toFixed(1)} %`,
    )
    console.log(row(kind, [`${count}`, ...cells, `${invented}`]))
    if (kind === 'all' && (shares.right < right || shares.wrong > wrong || invented > 0)) isTrouble = true
  }
}

function tellStories(judged: readonly Judged[]): void {
  if (!values.stories) return
  for (const { verdict, story } of judged) if (verdict !== 'right') console.log(`\n[${verdict}] ${story}`)
}
