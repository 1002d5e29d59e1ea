/**
 * Failures of models are data. An outcome never rejects; failed attempts are entries; you retry a failed turn with
 * `executeTurn(null)`, and a fallback model is called when the first cannot answer.
 */
import { Agent } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'

// 1. A wrong key is not retried.
const broken = new ScriptedModel([{ error: { status: 401, message: 'Wrong key' } }, 'Hello, Ada.'])
const agent = new Agent({ contextId: 'one', model: broken })

const failed = await agent.executeTurn('Hello, I am Ada').outcome
console.log(failed.status, '-', failed.error?.code, failed.error?.kind, failed.error?.message)

// The message is in the journal. `null` continues from there, as a new turn.
console.log(`${(await agent.getMessages()).length} message kept; the agent is ${agent.state.status}`)
const retried = await agent.executeTurn(null).outcome
console.log(`turn ${retried.turn}: ${retried.text}`)

// 2. A transient failure is retried; then the fallback model is called. Every attempt is an entry.
const busy = ScriptedModel.forever({ error: { status: 503, message: 'Overloaded' } }, { name: 'busy/large' })
const spare = new ScriptedModel(['Here I am.'], { name: 'spare/small' })
const careful = new Agent({ contextId: 'two', model: [busy, spare], settings: { retries: 1 } })

const turn = careful.executeTurn('Anybody?')
for await (const event of turn) {
  if (event.type === 'model.start') console.log('  ask', event.data.model, event.data.attempt ?? 1)
  if (event.type === 'model.end' && event.data.error)
    console.log('  ', event.data.error.kind, '→', event.data.error.next)
}
console.log((await turn.outcome).text)

// 3. A limit is no failure: what was achieved is returned.
const chatty = ScriptedModel.forever({ text: 'Still looking.', calls: [{ tool: 'nothing' }] })
const limited = new Agent({ contextId: 'three', model: chatty, limits: { consecutiveFailures: 2 } })
const { status, reason, limit, text } = await limited.executeTurn('Find it').outcome
console.log(status, reason, limit, '-', text)

// 4. A turn that cannot begin is refused: one event, nothing stored.
await limited.shutdown()
for await (const { type, data } of limited.executeTurn('Hello?')) console.log(type, data)

// 5. If you prefer exceptions, use `input`.
await limited.start()
await limited.input(' ').catch((error: Error) => console.log(error.name, '-', error.message))
