/** The arguments that hooks get, if the journal has them without a secret (R19) and the turn is resumed. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/protocol/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, gate, KEY, quiet } from '../turn/kit.ts'

const SECRET = 'tok_8f2e1c0d9b7a'
const HEADER = `Bearer ${SECRET}`

/** A turn that is paused between a reply with a secret and the hooks of that reply, whose hook adds to the arguments. */
async function paused() {
  const [asked, held] = [gate(), gate()]
  const hooked: Json[] = []
  const ran: unknown[] = []
  const send = defineTool({
    name: 'send',
    description: 'Sends',
    input: z.looseObject({}),
    run: (input) => void ran.push(input),
  })
  const replies = [calls(['send', { header: HEADER }]), 'Done']
  const { agent, another, store } = bench({
    script: async () => {
      asked.resolve()
      await held.promise
      return replies.shift() ?? ''
    },
    tools: [send],
    on: {
      afterLlm: ({ reply, edit }) => {
        for (const { callId, args } of reply.calls) {
          hooked.push(args)
          edit(callId, { ...(args as object), checked: true })
        }
      },
    },
  })
  await agent.start()
  const turn = agent.executeTurn('Go', { auth: { credentials: { token: SECRET } } })
  await asked.promise
  const pausing = agent.pause()
  await quiet()
  held.resolve()
  await pausing
  expect(hooked).toEqual([])
  return { agent, another, store, turn, hooked, ran }
}

it('hooks of a turn that goes on after a pause get the arguments as the model wrote them', async () => {
  const { agent, turn, hooked, ran } = await paused()
  await agent.resume()
  expect((await turn.outcome).reason).toBe('stop')
  expect(hooked).toEqual([{ header: HEADER }])
  expect(ran).toEqual([{ header: HEADER, checked: true }])
})

it('a call whose secret only another process received does not run with the mark in its place, though a hook edits it', async () => {
  const { another, store, hooked, ran } = await paused()
  const next = another({ credentials: () => ({ token: SECRET }) })
  await next.start()
  expect((await next.executeTurn(null).outcome).reason).toBe('stop')
  expect(hooked).toEqual([{ header: 'Bearer [redacted]' }])
  expect(ran).toEqual([])
  const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
  expect(ends).toMatchObject([{ data: { status: 'rejected', output: { code: 'redacted-arguments' } } }])
})
