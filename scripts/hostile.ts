/**
 * `npm run hostile`: every payload in every printed text of a model, a tool or a question, in every command, with a
 * terminal and without. The screen of a real terminal emulator must equal the one with the payload escaped. The tests run
 * a part of it.
 */
import { parseArgs } from 'node:util'
import { payloads } from '../test/cli/gate/payloads.ts'
import { trial } from '../test/cli/gate/trial.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run hostile -- [options]

Hostile texts through every command, compared with the screen of a terminal emulator.

  --count N   so many payloads (default 500)
  --seed S    draws what an earlier run has drawn (default 1)
  --help`)

const { values } = parseArgs({
  options: { count: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
})
const started = performance.now()
const chosen = payloads(Number(values.count), Number(values.seed))
let screens = 0
let wrong = 0
let tried = 0

async function tryAll(): Promise<void> {
  const progress = new Progress(chosen.length, 'payloads')
  for (const [index, { kind, text }] of chosen.entries()) {
    const { screens: more, problems } = await trial([text])
    screens += more
    tried += 1
    for (const { where, what } of problems) {
      wrong += 1
      if (wrong <= 50)
        console.log(`payload ${index} (${kind}), ${JSON.stringify(where)}: ${JSON.stringify(what)}`)
    }
    progress.add(1, `${screens} screens, ${wrong} wrong`)
  }
  progress.end()
}

function print(): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${tried} payloads, ${screens} screens, seed ${values.seed}, ${seconds} s, wrong: ${wrong}`)
  if (wrong > 0) process.exitCode = 1
}

await interruptible(tryAll, print)
print()
