/** Whatever files people and imports bring into a conversation, the next plain message is answered, by every vendor. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { UserContent } from '../../src/index.ts'
import type { FilePart } from '../../src/protocol/index.ts'
import { type Speaker, WireServer } from './server.ts'
import { named, SPEAKERS, talk } from './talk.ts'

let wire: WireServer

beforeAll(async () => {
  wire = await WireServer.open()
})
afterAll(() => wire.close())

const RUNS = Number(process.env['HOLDFAST_RUNS'] ?? 25)
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const file: fc.Arbitrary<FilePart> = fc.record(
  {
    type: fc.constant('file' as const),
    mediaType: fc.oneof(
      { weight: 2, arbitrary: fc.constant('image/png') },
      {
        weight: 5,
        arbitrary: fc.constantFrom(
          ...['image/bmp', 'image/gif', 'image/heic', 'image/svg+xml', 'image/*', 'application/pdf'],
          ...['application/zip', 'application/x-nothing', 'audio/wav', 'audio/flac', 'video/mp4'],
          ...['text/plain', 'text/csv; charset=utf-8', 'font/woff2', 'png', ''],
        ),
      },
    ),
    data: fc.constantFrom(
      ...[PNG, PNG, 'AAAA', `data:image/png;base64,${PNG}`, 'https://example.com/a.png'],
      ...['not base64!', 'data:text/plain,hello', 'ftp://example.com/a', `${PNG.slice(0, 20)}\n`],
    ),
    name: fc.constantFrom('a.png', 'ü.pdf', '🎉.pdf'.slice(1), ' ', '../../etc/passwd', '\u0000'),
  },
  { requiredKeys: ['type', 'mediaType', 'data'] },
)

const content = fc
  .array(file, { minLength: 1, maxLength: 4 })
  .map((files): UserContent => [{ type: 'text', text: 'look' }, ...files])

const deed = fc.record({
  how: fc.constantFrom('say' as const, 'say' as const, 'import' as const, 'stored' as const),
  content,
  speaker: fc.constantFrom(...SPEAKERS),
})

async function hello(speaker: Speaker, agentWith: ReturnType<typeof talk>['with']): Promise<void> {
  const outcome = await agentWith(named(wire, speaker)).executeTurn('never mind, hello').outcome
  expect([speaker, outcome.reason, outcome.error]).toEqual([speaker, 'stop', undefined])
}

it('a plain hello is answered after any files, by everybody, and then nothing is refused any more', {
  timeout: 600_000,
}, async () => {
  const law = fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 4 }), async (deeds) => {
    const { store, with: agentWith } = talk()
    wire.reset()
    wire.otherwise = { text: 'Fine.' }
    for (const [at, { how, content: said, speaker }] of deeds.entries()) {
      const agent = agentWith(named(wire, speaker))
      if (how === 'import')
        await agent.importMessages([
          { role: 'user', content: said },
          { role: 'assistant', content: [{ type: 'text', text: `${at}` }] },
        ])
      else if (how === 'say') await agent.executeTurn(said).outcome
      else {
        const key = { tenant: 'local', actor: 'local', contextId: 'talk' }
        const since = (await store.head(key))?.seq ?? 0
        const data = { message: JSON.parse(JSON.stringify(said)) as never }
        const isShaped = !JSON.stringify(said).includes('"mediaType":""')
        const inbox = [{ type: 'input' as const, key: `old-${at}`, data }]
        if (isShaped) await store.append({ key, id: `old-${at}`, since, inbox })
      }
      await hello(speaker, agentWith)
    }
    for (const speaker of SPEAKERS) await hello(speaker, agentWith)
    wire.problems.length = 0
    for (const speaker of SPEAKERS) await hello(speaker, agentWith)
    expect(wire.problems).toEqual([])
  })
  await fc.assert(law, { numRuns: RUNS })
})
