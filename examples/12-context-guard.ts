/**
 * A guard on the context: a hook checks the fill level of the model's window before each call, and the conversation is
 * compacted between turns, which resets the level. `compact` returns false if there was nothing to leave out.
 */
import { Agent } from 'holdfast'
import type { Hooks } from 'holdfast/plugins'
import { ScriptedModel } from 'holdfast/testing'

const guard: Hooks = {
  beforeLlm: ({ contextPercent = 0 }) => {
    if (contextPercent > 60) console.log(`  the context is ${contextPercent} % full`)
  },
}

const model = new ScriptedModel(
  ({ call }) => `Chapter ${call}: ${'the sea was calm and the night was clear, '.repeat(12)}`,
)
const agent = new Agent({
  contextId: 'story',
  model,
  settings: { contextTokens: 1000 },
  on: guard,
})

for (let chapter = 1; chapter <= 6; chapter++) {
  await agent.executeTurn(`Write chapter ${chapter}`).outcome
  const before = agent.contextPercent ?? 0
  if (before < 70) continue
  const isCompacted = await agent.compact({ keep: 2 })
  if (isCompacted)
    console.log(`after chapter ${chapter}: ${before} %, compacted to ${agent.contextPercent} %`)
}
