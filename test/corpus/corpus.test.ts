/** The corpus in a SQLite file: what is added, found, changed and removed. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { DocumentError, type Parser } from '../../src/corpus/parser.ts'
import { filled, found, KELP, MOORING, openCorpus, TIDE, temporaryFolder, withoutPrivileges } from './kit.ts'
import { pdfOf } from './pdf-of.ts'
import { bodyXml, docxParts, paragraph, WORD, zipOf } from './raw-files.ts'

describe('a search', () => {
  it('finds the passage with the words of the question, with its place', async () => {
    const corpus = await filled()
    const [best, ...others] = await corpus.search('When was the tide gauge moved?')
    expect(others).toEqual([])
    const { id: passageId, score, ...rest } = best ?? { id: '', score: 0 }
    const text = `# Tides\n\n${TIDE}`
    const [, document] = await corpus.documents()
    expect(rest).toEqual({
      documentId: document?.id,
      title: 'Tides',
      source: 'tide.md',
      page: null,
      start: 0,
      end: text.length,
      text,
    })
    expect(score).toBe(1)
    expect(await corpus.passage(passageId)).toEqual({ id: passageId, ...rest })
  })

  it('gives the text of the page next to a passage, and of no other page', async () => {
    const corpus = await filled()
    const sentences = Array.from({ length: 40 }, (_, at) => `Sentence number ${at} is about kelp.`)
    const text = sentences.join(' ')
    const { added } = await corpus.add([{ source: 'kelp.txt', content: text }])
    const id = added[0]?.id ?? ''
    const second = await corpus.passage(`${id}-2`)
    const around = await corpus.surroundings?.(`${id}-2`)
    expect(second?.start).toBeGreaterThan(0)
    expect(around?.before.length).toBeGreaterThan(100)
    expect(text).toContain(`${around?.before}${second?.text}${around?.after}`)
    const last = added[0]?.passages ?? 0
    expect((await corpus.surroundings?.(`${id}-1`))?.before).toBe('')
    expect((await corpus.surroundings?.(`${id}-${last}`))?.after).toBe('')
    expect(await corpus.surroundings?.('unknown-1')).toBeUndefined()
  })

  it('gives a passage with none of the words no score, and one with few of them too little', async () => {
    const corpus = await filled()
    expect(await corpus.search('zebra crossing', { minScore: 0 })).toEqual([])
    const [best] = await corpus.search('What is the weight of a zebra in the spring of 2011?')
    expect(best?.score).toBeLessThan(0.3)
    expect(await corpus.search('Which zebra has stripes, hooves, a mane, a tail, and a chain?')).toEqual([])
    expect(await corpus.search('', { minScore: 0 })).toEqual([])
    expect(await corpus.search('¿?…"', { minScore: 0 })).toEqual([])
  })

  it('knows forms of a word, accents and words cut by a line end', async () => {
    const corpus = await filled()
    await corpus.add([
      { source: 'cut.txt', content: 'The measure-\nments of salinity were lost.' },
      { source: 'tokyo.txt', content: '東京大学は海洋学を研究しています。' },
    ])
    expect(await found(corpus, 'moorings inspecting')).toEqual(['mooring.txt'])
    expect(await found(corpus, 'port neree')).toEqual(['tide.md'])
    expect(await found(corpus, 'measurements')).toEqual(['cut.txt'])
    expect(await found(corpus, '海洋学')).toEqual(['tokyo.txt'])
    expect(await found(corpus, '学海')).toEqual([])
  })

  it.each([
    // Vowel signs make the word: day, gift, poor.
    ['दिन', ['दिन', 'दिन'.normalize('NFD')], ['दान', 'दीन', 'दन']],
    ['বাংলা', ['বাংলা'], ['বিংলি']],
    ['தமிழ்', ['தமிழ்'], ['தமழ']],
    ['ที่นี่', ['ที่นี่'], ['ทานา']],
    // A letter of its own, not one with an accent; a stress mark is none.
    ['чай', ['чай', 'чай'.normalize('NFD'), 'Чай'], ['чаи']],
    ['за́мок', ['замок', 'за́мок', 'ЗАМОК'], []],
    // Points that most texts leave out.
    ['كِتَابٌ', ['كتاب', 'كِتَابٌ', 'كتــاب'], ['كتب']],
    ['كتاب', ['كِتَابٌ'], []],
    ['أحمد', ['أحمد', 'أحمد'.normalize('NFD')], []],
    ['שָׁלוֹם', ['שלום', 'שָׁלוֹם'], ['שלם']],
    // Capital letters have no accents.
    ['άνθρωπος', ['άνθρωπος', 'ΑΝΘΡΩΠΟΣ', 'ανθρωπος', 'ἄνθρωπος', 'άνθρωπος'.normalize('NFD')], ['άνθος']],
    ['한국어', ['한국어', '한국어'.normalize('NFD')], []],
    ['a\u0332b\u0332c', ['abc', 'a\u0332b\u0332c'], []],
    ['葛\u{E0100}城', ['葛城'], []],
  ])('%s: marks count where they make another word, and nowhere else', async (word, same, others) => {
    const corpus = openCorpus()
    await corpus.add([{ source: 'a.txt', content: `x ${word} y` }])
    for (const query of same) expect([query, await found(corpus, query)]).toEqual([query, ['a.txt']])
    for (const query of others)
      expect([query, await found(corpus, query, { minScore: 0 })]).toEqual([query, []])
  })

  it('knows words that say the same, with accents or without', async () => {
    const corpus = openCorpus()
    await corpus.add([{ source: 'visite.txt', content: 'Le prix de la visite est de huit euros.' }])
    expect(await found(corpus, 'Combien coute une entree ?')).toEqual(['visite.txt'])
    expect(await found(corpus, 'Combien coûte une entrée ?')).toEqual(['visite.txt'])
  })

  it('gives a whole question in a script without spaces the score 1, and finds no other word', async () => {
    const corpus = openCorpus()
    const texts = ['コーヒーを飲みました', 'เรือข้ามฟากออกเวลาแปดโมงเช้า', 'សំបុត្រនៅក្នុងទូក', 'သင်္ဘောသည်ထွက်ခွာသည်']
    await corpus.add(texts.map((content, at) => ({ source: `${at}.txt`, content })))
    for (const [at, text] of texts.entries())
      expect(await corpus.search(text, { topK: 1 })).toMatchObject([{ source: `${at}.txt`, score: 1 }])
    await corpus.add([{ source: 'flowers.txt', content: 'コスモスとヒマワリの花' }])
    expect(await found(corpus, 'コーヒー')).toEqual(['0.txt'])
  })

  it('finds a document by its title', async () => {
    const corpus = await filled()
    await corpus.add([{ source: 'b.txt', title: 'Budget memo', content: 'The total is 12,400 crowns.' }])
    expect(await found(corpus, 'budget total')).toEqual(['b.txt'])
  })

  it('takes syntax of a query language as text', async () => {
    const corpus = await filled()
    for (const query of [
      'kelp" OR "tide',
      'NOT kelp',
      'text:kelp',
      'kel*',
      '^kelp',
      'kelp AND NEAR(tide, 2)',
      '{text} : kelp',
    ])
      expect(await found(corpus, query, { minScore: 0 })).not.toContain('mooring.txt')
    expect(await found(corpus, 'NOT holdfast')).toEqual(['kelp.txt'])
    expect(await found(corpus, 'kel*', { minScore: 0 })).toEqual([])
    const texts = fc.array(
      fc.oneof(
        fc.constantFrom(
          '"',
          "'",
          '*',
          '(',
          ')',
          ':',
          '^',
          '-',
          '+',
          ' NEAR(',
          ' AND ',
          ' OR ',
          ' NOT ',
          '{',
          '}',
          '\0',
          ' kelp ',
        ),
        fc.string({ unit: 'binary', maxLength: 6 }),
      ),
      { maxLength: 20 },
    )
    await fc.assert(
      fc.asyncProperty(texts, async (parts) => {
        for (const { score } of await corpus.search(parts.join(''), { minScore: 0 })) {
          expect(score).toBeGreaterThan(0)
          expect(score).toBeLessThanOrEqual(1)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('returns the best ones, best first, at most topK', async () => {
    const corpus = openCorpus()
    await corpus.add(
      Array.from({ length: 30 }, (_, at) => ({
        source: `${at}.txt`,
        content: `Anchor ${at}. ${at === 7 ? 'It is made of zinc.' : 'It is made of iron.'}`,
      })),
    )
    const all = await corpus.search('anchor of zinc', { topK: 20, minScore: 0 })
    expect(all).toHaveLength(20)
    expect(all[0]?.source).toBe('7.txt')
    expect(all.map(({ score }) => score)).toEqual(all.map(({ score }) => score).toSorted((a, b) => b - a))
    expect(await corpus.search('anchor of zinc', { minScore: 0 })).toHaveLength(5)
    await expect(corpus.search('anchor', { topK: 21 })).rejects.toThrow('topK from 1 to 20')
    await expect(corpus.search('anchor', { topK: 0 })).rejects.toThrow('topK from 1 to 20')
  })

  it('may be ordered by a reranker', async () => {
    const reranker = {
      rerank: async (_: string, passages: readonly { text: string }[]) =>
        passages.map(({ text }) => (text.includes('chain') ? 0.9 : 0.1)),
    }
    const corpus = openCorpus({ reranker })
    await corpus.add([
      { source: 'kelp.txt', content: KELP },
      { source: 'mooring.txt', content: MOORING },
    ])
    expect(await corpus.search('kelp spring')).toMatchObject([{ source: 'mooring.txt', score: 0.9 }])
    const wrong = openCorpus({ reranker: { rerank: async () => [2] } })
    await wrong.add([{ source: 'kelp.txt', content: KELP }])
    await expect(wrong.search('kelp')).rejects.toThrow('must return 1 scores from 0 to 1')
  })

  it('asks a reranker about passages only, and takes nothing but numbers from it', async () => {
    const calls: number[] = []
    const corpus = openCorpus({
      reranker: {
        rerank: async (_, passages) => {
          calls.push(passages.length)
          return passages.map(() => 1)
        },
      },
    })
    expect(await corpus.search('kelp')).toEqual([])
    await corpus.add([{ source: 'kelp.txt', content: KELP }])
    expect(await corpus.search('nothing alike')).toEqual([])
    expect(await corpus.search('kelp')).toMatchObject([{ score: 1 }])
    expect(calls).toEqual([1])
    for (const scores of [undefined, ['0.5'], { 0: 1, length: 1 }]) {
      const wrong = openCorpus({ reranker: { rerank: async () => scores as never } }, corpus.path)
      await expect(wrong.search('kelp')).rejects.toMatchObject({ code: 'option-failed' })
    }
  })
})

describe('parts that could find nothing, or anything', () => {
  it.each([1, 30, -2])('minSimilarity %s is no cosine', (minSimilarity) => {
    expect(() => openCorpus({ minSimilarity })).toThrow(
      'minSimilarity must be a cosine from -1 on and below 1',
    )
  })

  it.each([{}, { extensions: 'tex' }, { extensions: ['.tex'] }, { extensions: ['TeX'] }])(
    'a parser with %j reads no file',
    (more) => {
      const parser = { id: 'tex-1', parse: async () => ({ pages: [] }), ...more }
      expect(() => openCorpus({ parsers: [parser as never] })).toThrow(
        'parsers must be a list of { id, extensions, parse }, with endings in lower case and without a dot',
      )
    },
  )

  it.each([
    { chunks: undefined },
    { chunks: [null] },
    { chunks: [{ start: 0, end: 2.5 }] },
    { chunks: [{ start: 3, end: 1 }] },
    { chunks: [{ start: 0, end: 999 }] },
  ])('a chunker that returns $chunks cuts no page', async ({ chunks }) => {
    const corpus = openCorpus({ chunker: { id: 'mine-1', chunk: () => chunks as never } })
    await expect(corpus.add([{ source: 'kelp.txt', content: KELP }])).rejects.toThrow(
      'The chunker "mine-1" must return a list of { start, end }, with whole numbers within the page.',
    )
  })

  it('a title that is no text titles nothing', async () => {
    const corpus = openCorpus()
    await expect(corpus.add([{ source: 'a.txt', content: KELP, title: 5 as never }])).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

describe('adding', () => {
  it('reads pages of a PDF, and no passage crosses one', async () => {
    const corpus = openCorpus()
    const bytes = await pdfOf(['First page about kelp.', 'Second page about tides.'], 'Field notes')
    const { added } = await corpus.add([{ source: 'notes.pdf', content: bytes }])
    expect(added).toMatchObject([{ title: 'Field notes', pages: 2, passages: 2 }])
    expect(await corpus.search('tides')).toMatchObject([{ page: 2, text: 'Second page about tides.' }])
  })

  it.each([
    '<!doctype html>\n<html lang="en"><head><title>Kelp</title></head><body><p>TEXT</p></body></html>',
    '<!-- kept -->\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><html><body>TEXT',
    '<!doctype html><p>TEXT',
    'TEXT <!doctype html>',
  ])('reads the text of %j', async (html) => {
    const corpus = await filled()
    const { added, skipped } = await corpus.add([
      { source: 'kelp.html', content: html.replace('TEXT', KELP) },
    ])
    expect(skipped).toEqual([])
    expect((await corpus.passage(`${added[0]?.id}-1`))?.text).toBe(KELP)
  })

  it('reads files and folders, and says what it skips', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'deep/.hidden'), { recursive: true })
    writeFileSync(join(folder, 'a.txt'), KELP)
    writeFileSync(
      join(folder, 'deep/b.html'),
      `<title>Tide</title><script>document.write("x")</script><p>${TIDE}`,
    )
    writeFileSync(join(folder, 'deep/c.png'), 'no document')
    writeFileSync(join(folder, 'deep/.hidden/d.txt'), 'secret')
    writeFileSync(join(folder, 'e.md'), '')
    const corpus = openCorpus()
    const progress: string[] = []
    const report = await corpus.add(
      [folder, ...['deep/c.png', 'none.pdf', 'none'].map((name) => join(folder, name))],
      {
        onProgress: ({ done, total }) => progress.push(`${done}/${total}`),
      },
    )
    expect(report.added.map(({ source, title }) => [source, title])).toEqual([
      [join(folder, 'a.txt'), 'a.txt'],
      [join(folder, 'deep/b.html'), 'Tide'],
    ])
    expect(report.skipped).toEqual([
      { source: join(folder, 'e.md'), code: 'no-text', reason: 'The file is empty.' },
      {
        source: join(folder, 'deep/c.png'),
        code: 'unsupported',
        reason: expect.stringMatching(/^Files ending in \.png are not read\. Formats are pdf, docx, html/),
      },
      { source: join(folder, 'none.pdf'), code: 'unreadable', reason: 'There is no such file.' },
      { source: join(folder, 'none'), code: 'unreadable', reason: 'There is no such file.' },
    ])
    expect(progress).toEqual(['0/6', '1/6', '2/6', '3/6', '4/6', '5/6', '6/6'])
  })

  it.skipIf(process.platform === 'win32')('says which folders may not be read', async () => {
    const folder = temporaryFolder()
    const closed = join(folder, 'closed')
    mkdirSync(closed)
    writeFileSync(join(folder, 'a.txt'), KELP)
    writeFileSync(join(closed, 'b.txt'), TIDE)
    chmodSync(folder, 0o755)
    chmodSync(closed, 0)
    const corpus = openCorpus()
    await withoutPrivileges(async () => {
      const { added, skipped } = await corpus.add([folder])
      expect(added.map(({ source }) => source)).toEqual([join(folder, 'a.txt')])
      expect(skipped).toEqual([
        { source: closed, code: 'unreadable', reason: expect.stringContaining('permission denied') },
      ])
    })
    chmodSync(closed, 0o755)
  })

  it('leaves unchanged documents alone, and replaces changed ones', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'a.txt')
    writeFileSync(path, KELP)
    let parsed = 0
    const parser: Parser = {
      id: 'counting',
      extensions: ['txt'],
      parse: async ({ bytes }) => {
        parsed += 1
        return { pages: [new TextDecoder().decode(bytes)] }
      },
    }
    const corpus = openCorpus({ parsers: [parser] })
    const first = await corpus.add([path])
    const second = await corpus.add([path])
    expect([second.added, second.unchanged, parsed]).toEqual([
      [],
      [{ source: path, document: first.added[0] }],
      1,
    ])
    const passage = (await corpus.search('kelp'))[0]
    writeFileSync(path, TIDE)
    await corpus.add([path])
    expect(await found(corpus, 'kelp')).toEqual([])
    expect(await found(corpus, 'tide')).toEqual([path])
    expect(await corpus.passage(passage?.id ?? '')).toBeUndefined()
    expect(await corpus.documents()).toHaveLength(1)
  })

  it('keeps one copy of the same content, follows a moved file, and forgets what a source had before', async () => {
    const folder = temporaryFolder()
    const [one, two] = [join(folder, '1.txt'), join(folder, '2.txt')]
    writeFileSync(one, KELP)
    writeFileSync(two, KELP)
    const corpus = openCorpus()
    const { added, unchanged } = await corpus.add([folder])
    expect([added.length, unchanged.map(({ source }) => source)]).toEqual([1, [two]])
    rmSync(one)
    await corpus.add([folder])
    expect((await corpus.documents()).map(({ source }) => source)).toEqual([two])
    writeFileSync(one, TIDE)
    await corpus.add([folder])
    writeFileSync(one, KELP)
    await corpus.add([folder])
    expect((await corpus.documents()).map(({ source }) => source)).toEqual([two])
    expect(await found(corpus, 'tide')).toEqual([])
  })

  it('keeps content that one of two files still has when the other one changes, also when they swap', async () => {
    const folder = temporaryFolder()
    const [one, two] = [join(folder, '1.txt'), join(folder, '2.txt')]
    const corpus = openCorpus()
    const sources = async () =>
      Object.fromEntries((await corpus.documents()).map(({ source, id }) => [source, id]))
    writeFileSync(two, KELP)
    await corpus.add([folder])
    writeFileSync(one, KELP)
    await corpus.add([folder])
    writeFileSync(two, TIDE)
    const { added, unchanged } = await corpus.add([folder])
    expect([added.map(({ source }) => source), unchanged]).toEqual([[one, two], []])
    const before = await sources()
    expect(Object.keys(before)).toHaveLength(2)
    writeFileSync(one, TIDE)
    writeFileSync(two, KELP)
    await corpus.add([folder])
    expect(await sources()).toEqual({ [one]: before[two], [two]: before[one] })
  })

  it('keeps one copy of the same content with two endings, and reads it anew under another one', async () => {
    const folder = temporaryFolder()
    const [one, two] = [join(folder, '1.md'), join(folder, '2.txt')]
    writeFileSync(one, KELP)
    writeFileSync(two, KELP)
    const corpus = openCorpus()
    const first = await corpus.add([folder])
    expect([first.added.length, first.unchanged.map(({ source }) => source)]).toEqual([1, [two]])
    const second = await corpus.add([folder])
    expect([second.added, second.unchanged.map(({ document }) => document)]).toEqual([
      [],
      [first.added[0], first.added[0]],
    ])
    rmSync(one)
    const third = await corpus.add([folder])
    expect(third.added.map(({ source }) => source)).toEqual([two])
    expect(await corpus.documents()).toEqual(third.added)
  })

  it('recognises a document by a title with blanks, and takes the last of two contents of one source', async () => {
    const corpus = openCorpus()
    const titled = { source: 'a.txt', title: ' Kelp  and\nrock ', content: KELP }
    expect((await corpus.add([titled])).added).toMatchObject([{ title: 'Kelp and rock' }])
    expect((await corpus.add([titled])).added).toEqual([])
    const copy = { source: 'copy.txt', title: 'Another title', content: KELP }
    expect((await corpus.add([copy, titled])).added).toEqual([])
    expect((await corpus.add([{ ...titled, title: 'Rock' }])).added).toMatchObject([{ title: 'Rock' }])
    await corpus.add([
      { source: 'b.txt', content: MOORING },
      { source: 'b.txt', content: TIDE },
    ])
    expect(await found(corpus, 'tide')).toEqual(['b.txt'])
  })

  it.each([['papers/'], [['']], [[7]], [[{ source: 'a.txt' }]], [undefined]])(
    'refuses %j: it is no list of sources',
    async (sources) => {
      const adding = openCorpus().add(sources as readonly string[])
      await expect(adding).rejects.toMatchObject({ code: 'invalid-option' })
    },
  )

  it('reads a document again if the chunker or the parser is another one', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const source = { source: 'a.txt', content: `${KELP} ${TIDE}` }
    const before = openCorpus({}, path)
    await before.add([source])
    const halves = {
      id: 'halves',
      chunk: (page: string) => [
        { start: 0, end: page.length >> 1 },
        { start: page.length >> 1, end: page.length },
      ],
    }
    const after = openCorpus({ chunker: halves }, path)
    const { added } = await after.add([source])
    expect(added).toMatchObject([{ passages: 2 }])
    expect(await after.documents()).toHaveLength(1)
  })

  it('stops between two documents when it is aborted, and goes on later', async () => {
    const corpus = openCorpus()
    const sources = Array.from({ length: 6 }, (_, at) => ({ source: `${at}.txt`, content: `${KELP} ${at}` }))
    const controller = new AbortController()
    const adding = corpus.add(sources, {
      signal: controller.signal,
      onProgress: ({ done }) => done === 3 && controller.abort(new Error('enough')),
    })
    await expect(adding).rejects.toThrow('enough')
    const kept = (await corpus.documents()).length
    expect(kept).toBeGreaterThanOrEqual(3)
    expect(kept).toBeLessThan(6)
    const { added, unchanged } = await corpus.add(sources)
    expect([added.length, unchanged.length]).toEqual([6 - kept, kept])
  })

  it.each([undefined, {}, { pages: 'text' }, { pages: [7] }, { pages: ['x'], title: 7 }])(
    'names a parser that returns %j',
    async (parsed) => {
      const parser = { id: 'own-1', extensions: ['own'], parse: async () => parsed as never }
      const corpus = openCorpus({ parsers: [parser] })
      await expect(corpus.add([{ source: 'a.own', content: 'x' }])).rejects.toMatchObject({
        code: 'option-failed',
        message:
          'The parser "own-1" must return { pages }, with the text of each page, and a title as text, if there is one.',
      })
    },
  )

  it('reads all of a Markdown text that begins with a rule, and leaves out metadata alone', async () => {
    const corpus = openCorpus()
    const { added } = await corpus.add([
      { source: 'rule.md', content: `---\n\n${KELP}\n\n---\n\n${TIDE}` },
      { source: 'metadata.md', content: `---\ntitle: Moorings\nauthor: Petrel\n---\n${MOORING}` },
    ])
    expect(added.map(({ title }) => title)).toEqual(['rule.md', 'Moorings'])
    expect(await found(corpus, 'kelp holdfast')).toEqual(['rule.md'])
    expect(await found(corpus, 'petrel')).toEqual([])
  })

  it('reports the errors of a parser by their code', async () => {
    const parser = (error: Error): Parser => ({
      id: 'own',
      extensions: ['own'],
      parse: async () => {
        throw error
      },
    })
    const source = { source: 'a.own', content: 'x' }
    const own = openCorpus({ parsers: [parser(new DocumentError('encrypted', 'Locked.'))] })
    expect((await own.add([source])).skipped).toEqual([
      { source: 'a.own', code: 'encrypted', reason: 'Locked.' },
    ])
    const other = openCorpus({ parsers: [parser(new TypeError('x is undefined'))] })
    expect((await other.add([source])).skipped).toEqual([
      { source: 'a.own', code: 'malformed', reason: 'The document cannot be read: x is undefined' },
    ])
  })
})

it('a removed document is not found any more', async () => {
  const corpus = await filled()
  const [kelp] = await corpus.documents()
  expect(await corpus.remove(kelp?.id ?? '')).toEqual(kelp)
  expect(await corpus.remove(kelp?.id ?? '')).toBeUndefined()
  expect(await found(corpus, 'kelp', { minScore: 0 })).toEqual([])
  expect(await corpus.documents()).toHaveLength(2)
})

describe('a document that takes too much', () => {
  it('is skipped when its time is over, and the next one is read', async () => {
    const corpus = openCorpus({ limits: { timeoutMs: 1 } })
    const { skipped } = await corpus.add([{ source: 'slow.html', content: '<p>Hello' }])
    expect(skipped).toMatchObject([
      { code: 'too-slow', reason: 'Reading the document takes more than 1 ms.' },
    ])
    expect((await corpus.add([{ source: 'quick.txt', content: KELP }])).added).toHaveLength(1)
  })

  it('is left when the call is aborted', async () => {
    const corpus = openCorpus()
    const controller = new AbortController()
    const adding = corpus.add([{ source: 'deep.html', content: '<div>'.repeat(100_000) }], {
      signal: controller.signal,
      onProgress: () => setImmediate(() => controller.abort(new Error('enough'))),
    })
    await expect(adding).rejects.toThrow('enough')
    expect((await corpus.add([{ source: 'good.html', content: `<p>${KELP}` }])).added).toHaveLength(1)
  })

  it('is not waited for by an aborted call', async () => {
    const corpus = openCorpus()
    const slow = new AbortController()
    const first = corpus.add([{ source: 'deep.html', content: '<div>'.repeat(100_000) }], {
      signal: slow.signal,
    })
    const isFirstEnded = vi.fn<() => void>()
    void first.catch(() => undefined).then(isFirstEnded)
    const second = new AbortController()
    const waiting = corpus.add([{ source: 'good.html', content: `<p>${KELP}` }], {
      signal: second.signal,
      onProgress: () => setImmediate(() => second.abort(new Error('enough'))),
    })
    await expect(waiting).rejects.toThrow('enough')
    expect(isFirstEnded).not.toHaveBeenCalled()
    slow.abort(new Error('over'))
    await expect(first).rejects.toThrow('over')
  })

  it('of Word is measured by its text, not by its styles', async () => {
    const corpus = openCorpus({ limits: { characters: 100 } })
    const styles = `<w:styles ${WORD}>${'<w:style w:styleId="plain"/>'.repeat(1000)}</w:styles>`
    const wordFile = (text: string): Buffer =>
      zipOf([...docxParts(bodyXml(paragraph(text))), { name: 'word/styles.xml', content: styles }])
    const { added, skipped } = await corpus.add([
      { source: 'short.docx', content: wordFile(KELP) },
      { source: 'long.docx', content: wordFile(KELP.repeat(2)) },
    ])
    expect(added.map(({ source }) => source)).toEqual(['short.docx'])
    expect(skipped.map(({ reason }) => reason)).toEqual(['The document has more than 100 characters.'])
  })

  it('may be over a limit of bytes, characters or pages', async () => {
    const add = async (limits: object, source: string, content: string | Uint8Array) =>
      (await openCorpus({ limits }).add([{ source, content }])).skipped[0]
    expect(await add({ bytes: 10 }, 'a.txt', KELP)).toMatchObject({
      code: 'too-large',
      reason: expect.stringMatching(/limit is 10\.$/),
    })
    expect(await add({ characters: 10 }, 'a.txt', KELP)).toMatchObject({
      code: 'too-large',
      reason: 'The document has more than 10 characters.',
    })
    expect(await add({ pages: 1 }, 'a.pdf', await pdfOf(['one', 'two']))).toMatchObject({
      code: 'too-large',
      reason: 'The document has more than 1 page.',
    })
  })
})
