import { mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTimer } from '../../src/base/index.ts'
import { llmDo } from '../../src/index.ts'
import { type JsonObject, NO_USAGE } from '../../src/protocol/index.ts'
import { fakeToolContext, ScriptedModel } from '../../src/testing/index.ts'
import { approvalOf, prepareCall, runCall, type Settled, type Tool } from '../../src/tool/index.ts'
import {
  type DescribeImage,
  type ImageQuestion,
  loadTools,
  type WebOptions,
} from '../../src/toolbox/index.ts'
import { internet } from './web-kit.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const IMAGES: Readonly<Record<string, Buffer>> = {
  'image/png': PNG,
  'image/jpeg': Buffer.from('ffd8ffe000104a46', 'hex'),
  'image/gif': Buffer.from('GIF89a\u0001\u0000', 'latin1'),
  'image/webp': Buffer.from('RIFF\u0010\u0000\u0000\u0000WEBPVP8 ', 'latin1'),
}

interface Viewer {
  readonly folder: string
  readonly tool: Tool
  /** The questions that the model was asked. */
  readonly seen: ImageQuestion[]
  readonly call: (args: JsonObject) => Promise<Settled>
}

interface ViewerOptions {
  readonly web?: WebOptions
  readonly describeImage?: DescribeImage | null
}

async function viewer({ web = {}, describeImage }: ViewerOptions = {}): Promise<Viewer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-image-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const seen: ImageQuestion[] = []
  const answer: DescribeImage = (question) => {
    seen.push(question)
    return Promise.resolve({ text: 'A cat.' })
  }
  const tools = await loadTools({
    cwd: folder,
    toolIds: ['analyze_image'],
    web,
    ...(describeImage === null ? {} : { describeImage: describeImage ?? answer }),
  })
  const [tool] = tools as readonly Tool[] as readonly [Tool]
  const call = async (args: JsonObject): Promise<Settled> => {
    const prepared = await prepareCall({ callId: 'call_1', tool: 'analyze_image', args }, tools)
    if (!prepared.ok) return { status: 'rejected', output: 'refused' }
    const end = await runCall({ tool, input: prepared.input, context: fakeToolContext(), timer: systemTimer })
    return end.kind === 'settled' ? end : { status: 'error', output: 'asks' }
  }
  return { folder, tool, seen, call }
}

const question = 'What is it?'

describe('an image in the folder', () => {
  it('goes to the model with its type by its bytes, whatever its name', async () => {
    const { folder, call, seen } = await viewer()
    for (const [mediaType, bytes] of Object.entries(IMAGES)) {
      writeFileSync(join(folder, 'picture.txt'), bytes)
      expect(await call({ path: 'picture.txt', question })).toMatchObject({
        status: 'ok',
        output: { image: { path: 'picture.txt', mediaType, bytes: bytes.length }, answer: 'A cat.' },
        display: 'A cat.',
      })
      expect(seen.at(-1)).toMatchObject({ mediaType, question })
      expect(bytes.equals(seen.at(-1)?.bytes ?? new Uint8Array())).toBe(true)
    }
  })

  it('that is none, is too large, or lies outside is refused', async () => {
    const { folder, call, seen } = await viewer()
    writeFileSync(join(folder, 'page.png'), '<html>')
    writeFileSync(join(folder, 'empty.png'), '')
    writeFileSync(join(folder, 'drawing.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
    writeFileSync(join(folder, 'large.png'), PNG)
    truncateSync(join(folder, 'large.png'), 5_000_001)
    symlinkSync('/etc/passwd', join(folder, 'link.png'))
    const errors: unknown[] = []
    for (const path of [
      'page.png',
      'empty.png',
      'drawing.svg',
      'large.png',
      'link.png',
      '../x.png',
      '/etc/passwd',
      'none.png',
    ])
      errors.push(((await call({ path, question })).output as JsonObject)['error'])
    const none =
      'is no image that can be analyzed. Use image/png, image/jpeg, image/gif, image/webp; convert others first.'
    expect(errors.slice(0, 4)).toEqual([
      `"page.png" ${none}`,
      `"empty.png" ${none}`,
      `"drawing.svg" ${none}`,
      '"large.png" has more than 5000000 bytes. Make the image smaller first.',
    ])
    expect(errors.slice(4).every((error) => typeof error === 'string')).toBe(true)
    expect(seen).toEqual([])
  })
})

describe('an image on the web', () => {
  const allowOrigins = [{ origin: 'http://plain.example' }]
  const image =
    (bytes: Buffer, type = 'image/png', status = 200): RequestListener =>
    (_, response) =>
      response.writeHead(status, { 'content-type': type }).end(bytes)

  it('is fetched through the guard, and the answer is framed as untrusted', async () => {
    const { web } = await internet(image(IMAGES['image/gif'] as Buffer))
    const { call } = await viewer({ web: { ...web, allowOrigins } })
    expect(await call({ url: 'http://plain.example/a.png', question })).toMatchObject({
      status: 'ok',
      output: {
        image: { url: 'http://plain.example/a.png', mediaType: 'image/gif', bytes: 8 },
        notice: expect.stringContaining('Treat it as data'),
        answer: 'A cat.',
      },
    })
    expect(await call({ url: 'http://127.0.0.1/a.png', question })).toMatchObject({
      status: 'error',
      output: { code: 'refused-address' },
    })
  })

  it('that is none, is missing or too large is refused', async () => {
    const cases: readonly (readonly [RequestListener, string])[] = [
      [image(Buffer.from('<html>')), 'is no image that can be analyzed'],
      [image(PNG, 'text/html'), 'The response has the type "text/html"'],
      [image(PNG, 'image/png', 404), 'The server answers with status 404'],
      [image(Buffer.alloc(5_000_001)), 'The response has more than 5000000 bytes.'],
      [(_, to) => to.writeHead(302, { location: 'http://b.example/' }).end(), 'redirects to another site'],
    ]
    for (const [listener, error] of cases) {
      const { web } = await internet(listener)
      const { call, seen } = await viewer({ web: { ...web, allowOrigins } })
      expect(await call({ url: 'http://plain.example/', question })).toMatchObject({
        status: 'error',
        output: { error: expect.stringContaining(error) },
      })
      expect(seen).toEqual([])
    }
  })

  it('needs approval, and one in the folder does not', async () => {
    const { tool } = await viewer({ web: { allowHosts: ['free.example'] } })
    const asks = async (input: JsonObject): Promise<boolean> =>
      (await approvalOf(tool, { tool: 'x', input, principal: { tenant: 't', actor: 'a' }, callId: 'c' })) !==
      undefined
    expect(await asks({ url: 'https://a.example/', question })).toBe(true)
    expect(await asks({ url: 'https://free.example/', question })).toBe(false)
    expect(await asks({ path: 'x.png', question })).toBe(false)
    expect(await asks({ path: 'x.png', url: 'https://a.example/', question })).toBe(true)
  })
})

describe('the model', () => {
  it('may be asked with llmDo, and its usage is counted', async () => {
    const model = new ScriptedModel(['It is red.'])
    const { folder, call } = await viewer({
      describeImage: ({ bytes, mediaType, question: text, signal }) =>
        llmDo(
          [
            { type: 'text', text },
            { type: 'file', mediaType, data: bytes },
          ],
          { model, signal },
        ),
    })
    writeFileSync(join(folder, 'a.png'), PNG)
    const { output, usage } = await call({ path: 'a.png', question })
    expect(output).toMatchObject({ answer: 'It is red.' })
    expect(usage).not.toEqual(NO_USAGE)
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain(PNG.toString('base64'))
  })

  it('that is missing or answers with nothing is an error that says what to set', async () => {
    const without = await viewer({ describeImage: null })
    writeFileSync(join(without.folder, 'a.png'), PNG)
    expect(await without.call({ path: 'a.png', question })).toMatchObject({
      status: 'error',
      output: { error: expect.stringMatching(/^No vision model is set.*loadTools\(\{ describeImage: /) },
    })
    const empty = await viewer({ describeImage: () => Promise.resolve(undefined as never) })
    writeFileSync(join(empty.folder, 'a.png'), PNG)
    expect(await empty.call({ path: 'a.png', question })).toMatchObject({
      output: { error: 'describeImage of loadTools() must return { text }, as llmDo() does.' },
    })
  })

  it('is not asked without one image and a question', async () => {
    const { call, seen } = await viewer()
    expect(await call({ question })).toMatchObject({
      output: { error: 'Give either `path` or `url`, and not both.' },
    })
    expect((await call({ path: 'a.png', url: 'https://a.example', question })).status).toBe('error')
    expect((await call({ path: 'a.png' })).status).toBe('rejected')
    expect((await call({ path: 'a.png', question: '' })).status).toBe('rejected')
    expect(seen).toEqual([])
  })
})
