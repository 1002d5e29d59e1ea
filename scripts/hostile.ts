/**
 * `npm run hostile`: every payload in every place where a model, a tool or a question can say something, in every
 * command, with a terminal and without. The screen of a real terminal emulator must equal the one with the payload
 * escaped. `-- --count 500 --seed 1` says how many and which; the tests run a part of it.
 */
import { parseArgs } from 'node:util'
import { payloads } from '../test/cli/gate/payloads.ts'
import { trial } from '../test/cli/gate/trial.ts'

const { values } = parseArgs({
  options: { count: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
})
const started = performance.now()
const chosen = payloads(Number(values.count), Number(values.seed))
let screens = 0
let wrong = 0
for (const [index, { kind, text }] of chosen.entries()) {
  const tried = await trial([text])
  screens += tried.screens
  for (const { where, what } of tried.problems) {
    wrong += 1
    if (wrong <= 50)
      console.log(`payload ${index} (${kind}), ${JSON.stringify(where)}: ${JSON.stringify(what)}`)
  }
  const progress = `${index + 1} of ${chosen.length} payloads, ${screens} screens`
  if (process.stderr.isTTY) process.stderr.write(`\r${progress}`)
  else if ((index + 1) % 50 === 0) process.stderr.write(`${progress}\n`)
}
const seconds = ((performance.now() - started) / 1000).toFixed(0)
console.log(
  `\n${chosen.length} payloads, ${screens} screens, seed ${values.seed}, ${seconds} s, wrong: ${wrong}`,
)
if (wrong > 0) process.exitCode = 1
