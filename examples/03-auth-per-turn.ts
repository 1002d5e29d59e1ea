/**
 * A turn stores its principal, never its credentials. Each turn brings fresh credentials, tools get them in memory, and
 * they are cut out of a tool's result before it is stored or reaches a model.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, defineTool } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const calendar = defineTool({
  name: 'calendar',
  description: 'What is in the calendar of the person who asks.',
  input: z.object({}),
  replay: 'safe',
  run: (_, { principal, credentials }) => {
    console.log(`  the service sees ${principal.actor} with ${String(credentials['token'])}`)
    // A careless tool: it repeats the token in its result.
    return { entries: ['10:00 dentist'], request: `GET /calendar?token=${String(credentials['token'])}` }
  },
})

const store = sqliteStore('auth.db')
const agent = new Agent({
  contextId: 'office',
  owner: { tenant: 'acme', actor: 'team' },
  store,
  tools: [calendar],
  model: new ScriptedModel([{ calls: [{ tool: 'calendar' }] }, 'The dentist, at ten.'], { loop: true }),
  allow: ({ tenant, scopes = [] }) => tenant === 'acme' && scopes.includes('chat'),
})

for (const [actor, token] of [
  ['ada', 'secret-of-ada-0001'],
  ['bob', 'secret-of-bob-0002'],
] as const) {
  const auth = { actor, scopes: ['chat'], credentials: { token } }
  const { text } = await agent.executeTurn('What is today?', { auth }).outcome
  console.log(`${actor}: ${text}`)
}

const { error } = await agent.executeTurn('And for me?', { auth: { actor: 'eve' } }).outcome
console.log('eve:', error?.code)

const [result] = (await agent.getMessages()).flatMap((message) =>
  message.role === 'tool' ? message.content : [],
)
console.log('the model reads:', JSON.stringify(result?.output))
await agent.shutdown()
await store.close()

const files = readdirSync('.').filter((name) => name.startsWith('auth.db'))
const found = files.filter((name) => readFileSync(name, 'latin1').includes('secret-of-'))
console.log(`secrets in ${files.join(', ')}: ${found.length === 0 ? 'none' : found.join(', ')}`)
if (found.length > 0) process.exitCode = 1
