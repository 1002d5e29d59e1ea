/**
 * A task from a failing test to a passing one. The files, the edits and the test runs are real; the model is an authored
 * script, so that no key is needed. Its first attempt claims that all tests pass, and one does not: the criterion decides,
 * the task is planned again, and the second attempt is verified.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Json, RequestData } from 'holdfast'
import { TaskAgent } from 'holdfast/flows'
import type { GraphEvent } from 'holdfast/graph'
import { ScriptedModel, type ScriptedStep } from 'holdfast/testing'

const cwd = resolve('slug')
mkdirSync(cwd, { recursive: true })
writeFileSync(
  join(cwd, 'slug.mjs'),
  `export function slug(title) {
  return title.toLowerCase().replaceAll(' ', '-')
}
`,
)
writeFileSync(
  join(cwd, 'slug.test.mjs'),
  `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug } from './slug.mjs'

test('spaces become dashes', () => assert.equal(slug('Two Words'), 'two-words'))
test('accents are removed', () => assert.equal(slug('Crème brûlée'), 'creme-brulee'))
test('no dash at the ends', () => assert.equal(slug('What is it?'), 'what-is-it'))
`,
)

const call = (tool: string, args: Record<string, string>): ScriptedStep => ({ calls: [{ tool, args }] })
const replace = (from: string, to: string): ScriptedStep =>
  call('replace_in_file', {
    path: 'slug.mjs',
    diff: `------- SEARCH\n  return ${from}\n=======\n  return ${to}\n+++++++ REPLACE`,
  })
const runTests = call('execute_command', { command: 'node --test' })

const before = "title.toLowerCase().replaceAll(' ', '-')"
const first = "title.normalize('NFD').replace(/\\p{M}/gu, '').toLowerCase().replace(/[^a-z]+/g, '-')"
const second = `${first}.replace(/^-|-$/g, '')`

/** An authored script: what a model would reply, in its order. */
const model = new ScriptedModel([
  '1. Read slug.mjs.\n2. Remove accents, and everything but letters.\n3. Report the result.',
  call('read_file', { path: 'slug.mjs' }),
  replace(before, first),
  call('attempt_completion', { result: 'slug() is mended: all tests pass.' }),
  '1. Run the tests, and read which one fails.\n2. Mend slug.mjs.\n3. Run the tests again before the report.',
  runTests,
  replace(first, second),
  runTests,
  call('attempt_completion', { result: 'slug() also removes dashes at the ends: all 3 tests pass.' }),
  '{"verified": true, "unmet": [], "evidence": ["the last run of node --test: 3 of 3 pass"]}',
])

const agent = new TaskAgent({
  model,
  cwd,
  verbose: false,
  criteria: [{ name: 'tests', command: 'node --test' }],
})

const results = await agent.run('Make the tests in this folder pass. Do not change the tests.', {
  onEvent: show,
  onRequest: approve,
})
console.log(`\n${results.ended} after ${results.planIteration} plans: ${results.finalAnswer}`)
console.log(readFileSync(join(cwd, 'slug.mjs'), 'utf8').trimEnd())
if (results.ended !== 'verified') process.exitCode = 1

/** A person would look at the diff; this program says yes to everything in its own folder. */
function approve({ about }: RequestData): Json {
  const { text = '' } = (about?.['preview'] ?? {}) as { readonly text?: string }
  const changed = text.split('\n').filter((line) => /^[-+] /.test(line))
  console.log(['  asks to run this: yes', ...changed.map((line) => `    ${line}`)].join('\n'))
  return true
}

function show(event: GraphEvent): void {
  if (event.type === 'tool.start') console.log(`  ${event.data.tool} ${subjectOf(event.data.args)}`)
  if (event.type === 'tool.end') for (const line of testLines(event.data.output)) console.log(`    ${line}`)
  if (event.type !== 'node.end') return
  const { plan, isVerified, attempts } = (event.data.update ?? {}) as Readonly<Record<string, Json>>
  if (typeof plan === 'string') console.log(`\nPlan\n${plan.replaceAll(/^/gm, '  ')}\n`)
  if (event.data.node === 'verifier') {
    const [attempt] = attempts as unknown as readonly {
      readonly answer: string
      readonly unmet: readonly string[]
    }[]
    console.log(`\n  claimed: ${attempt?.answer}`)
    console.log(`  ${isVerified === true ? 'verified' : `not verified: ${attempt?.unmet.join(', ')}`}`)
  }
}

function subjectOf(args: Json): string {
  const { path, command, result } = args as Readonly<Record<string, string | undefined>>
  return path ?? command ?? result ?? ''
}

/** The line of each test, without times. */
function testLines(output: Json): readonly string[] {
  const { stdout = '' } = Object(output) as { readonly stdout?: string }
  return stdout.split('\n').filter((line) => /^(not )?ok \d/.test(line))
}
