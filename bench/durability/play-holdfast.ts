/** The scene with an agent of Holdfast on its SQLite store. The variant is the replay class of the second tool. */
import { join } from 'node:path'
import { Agent, defineTool, LOCAL_OWNER } from 'holdfast'
import { transcript } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'
import { vendorRequests } from '../../test/vendors/vendor-requests.ts'
import {
  AFTERWARDS,
  ASKED,
  CHANGED_MIND,
  partOf,
  perform,
  recordRequest,
  reply,
  TOOLS,
  tellFinal,
} from './scene.ts'

const part = partOf(process.argv)
const store = sqliteStore(join(part.folder, 'holdfast.db'))

const tools = TOOLS.map((name) =>
  defineTool({
    name,
    description: `does ${name}`,
    input: z.object({}),
    replay: name === 'post' && part.variant === 'safe' ? 'safe' : 'never',
    run: () => perform(name, part),
  }),
)

const model = new ScriptedModel(async ({ prompt, tools: declared }) => {
  for (const { body } of await vendorRequests({ prompt, tools: declared }, ['anthropic']))
    recordRequest(part, body)
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const content = prompt[last]?.content ?? ''
  const said = typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
  const step = reply(said, prompt.slice(last + 1).filter(({ role }) => role === 'assistant').length)
  return typeof step === 'string' ? step : { calls: step.calls.map((tool) => ({ tool })) }
})

const agent = new Agent({ contextId: 'scene', store, model, tools })
const errors: string[] = []

async function run(what: string | undefined): Promise<void> {
  if (what === undefined) await agent.start()
  const turn = what === undefined ? agent.turn : agent.executeTurn(what)
  const outcome = await turn?.outcome
  if (outcome?.reason === 'failed') errors.push(outcome.error?.message ?? 'failed')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

if (part.act === 'crash') await run(ASKED)
else {
  await run(part.act === 'resume' ? undefined : CHANGED_MIND)
  await run(AFTERWARDS)
  const messages = transcript(await store.read({ ...LOCAL_OWNER, contextId: agent.contextId }))
  tellFinal({
    users: messages.flatMap(({ role, content }) => (role === 'user' ? [textOf(content)] : [])),
    results: messages.flatMap((message) =>
      message.role === 'tool' ? message.content.map(({ output }) => textOf(output)) : [],
    ),
    errors,
  })
}
