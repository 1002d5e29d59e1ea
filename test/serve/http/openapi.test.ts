/** The OpenAPI document has every route of the server and of the protocols mounted on it, and is valid. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { researchFlow } from '../../../src/flow/research/index.ts'
import { memoryStore } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/index.ts'
import { a2a } from '../../../src/serve/a2a/index.ts'
import { agUi } from '../../../src/serve/ag-ui/index.ts'
import { openai } from '../../../src/serve/openai/index.ts'
import { researchHttp } from '../../../src/serve/research/index.ts'
import { uiMessageStream } from '../../../src/serve/ui/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { schemaCheck } from '../../../src/tool/index.ts'
import { memoryCorpus } from '../../flow/research/kit.ts'
import { open } from './kit.ts'

interface Operation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: JsonObject }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema?: JsonObject }> }>
}

async function serve() {
  const corpus = memoryCorpus()
  const mounts = [await a2a(), openai(), uiMessageStream(), agUi(), researchHttp({ corpus })]
  const model = new ScriptedModel(() => 'Hello.')
  const flows = { research: researchFlow({ corpus }) }
  const opened = await open({ store: memoryStore(), agents: { helper: { model } }, flows }, { mounts })
  const document = (await (await opened.call('/openapi.json')).json()) as JsonObject
  const paths = document['paths'] as unknown as Record<string, Record<string, Operation>>
  return { ...opened, mounts, document, paths }
}

describe('the document', () => {
  test('is valid OpenAPI 3.1, and every operation has a name of its own', async () => {
    const { document, paths, call } = await serve()
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    expect([errors, valid]).toEqual([undefined, true])
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
    const page = await (await call('/docs')).text()
    for (const path of Object.keys(paths)) expect(page).toContain(`<code>${path}</code>`)
  })

  test('has every route of every protocol', async () => {
    const { mounts, paths } = await serve()
    for (const { name, routes } of mounts)
      for (const { method, path } of routes) {
        const listed = Object.entries(paths).flatMap(([each, methods]) =>
          methods[method.toLowerCase()]?.tags?.includes(name) ? [each] : [],
        )
        const start = path.replace(/\*$/, '')
        expect(
          listed.filter((each) => (path === start ? each === path : each.startsWith(start))),
        ).not.toEqual([])
      }
  })

  test.each([
    ['/v1/chat/completions', { model: 'helper', messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { model: 'helper', input: 'Hi' }],
    ['/ui/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }],
    ['/ag-ui/{agent}', { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] }],
    ['/chat', { message: 'When does the gate of the dock of Granville open?' }],
    [
      '/a2a/{agent}/message:send',
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } },
    ],
    [
      '/a2a/{agent}',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } },
      },
    ],
  ])('describes the body and the answer of %s as they are', async (path, body) => {
    const { paths, call } = await serve()
    const { requestBody, responses = {} } = paths[path]?.['post'] ?? {}
    const check = await schemaCheck(requestBody?.content['application/json']?.schema ?? { not: {} })
    expect(check(body)).toEqual([])
    const headers = { 'a2a-version': '1.0' }
    const address = path.replace('{agent}', 'helper')
    const response = await call(address, { json: body, headers })
    expect(response.status).toBe(200)
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
    expect(Object.keys(responses['200']?.content ?? {})).toContain(type)
    const { schema = {} } = responses['200']?.content?.[type] ?? {}
    const text = await response.text()
    const answer = type.endsWith('json') ? (JSON.parse(text) as never) : text
    expect((await schemaCheck(schema))(answer)).toEqual([])
    // A body that the schema refuses is refused by the server.
    for (const wrong of [{}, [], 'text']) {
      expect(check(wrong as never)).not.toEqual([])
      const refused = await call(address, { json: wrong, headers })
      const { error } = (await refused.json()) as { readonly error?: unknown }
      expect(refused.status >= 400 || error !== undefined).toBe(true)
    }
  })
})
