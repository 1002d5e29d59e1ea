/**
 * A turn is paused in its middle and resumes in another Agent object, as it would in another process after a restart:
 * they share only the file. No effect is repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type AgentConfig, defineTool } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const copied: string[] = []
const copy = defineTool({
  name: 'copy',
  description: 'Copies a file.',
  input: z.object({ file: z.string() }),
  run: async ({ file }) => {
    await sleep(50)
    copied.push(file)
    return { copied: file }
  },
})

const script = new ScriptedModel([
  'Hello. What shall I copy?',
  { calls: [{ tool: 'copy', args: { file: 'a.txt' } }] },
  { calls: [{ tool: 'copy', args: { file: 'b.txt' } }] },
  'Both files are copied.',
  'A and B.',
])
const config: AgentConfig = { contextId: 'copies', tools: [copy], model: script }

// Session 1
const first = new Agent({ ...config, store: sqliteStore('session.db') })
await first.start()
await first.executeTurn('Hello').outcome
const turn = first.executeTurn('Copy a.txt and b.txt')
for await (const { type } of turn) if (type === 'tool.start') break // reading less stops nothing
await first.pause() // waits for the call that is under way, then lets go
const { heads } = await first.store.list({ owner: first.owner })
console.log(`Copied so far: ${copied.join(', ')}. In the store: turn ${heads[0]?.turn}, ${heads[0]?.status}`)
await first.shutdown()
await first.store.close()

// Session 2, later and elsewhere
const second = new Agent({ ...config, store: sqliteStore('session.db') })
await second.start() // finds the open turn and takes it up
console.log(`Resumed with ${second.state.turnCount} previous turns, status ${second.state.status}`)
const outcome = await second.turn?.outcome
console.log(`Turn ${outcome?.turn}: ${outcome?.text} Copied: ${copied.join(', ')}`)
console.log(await second.input('Which ones?'), `Turn ${second.state.turnCount}.`)
await second.shutdown()
await second.store.close()
