/** Artifacts: versions, chunks, order, and refusals. */
import { describe, expect, it } from 'vitest'
import type { ArtifactChange, Json, JsonObject } from '../protocol/index.ts'
import { artifactChanges, artifactKey, changesPrefix } from '../store/derive.ts'
import { type MemoryArtifacts, memoryArtifacts } from '../testing/tool-context.ts'
import { artifacts } from './artifact.ts'
import { Redactor } from './redact.ts'

const HUNTER = Redactor.of([{ value: 'hunter22' }])

function open(): { port: MemoryArtifacts; all: ReturnType<typeof artifacts> } {
  const port = memoryArtifacts()
  return { port, all: artifacts(port) }
}

describe('a file', () => {
  it('is written as a whole, version after version', async () => {
    const { all } = open()
    expect(await all.writeFile('report.md', 'héllo', { name: 'Report', mediaType: 'text/markdown' })).toEqual(
      {
        artifactId: 'report.md',
        kind: 'file',
        version: 1,
        chunks: 1,
        bytes: 6,
        complete: true,
        name: 'Report',
        mediaType: 'text/markdown',
      },
    )
    expect(await all.writeFile('report.md', '')).toMatchObject({
      version: 2,
      chunks: 1,
      bytes: 0,
      complete: true,
    })
    expect(await all.read('report.md')).toMatchObject({ info: { version: 2, updatedAt: 1002 }, content: '' })
    expect(await all.read('report.md', { version: 1 })).toMatchObject({
      info: { version: 1, bytes: 6, complete: true, name: 'Report' },
      content: 'héllo',
    })
  })

  it('is written chunk by chunk, even through the middle of a character', async () => {
    const { all, port } = open()
    expect(await all.createFile('log', { name: 'Log' })).toMatchObject({
      version: 1,
      chunks: 0,
      complete: false,
    })
    expect(await all.read('log')).toMatchObject({ info: { chunks: 0 }, content: '' })
    await all.appendFile('log', 'a\ud83d')
    await all.appendFile('log', '\ude00b')
    expect(await all.appendFile('log', '')).toMatchObject({ chunks: 2 })
    expect(await all.complete('log')).toMatchObject({ chunks: 2, complete: true, name: 'Log' })
    expect(await all.complete('log')).toMatchObject({ complete: true })
    expect(await all.read('log')).toMatchObject({ content: 'a😀b' })
    expect(port.entries.map(({ data }) => [data['op'], data['chunk'], data['chunks']])).toEqual([
      ['write', 0, 0],
      ['append', 1, 1],
      ['append', 2, 2],
      ['complete', 3, 2],
    ])
  })

  it('of bytes is kept in blobs that its entries name', async () => {
    const { all, port } = open()
    const bytes = new Uint8Array([0, 255, 128])
    expect(await all.writeFile('image', bytes, { mediaType: 'image/png' })).toMatchObject({ bytes: 3 })
    expect(await all.read('image')).toMatchObject({ content: bytes })
    const [hash] = [...port.blobs.keys()]
    expect(port.refs).toEqual([[hash]])
    expect(port.entries[0]?.data).toMatchObject({ blob: hash, bytes: 3 })
    expect('content' in (port.entries[0]?.data ?? {})).toBe(false)
  })

  it('of text and bytes is bytes', async () => {
    const { all } = open()
    await all.createFile('mixed')
    await all.appendFile('mixed', 'é')
    await all.appendFile('mixed', new Uint8Array([1]))
    await all.appendFile('mixed', new Uint8Array())
    expect(await all.read('mixed')).toMatchObject({
      content: new Uint8Array([0xc3, 0xa9, 1]),
      info: { bytes: 3 },
    })
  })

  it('whose blob is gone is reported, not invented', async () => {
    const { all, port } = open()
    await all.writeFile('image', new Uint8Array([1]))
    port.blobs.clear()
    await expect(all.read('image')).rejects.toMatchObject({ code: 'store-corrupt' })
  })
})

describe('data', () => {
  it('is any value of JSON', async () => {
    const { all } = open()
    for (const value of [null, 'text', 7, [1], { a: { b: null } }] as const) {
      await all.writeData('value', value)
      expect((await all.read('value')).content).toEqual(value)
    }
    expect(await all.writeData('value', 'text')).toMatchObject({ version: 6, bytes: 6, kind: 'data' })
  })

  it('must be JSON, and fit its schema', async () => {
    const { all, port } = open()
    await expect(all.writeData('value', new Map() as unknown as Json)).rejects.toMatchObject({
      code: 'invalid-option',
      message:
        'The content cannot be written as JSON: it is a value of type Map; use Object.fromEntries() for it. Nothing was written.',
    })
    await expect(all.writeData('value', 'x', { schema: { type: 'number' } })).rejects.toMatchObject({
      message:
        'Artifact "value": what was given does not fit its schema: Instance type "string" is invalid. Expected "number". Nothing was written.',
    })
    expect(port.entries).toEqual([])
  })
})

describe('a dataset', () => {
  const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }

  it('grows by rows that fit its schema', async () => {
    const { all, port } = open()
    await all.createDataset('rows', { schema, name: 'Rows' })
    await all.appendRows('rows', [{ id: 1 }, { id: 2 }])
    expect(await all.appendRows('rows', [])).toMatchObject({ chunks: 1 })
    expect(await all.appendRows('rows', [{ id: 3 }])).toMatchObject({
      chunks: 2,
      bytes: 29,
      schema,
      name: 'Rows',
    })
    await expect(all.appendRows('rows', [{ id: 4 }, { id: 'x' }, {}])).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringMatching(
        /row 1, id: Instance type "string" is invalid.*row 2, Instance does not have/,
      ),
    })
    expect((await all.read('rows')).content).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(port.entries).toHaveLength(3)
  })

  it('takes any rows without a schema, but rows', async () => {
    const { all } = open()
    await all.createDataset('rows')
    await all.appendRows('rows', [{ a: 1 }, { b: 2 }])
    for (const wrong of ['x', [1], [[]], [null], {}] as unknown as JsonObject[][]) {
      await expect(all.appendRows('rows', wrong)).rejects.toMatchObject({
        message: 'The rows of artifact "rows" must be a list of objects. Nothing was written.',
      })
    }
    expect((await all.read('rows')).content).toEqual([{ a: 1 }, { b: 2 }])
  })

  it('takes many rows at a time', async () => {
    const { all } = open()
    await all.createDataset('rows', { schema })
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id }))
    expect(await all.appendRows('rows', rows)).toMatchObject({ chunks: 1 })
    expect((await all.read('rows')).content).toEqual(rows)
  })

  it('with a schema that cannot be used is not created', async () => {
    const { all, port } = open()
    await expect(all.createDataset('rows', { schema: { $ref: '#/nowhere' } })).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('its schema cannot be used: Unresolved $ref'),
    })
    expect(port.entries).toEqual([])
  })
})

describe('what cannot be done', () => {
  it('is refused, and nothing is written', async () => {
    const { all, port } = open()
    await all.writeFile('file', 'x')
    await all.createDataset('rows')
    const refusals = [
      [
        all.appendFile('nothing', 'x'),
        'not-found',
        'There is no artifact "nothing". Write or create it first.',
      ],
      [all.complete('nothing'), 'not-found', 'There is no artifact "nothing"'],
      [all.read('nothing'), 'not-found', 'There is no artifact "nothing"'],
      [all.delete('nothing'), 'not-found', 'There is no artifact "nothing"'],
      [all.read('file', { version: 2 }), 'not-found', 'Artifact "file" has no version 2. Its newest is 1.'],
      [
        all.appendFile('file', 'x'),
        'invalid-option',
        'Version 1 of artifact "file" is complete, so nothing can be appended. Begin a new version.',
      ],
      [
        all.appendRows('file', []),
        'invalid-option',
        'Artifact "file" is a file, not a dataset. Use another id, or delete it first.',
      ],
      [all.appendFile('rows', 'x'), 'invalid-option', 'Artifact "rows" is a dataset, not a file.'],
      [all.writeData('file', 1), 'invalid-option', 'Artifact "file" is a file, not data.'],
    ] as const
    for (const [refusal, code, message] of refusals) {
      await expect(refusal).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    }
    expect(port.entries).toHaveLength(2)
  })

  it.each(['', '.', '..', 'a b', 'a/b', 'a:b', 'e\u0301', 'x'.repeat(513), 7 as unknown as string])(
    'is to call one %j',
    async (id) => {
      await expect(open().all.writeFile(id, 'x')).rejects.toMatchObject({ code: 'invalid-key' })
    },
  )

  it.each([undefined, null, 7, { a: 1 }, [[1]], { json: 'x' }, new ArrayBuffer(2), new Uint16Array(2)])(
    'is a file of text or bytes, and not of %j',
    async (content) => {
      const { all, port } = open()
      await all.createFile('log')
      const error = {
        code: 'invalid-option',
        message: expect.stringContaining('takes a text or a Uint8Array'),
      }
      await expect(all.writeFile('file', content as never)).rejects.toMatchObject(error)
      await expect(all.appendFile('log', content as never)).rejects.toMatchObject(error)
      expect(port.entries).toHaveLength(1)
    },
  )

  it('begins with no ~: such names are those of the runtime, as ~reply in A2A', async () => {
    const { all, port } = open()
    const writes = [
      all.writeFile('~reply', 'x'),
      all.by({ callId: 'c' }).createFile('~reply'),
      all.writeData('~output', 1),
      all.createDataset('~rows'),
    ]
    for (const write of writes)
      await expect(write).rejects.toMatchObject({
        code: 'invalid-key',
        message: expect.stringMatching(/^Artifact "~\w+" cannot be written: .* Use another id\./),
      })
    expect(port.entries).toEqual([])
    expect(await all.writeFile('a~1', 'x')).toMatchObject({ version: 1 })
  })
})

describe('an artifact that is deleted', () => {
  it('is gone until it is written again, as the next version, of any kind', async () => {
    const { all } = open()
    await all.writeFile('x', 'one')
    await all.writeFile('y', 'other')
    expect(await all.delete('x')).toMatchObject({ deleted: true, version: 1 })
    expect((await all.list()).map(({ artifactId }) => artifactId)).toEqual(['y'])
    await expect(all.read('x')).rejects.toThrow('Artifact "x" was deleted. Write or create it again first.')
    await expect(all.appendFile('x', 'more')).rejects.toMatchObject({ code: 'not-found' })
    expect(await all.writeData('x', 2)).toMatchObject({ version: 2, kind: 'data' })
    expect((await all.list()).map(({ artifactId }) => artifactId)).toEqual(['x', 'y'])
  })
})

describe('many at once', () => {
  it('are applied to one artifact in the order asked for, whoever asks', async () => {
    const { all } = open()
    const [one, two] = [all.by({ callId: 'one' }), all.by({ callId: 'two' })]
    const work = [
      one.createFile('log'),
      ...Array.from({ length: 50 }, (_, index) => (index % 2 ? one : two).appendFile('log', `${index} `)),
      two.read('log'),
    ]
    const seen = (await Promise.all(work)).at(-1)
    const expected = Array.from({ length: 50 }, (_, index) => `${index} `).join('')
    expect(seen).toMatchObject({ content: expected, info: { chunks: 50 } })
  })

  it('are applied to different ones side by side, and one that fails holds up nobody', async () => {
    const { port } = open()
    const gate = Promise.withResolvers<void>()
    const seen: string[] = []
    const all = artifacts({
      ...port,
      record: async (change, refs) => {
        if (change.artifactId === 'slow') await gate.promise
        if (change.content === 'bad') throw new Error('disk full')
        seen.push(`${change.artifactId} ${change.version}`)
        await port.record(change, refs)
      },
    })
    const slow = all.writeFile('slow', 'x')
    const bad = all.writeFile('a', 'bad')
    const good = all.writeFile('a', 'good')
    await expect(bad).rejects.toThrow('disk full')
    expect(await good).toMatchObject({ version: 1 })
    expect(seen).toEqual(['a 1'])
    gate.resolve()
    await slow
    expect(seen).toEqual(['a 1', 'slow 1'])
  })
})

describe('a call that makes artifacts', () => {
  it('is named in each change, and its secrets are not in them', async () => {
    const { all, port } = open()
    const mine = all.by({ callId: 'call_7', secrets: HUNTER })
    await mine.writeFile('text', 'key hunter22')
    await mine.writeData('value', { hunter22: 'hunter22' })
    await mine.delete('text')
    expect(port.entries.map(({ data }) => [data['callId'], data['content']])).toEqual([
      ['call_7', 'key [redacted]'],
      ['call_7', { '[redacted]': '[redacted]' }],
      ['call_7', undefined],
    ])
  })

  it('has no secrets in names, media types and schemas', async () => {
    const { all, port } = open()
    const mine = all.by({ secrets: HUNTER })
    await mine.createFile('file', { name: 'of hunter22', mediaType: 'text/hunter22' })
    await mine.createDataset('rows', { schema: { title: 'hunter22' } })
    expect(port.entries.map(({ data }) => [data['name'], data['mediaType'], data['schema']])).toEqual([
      ['of [redacted]', 'text/[redacted]', undefined],
      [undefined, undefined, { title: '[redacted]' }],
    ])
  })

  it('is refused ids and bytes that contain a secret, and is not told which', async () => {
    const { all, port } = open()
    const mine = all.by({ secrets: HUNTER })
    const bytes = Buffer.from('\u0000 hunter22 \u0000')
    for (const refused of [
      mine.writeFile('a-hunter22', 'x'),
      mine.writeFile('file', bytes),
      mine.writeFile('file', new Uint8Array(bytes).subarray(1)),
    ])
      await expect(refused).rejects.toThrow(/^The (id|bytes)(?!.*hunter22)/)
    await mine.writeFile('file', Buffer.from('hunter'))
    expect(port.entries).toHaveLength(1)
  })
})

describe('a secret that is split over two chunks', () => {
  const token = 'sk-supér/secret-0123456789'
  const secrets = Redactor.of([{ value: token }])
  const bytes = Buffer.from(`token=${token}\n`)
  const first = bytes.indexOf('sk-') + 1
  const last = bytes.length - 2

  async function stored(all: ReturnType<typeof artifacts>): Promise<string> {
    const { content } = await all.read('log')
    return typeof content === 'string' ? content : Buffer.from(content as Uint8Array).toString()
  }

  it('is stored in no file of bytes, wherever it is split', async () => {
    for (let at = first; at <= last; at++) {
      const { all } = open()
      const mine = all.by({ secrets })
      await mine.createFile('log')
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
      const refused: unknown[] = []
      for (const piece of pieces)
        await mine.appendFile('log', piece).catch((error: unknown) => refused.push(error))
      expect(refused).toHaveLength(1)
      expect(String(refused[0])).toMatch(/The bytes contain one of the credentials of this turn, or a part/)
    }
  })

  it('is stored in no file of bytes and texts', async () => {
    for (const isText of [true, false]) {
      const { all } = open()
      const mine = all.by({ secrets })
      await mine.createFile('log')
      const [begin, end] = [bytes.subarray(0, first + 7), bytes.subarray(first + 7)]
      await mine.appendFile('log', isText ? begin.toString() : begin)
      await mine.appendFile('log', isText ? end : end.toString()).catch(() => {})
      expect(await stored(all)).toBe(isText ? 'token=sk-supé' : 'token=sk-supé[redacted]\n')
    }
  })

  it('is stored in no file if a chunk fails and is appended again, wherever it is split', async () => {
    const text = bytes.toString()
    const ends = text.length - 1
    for (let at = text.indexOf('sk-') + 1; at < ends; at++) {
      const port = memoryArtifacts()
      let failures = 0
      const record: typeof port.record = (...change) =>
        failures-- > 0 ? Promise.reject(new Error('The store is busy.')) : port.record(...change)
      const all = artifacts({ ...port, record })
      const mine = all.by({ secrets })
      await mine.createFile('log')
      await mine.appendFile('log', text.slice(0, at))
      failures = 1
      await expect(mine.appendFile('log', text.slice(at))).rejects.toThrow('busy')
      await mine.appendFile('log', text.slice(at))
      expect(await stored(all)).not.toContain(text.slice(at, ends))
    }
  })

  it('is stored in no file if another process appends between two chunks', async () => {
    const port = memoryArtifacts()
    const [here, there] = [artifacts(port), artifacts(port)]
    await here.by({ secrets }).createFile('log')
    await here.by({ secrets }).appendFile('log', 'token=')
    await there.appendFile('log', token.slice(0, 5))
    await here.by({ secrets }).appendFile('log', token.slice(5))
    expect(await stored(here)).toBe('token=sk-su[redacted]')
  })

  it('allows bytes after a text with the whole of it', async () => {
    const { all } = open()
    const mine = all.by({ secrets })
    await mine.createFile('log')
    await mine.appendFile('log', `token=${token}`)
    await mine.appendFile('log', Buffer.from([10]))
    expect(await stored(all)).toBe('token=[redacted]\n')
  })

  it('is found by a process that continues a file of another', async () => {
    const [begin, end] = [bytes.subarray(0, first + 7), bytes.subarray(first + 7)]
    for (const piece of [begin, begin.toString()]) {
      const { all, port } = open()
      await all.by({ secrets }).createFile('log')
      await all.by({ secrets }).appendFile('log', 'x'.repeat(90))
      await all.by({ secrets }).appendFile('log', piece)
      const other = artifacts(port).by({ secrets })
      await expect(other.appendFile('log', end)).rejects.toMatchObject({ code: 'invalid-option' })
      await other.appendFile('log', end.toString())
      expect(await stored(all)).toBe(`${'x'.repeat(90)}token=sk-supé[redacted]\n`)
    }
  })
})

describe('the index of artifacts', () => {
  const change: ArtifactChange = {
    artifactId: 'log',
    kind: 'file',
    op: 'append',
    version: 12,
    chunk: 3,
    content: 'x',
    bytes: 1,
    chunks: 3,
    totalBytes: 9,
    complete: false,
    name: 'Log',
    callId: 'c',
  }
  const entry = { seq: 5, turn: 1, at: 99, type: 'artifact', v: 1, data: change }

  it('has what the artifact is, and where the change is, from the entry alone', () => {
    expect(artifactChanges.index).toBe('artifact')
    expect(artifactChanges.rows(entry)).toEqual([
      {
        key: 'a:log',
        value: {
          artifactId: 'log',
          kind: 'file',
          version: 12,
          chunks: 3,
          bytes: 9,
          complete: false,
          name: 'Log',
          updatedAt: 99,
        },
      },
      { key: 'c:log:00000012:00000003', value: { op: 'append', bytes: 1 } },
    ])
    expect([artifactKey('log'), changesPrefix('log', 12)]).toEqual(['a:log', 'c:log:00000012:'])
  })

  it('has no place for a deletion, and nothing for other entries', () => {
    const { chunk: _, ...rest } = change
    const deletion = { ...entry, data: { ...rest, op: 'delete', bytes: 0 } }
    expect(artifactChanges.rows(deletion).map(({ key, value }) => [key, value['deleted']])).toEqual([
      ['a:log', true],
    ])
    expect(artifactChanges.rows({ ...entry, type: 'note' })).toEqual([])
  })
})
