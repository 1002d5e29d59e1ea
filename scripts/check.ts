/**
 * `npm run check`: all static checks of the code.
 * The steps run in parallel; each prints one line when it ends, and its findings if it failed.
 * Names of steps as arguments run only those: `npm run check -- imports types`.
 */
import { chosenSteps } from './check-steps.ts'
import { runStep, summary } from './step.ts'

const chosen = chosenSteps(process.argv.slice(2))
const results = await Promise.all(
  chosen.map(async (step) => {
    const result = await runStep(step, 'quiet')
    console.log(result.ok ? summary(result) : `${summary(result)}\n${result.output.trimEnd()}`)
    return result
  }),
)
if (results.some((result) => !result.ok)) process.exitCode = 1
