/**
 * `npm run check`: all static checks of the code.
 * The steps run in parallel; each prints one line when it ends, and its findings if it failed.
 */
import { chosenSteps } from './check-steps.ts'
import { runStep, summary } from './step.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run check -- [STEPS]

All static checks, side by side, or the named ones.

Example:
  npm run check -- imports types`)

const chosen = chosenSteps(process.argv.slice(2))
const results = await Promise.all(
  chosen.map(async (step) => {
    const result = await runStep(step, 'quiet')
    console.log(result.ok ? summary(result) : `${summary(result)}\n${result.output.trimEnd()}`)
    return result
  }),
)
if (results.some((result) => !result.ok)) process.exitCode = 1
