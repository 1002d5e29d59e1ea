/** The file of a corpus: who may open it, its versions, and what its end leaves behind. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import type { EmbeddingModel } from '../../src/corpus/embedding.ts'
import { DocumentError, type Parser } from '../../src/corpus/parser.ts'
import { gate } from '../turn/kit.ts'
import { filled, found, KELP, openCorpus, TIDE, temporaryFolder, withoutPrivileges } from './kit.ts'

describe('the file', () => {
  it('is shared by several connections', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const [one, two] = [openCorpus({}, path), openCorpus({}, path)]
    await Promise.all([
      one.add([{ source: 'kelp.txt', content: KELP }]),
      two.add([{ source: 'tide.txt', content: TIDE }]),
      two.add([{ source: 'kelp.txt', content: KELP }]),
    ])
    expect(await found(one, 'tide')).toEqual(['tide.txt'])
    expect(await found(two, 'kelp')).toEqual(['kelp.txt'])
  })

  it('is searched in one state, whatever another connection writes meanwhile', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const corpus = openCorpus({}, path)
    await corpus.add([{ source: 'a.txt', content: KELP }])
    const other = new DatabaseSync(path)
    const searching = corpus.search('kelp holdfast')
    // As if the document was replaced: the number of a removed passage is given to a new one.
    other.prepare('UPDATE passage SET text = ?').run(TIDE)
    other.exec('DELETE FROM passage_text')
    other.prepare("INSERT INTO passage_text (rowid, text, title) VALUES (1, ?, '')").run(TIDE)
    other.close()
    expect((await searching).map(({ text }) => text)).not.toContain(TIDE)
    expect(await found(corpus, 'tide gauge')).toEqual(['a.txt'])
  })

  it.skipIf(process.platform === 'win32')(
    'that is deleted and made anew is the new one for all that have the old one open',
    async () => {
      const path = join(temporaryFolder(), 'corpus.db')
      const [writer, reader] = [openCorpus({}, path), openCorpus({}, path)]
      await writer.add([{ source: 'kelp.txt', content: KELP }])
      expect(await found(reader, 'kelp')).toEqual(['kelp.txt'])
      for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file)
      const fresh = openCorpus({}, path)
      const { added } = await writer.add([{ source: 'tide.txt', content: TIDE }])
      expect(added).toHaveLength(1)
      for (const corpus of [writer, reader, fresh]) {
        expect(await found(corpus, 'tide')).toEqual(['tide.txt'])
        expect(await found(corpus, 'kelp')).toEqual([])
      }
      await fresh.add([{ source: 'kelp.txt', content: KELP }])
      for (const corpus of [writer, reader]) await corpus.close()
      expect(await found(openCorpus({ readOnly: true }, path), 'kelp')).toEqual(['kelp.txt'])
    },
  )

  it.skipIf(process.platform === 'win32')('may be replaced while a call waits for the model', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    const [asked, answer] = [gate(), gate()]
    const embedding: EmbeddingModel = {
      ...{ provider: 'test', modelId: 'slow' },
      doEmbed: async ({ values }) => {
        asked.resolve()
        await answer.promise
        return { embeddings: values.map(() => [1, 0]) }
      },
    }
    const corpus = openCorpus({ embedding }, path)
    const adding = corpus.add([{ source: 'kelp.txt', content: KELP }])
    await asked.promise
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file)
    expect(await corpus.documents()).toEqual([])
    answer.resolve()
    expect((await adding).added).toHaveLength(1)
  })

  it('may be opened for reading only, if it is there', async () => {
    const path = join(temporaryFolder(), 'corpus.db')
    expect(() => openCorpus({ readOnly: true }, path)).toThrow('There is no corpus at')
    const corpus = openCorpus({}, path)
    await corpus.add([{ source: 'kelp.txt', content: KELP }])
    const reader = openCorpus({ readOnly: true }, path)
    expect(await found(reader, 'kelp')).toEqual(['kelp.txt'])
    await expect(reader.add([{ source: 'tide.txt', content: TIDE }])).rejects.toMatchObject({
      code: 'store-read-only',
    })
  })

  it.skipIf(process.platform === 'win32')(
    'may be read where nothing may be written, with documents that another process adds',
    async () => {
      const folder = temporaryFolder()
      const path = join(folder, 'corpus.db')
      const corpus = openCorpus({}, path)
      await corpus.add([{ source: 'kelp.txt', content: KELP }])
      await corpus.close()
      chmodSync(folder, 0o555)
      const openToRead = async () => openCorpus({ readOnly: true }, path)
      const reader = await withoutPrivileges(openToRead)
      expect(await withoutPrivileges(() => found(reader, 'kelp'))).toEqual(['kelp.txt'])
      chmodSync(folder, 0o755)
      const writer = openCorpus({}, path)
      await writer.add([{ source: 'tide.txt', content: TIDE }])
      await writer.close()
      chmodSync(folder, 0o555)
      expect(await withoutPrivileges(() => found(reader, 'tide'))).toEqual(['tide.txt'])
      writeFileSync(`${path}-wal`, 'entries of a process that died')
      await withoutPrivileges(async () => {
        expect(() => openCorpus({ readOnly: true }, path)).toThrow('Open it once with write access')
      })
      chmodSync(folder, 0o755)
    },
  )

  it('takes folders with more files than the stack has room for', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'below'))
    for (let at = 0; at < 15_000; at++) writeFileSync(join(folder, 'below', `${at}.txt`), '')
    const code = `import { findSources } from ${JSON.stringify(resolve('src/corpus/sources.ts'))}
      const options = { extensions: new Set(['txt']), limits: {} }
      console.log((await findSources([${JSON.stringify(folder)}], options)).length)`
    const args = ['--stack-size=100', '--input-type=module', '--eval', code]
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).toBe('15000\n')
  })

  it('of another kind or version is refused and left as it is', async () => {
    const folder = temporaryFolder()
    const foreign = join(folder, 'foreign.db')
    new DatabaseSync(foreign).exec('CREATE TABLE mine (a)')
    expect(() => openCorpus({}, foreign)).toThrow('is a SQLite database, but no corpus of Holdfast')
    const text = join(folder, 'text.db')
    writeFileSync(text, 'This is a text and no database. '.repeat(100))
    expect(() => openCorpus({}, text)).toThrow('is no SQLite database')
    const newer = join(folder, 'newer.db')
    await openCorpus({}, newer).close()
    const db = new DatabaseSync(newer)
    db.exec('PRAGMA user_version = 3')
    db.close()
    expect(() => openCorpus({}, newer)).toThrow(
      'has version 3 of the corpus format, and this Holdfast knows version 2',
    )
    expect(() => openCorpus({}, folder)).toThrow('is no regular file')
    expect(() => openCorpus({}, '')).toThrow('needs the plain path of a file')
  })

  it('of version 1 is indexed again when it is opened to write, and can be read before', async () => {
    const path = join(temporaryFolder(), 'old.db')
    const texts = ['The kelp is brown.', 'x दिन y', 'x άνθρωπος y']
    const fresh = openCorpus({}, path)
    await fresh.add(texts.map((content, at) => ({ source: `${at}.txt`, title: `Title${at}`, content })))
    await fresh.close()
    const db = new DatabaseSync(path)
    db.exec(
      `DROP TABLE passage_text;
       CREATE VIRTUAL TABLE passage_text USING fts5(
         text, title, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
       );
       INSERT INTO passage_text (rowid, text, title)
         SELECT p.id, p.text, d.title FROM passage p JOIN document d ON d.id = p.document;
       PRAGMA user_version = 1`,
    )
    db.close()
    const reader = openCorpus({ readOnly: true }, path)
    expect(await found(reader, 'kelp')).toEqual(['0.txt'])
    expect(await found(reader, 'दान')).toEqual(['1.txt'])
    await reader.close()
    const corpus = openCorpus({}, path)
    expect(await found(corpus, 'kelp')).toEqual(['0.txt'])
    expect(await found(corpus, 'title2')).toEqual(['2.txt'])
    expect(await found(corpus, 'दान')).toEqual([])
    expect(await found(corpus, 'दिन')).toEqual(['1.txt'])
    expect(await found(corpus, 'ΑΝΘΡΩΠΟΣ')).toEqual(['2.txt'])
  })

  it('cannot be used after it was closed', async () => {
    const corpus = await filled()
    await corpus.close()
    await corpus.close()
    await expect(corpus.search('kelp')).rejects.toMatchObject({ code: 'store-closed' })
  })

  it('that is closed while documents are added says so', async () => {
    let [reached, held] = [gate(), gate()]
    const wait = async (): Promise<void> => {
      reached.resolve()
      await held.promise
    }
    const parser: Parser = {
      id: 'held',
      extensions: ['txt'],
      parse: async () => {
        await wait()
        throw new DocumentError('too-complex', 'It ended.')
      },
    }
    const embedding: EmbeddingModel = {
      ...{ provider: 'test', modelId: 'held' },
      doEmbed: async ({ values }) => {
        await wait()
        return { embeddings: values.map(() => [1]) }
      },
    }
    for (const [options, source] of [
      [{ parsers: [parser] }, 'a.txt'],
      [{ embedding }, 'a.md'],
    ] as const) {
      ;[reached, held] = [gate(), gate()]
      const corpus = openCorpus(options)
      const adding = corpus.add([{ source, content: KELP }])
      await reached.promise
      await corpus.close()
      held.resolve()
      await expect(adding).rejects.toMatchObject({ code: 'store-closed' })
    }
  })

  it('leaves no process behind when it is closed while documents wait', async () => {
    const started: ChildProcess[] = []
    const closing: Promise<void>[] = []
    const corpus = openCorpus()
    const listener = (message: unknown): void => {
      started.push((message as { readonly process: ChildProcess }).process)
      closing.push(corpus.close())
    }
    subscribe('child_process', listener)
    const adding = ['a.html', 'b.html'].map((source) => corpus.add([{ source, content: `<p>${source}` }]))
    await Promise.all(adding.map((each) => expect(each).rejects.toMatchObject({ code: 'store-closed' })))
    unsubscribe('child_process', listener)
    await Promise.all(closing)
    expect(started.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
  })

  it('has options with names that are checked', () => {
    expect(() => openCorpus({ readonly: true } as never)).toThrow('Did you mean readOnly?')
    expect(() => openCorpus({ limits: { byte: 1 } as never })).toThrow('Did you mean bytes?')
  })
})
