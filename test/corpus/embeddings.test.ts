/** Search by meaning beside search by words, with the vectors of a small model that is made of a word list. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import type { EmbeddingModel } from '../../src/corpus/embedding.ts'
import { fuse } from '../../src/corpus/rank.ts'
import { loadVectorExtension, vectorSearch } from '../../src/corpus/sqlite/vector-search.ts'
import { openCorpus, temporaryFolder } from './kit.ts'

/** Each topic is a dimension; its words count. */
const TOPICS: readonly RegExp[] = [
  /kelp|seaweed|algae/gi,
  /tide|sea level|ebb/gi,
  /boat|ship|vessel/gi,
  /money|budget|cost/gi,
]

interface CountingModel extends EmbeddingModel {
  readonly calls: number[]
}

function topicModel(modelId = 'topics', topics = TOPICS): CountingModel {
  const calls: number[] = []
  return {
    provider: 'test',
    modelId,
    calls,
    maxEmbeddingsPerCall: 2048,
    doEmbed: async ({ values }) => {
      calls.push(values.length)
      return {
        embeddings: values.map((text) => [0.01, ...topics.map((topic) => text.match(topic)?.length ?? 0)]),
      }
    },
  }
}

const SOURCES = [
  { source: 'kelp.txt', content: 'Kelp grows half a metre a day.' },
  { source: 'tide.txt', content: 'The ebb lasts six hours.' },
  { source: 'boat.txt', content: 'The vessel was built in Brest.' },
]

describe('a corpus with an embedding model', () => {
  it('finds a passage by its meaning, and none for a question about something else', async () => {
    const corpus = openCorpus({ embedding: topicModel() })
    await corpus.add(SOURCES)
    expect((await corpus.search('seaweed')).map(({ source }) => source)).toEqual(['kelp.txt'])
    expect(await corpus.search('money')).toEqual([])
    const words = openCorpus()
    await words.add(SOURCES)
    expect(await words.search('seaweed')).toEqual([])
  })

  it('puts a passage first that is found by words and by meaning', async () => {
    const corpus = openCorpus({ embedding: topicModel() })
    await corpus.add([...SOURCES, { source: 'both.txt', content: 'Seaweed is eaten in Brest.' }])
    const found = await corpus.search('seaweed in Brest')
    expect(found[0]?.source).toBe('both.txt')
    expect(found.map(({ source }) => source).toSorted()).toEqual(['boat.txt', 'both.txt', 'kelp.txt'])
  })

  it('embeds passages in batches of 32, each once', async () => {
    const model = topicModel()
    const corpus = openCorpus({ embedding: model })
    const sources = Array.from({ length: 70 }, (_, at) => ({
      source: `${at}.txt`,
      content: `Kelp number ${at}.`,
    }))
    const progress: string[] = []
    await corpus.add(sources, {
      onProgress: ({ phase, done, total }) => phase === 'embeddings' && progress.push(`${done}/${total}`),
    })
    expect(model.calls).toEqual([32, 32, 6])
    expect(progress).toEqual(['0/70', '32/70', '64/70'])
    await corpus.add(sources)
    expect(model.calls).toHaveLength(3)
  })

  it('embeds them again when the model is another one, and compares no vectors of two models', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const before = openCorpus({ embedding: topicModel() }, path)
    await before.add(SOURCES)
    await before.close()
    const model = topicModel('other', TOPICS.toReversed())
    const after = openCorpus({ embedding: model }, path)
    expect(await after.search('seaweed')).toEqual([])
    await after.add([])
    expect(model.calls).toEqual([1, 3])
    expect((await after.search('seaweed')).map(({ source }) => source)).toEqual(['kelp.txt'])
  })

  it('keeps the documents if the model fails, and goes on with the next call', async () => {
    const model = topicModel()
    let isDown = true
    const failing: EmbeddingModel = {
      ...model,
      doEmbed: (options) => (isDown ? Promise.reject(new Error('no route')) : model.doEmbed(options)),
    }
    const corpus = openCorpus({ embedding: failing })
    await expect(corpus.add(SOURCES)).rejects.toMatchObject({
      code: 'model-failed',
      message: expect.stringContaining('test/topics failed: no route'),
    })
    expect(await corpus.documents()).toHaveLength(3)
    isDown = false
    await corpus.add([])
    expect((await corpus.search('seaweed')).map(({ source }) => source)).toEqual(['kelp.txt'])
  })

  it('refuses vectors that are none', async () => {
    const wrong = (embeddings: number[][]) =>
      openCorpus({ embedding: { ...topicModel(), doEmbed: async () => ({ embeddings }) } }).add(
        SOURCES.slice(0, 1),
      )
    await expect(wrong([])).rejects.toThrow('it returned no 1 vectors of one length')
    for (const none of [undefined, 'text', [undefined]])
      await expect(wrong(none as never)).rejects.toThrow('it returned no 1 vectors of one length')
    await expect(wrong([[Number.NaN]])).rejects.toThrow('it returned no 1 vectors')
    await expect(wrong([[]])).rejects.toThrow('it returned no 1 vectors')
  })

  it('takes vectors of models that run in the process', async () => {
    const doEmbed = async ({ values }: { readonly values: readonly string[] }) => ({
      embeddings: values.map(() => Float32Array.of(1, 0) as unknown as number[]),
    })
    const corpus = openCorpus({ embedding: { ...topicModel(), doEmbed } })
    await corpus.add(SOURCES.slice(0, 1))
    expect(await corpus.search('anything')).toHaveLength(1)
  })

  it('removes the vectors of a removed document', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const corpus = openCorpus({ embedding: topicModel() }, path)
    const { added } = await corpus.add(SOURCES)
    for (const { id } of added) await corpus.remove(id)
    const db = new DatabaseSync(path)
    expect(
      db.prepare('SELECT (SELECT count(*) FROM vector) + (SELECT count(*) FROM passage) AS rows').get(),
    ).toEqual({ rows: 0 })
    db.close()
  })
})

it('sqlite-vec and JavaScript find the same neighbours', () => {
  const db = new DatabaseSync(':memory:', { allowExtension: true })
  expect(loadVectorExtension(db)).toBe(true)
  db.exec('CREATE TABLE vector (passage INTEGER PRIMARY KEY, model TEXT NOT NULL, data BLOB NOT NULL) STRICT')
  const insert = db.prepare('INSERT INTO vector VALUES (?, ?, ?)')
  const unit = (seed: number) => {
    const raw = Array.from({ length: 16 }, (_, at) => Math.sin(seed * 31 + at * 7))
    return Float32Array.from(raw, (part) => part / Math.hypot(...raw))
  }
  for (let id = 1; id <= 200; id++) insert.run(id, id % 3 === 0 ? 'b' : 'a', new Uint8Array(unit(id).buffer))
  const query = { model: 'a', vector: unit(0.5), limit: 20, floor: 0.3 }
  const [fast, exact] = [true, false].map((isExtended) => vectorSearch(db, { ...query, isExtended }))
  expect(exact?.length).toBeGreaterThan(5)
  expect(fast?.map(({ id }) => id)).toEqual(exact?.map(({ id }) => id))
  for (const [at, { score }] of (fast ?? []).entries()) expect(score).toBeCloseTo(exact?.[at]?.score ?? 0, 5)
  db.close()
})

it('two rankings are fused by reciprocal rank', () => {
  const ranked = (...ids: number[]) => ids.map((id, at) => ({ id, score: 1 - at / 10 }))
  expect(fuse(ranked(1, 2, 3), ranked(2, 4)).map(({ id }) => id)).toEqual([2, 1, 4, 3])
  expect(fuse(ranked(1, 2, 3), ranked(2, 4)).map(({ score }) => score)).toEqual([1, 1, 0.9, 0.8])
})
