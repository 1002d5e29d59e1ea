/** Opens the file of a corpus, and creates its tables in a new one. A file of another kind or version is left as it is. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HoldfastError } from '../../protocol/index.ts'
import { indexText } from '../search-text.ts'
import { foreignFile, isNotWritable, noFolder, otherVersion, translate, unreadLog } from './corpus-errors.ts'
import { type DatabaseSync, loadSqlite } from './node-sqlite.ts'

export interface OpenOptions {
  readonly readOnly: boolean
  /** Timeout for other processes. */
  readonly busyMs: number
  /** Lets a connection load sqlite-vec. */
  readonly allowExtension: boolean
}

/** "HDFC": the application id of our files. */
const APPLICATION_ID = 0x48444643
/** Since 2, marks are part of the words of the index, as vowel signs of Indic scripts are. */
const VERSION = 2

/** Holds no text of its own: passages are indexed in the form of `indexText`, and read from their table. */
const INDEX = `
  CREATE VIRTUAL TABLE passage_text USING fts5(
    text, title, content = '', contentless_delete = 1,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
  );
`

const TABLES = `
  CREATE TABLE document (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, source TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL, pages INTEGER NOT NULL, passages INTEGER NOT NULL, recipe TEXT NOT NULL,
    added_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE passage (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL, page INTEGER NOT NULL,
    start_at INTEGER NOT NULL, end_at INTEGER NOT NULL, text TEXT NOT NULL,
    UNIQUE (document, number)
  ) STRICT;
  CREATE TABLE vector (passage INTEGER PRIMARY KEY, model TEXT NOT NULL, data BLOB NOT NULL) STRICT;
  ${INDEX}
`

export interface OpenedCorpus {
  readonly db: DatabaseSync
  /** The state of a file that is read as immutable: once the file has another, the connection must not be used. */
  readonly state?: string
}

export function openCorpus(path: string, options: OpenOptions): OpenedCorpus {
  checkPath(path, options)
  try {
    return options.readOnly ? openToRead(path, options) : { db: openToWrite(path, options) }
  } catch (error) {
    throw translate(error, path)
  }
}

function openToWrite(path: string, options: OpenOptions): DatabaseSync {
  makeFolder(path)
  return opened(path, options, (db) => {
    const version = versionOf(db, path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    if (version < VERSION) makeCurrent(db, path)
  })
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
  } catch (error) {
    throw noFolder(path, error)
  }
}

/**
 * SQLite creates a small file beside the database to read it. Where it may not, and there is no log, no process is writing
 * now, and the file can be read as immutable.
 */
function openToRead(path: string, options: OpenOptions): OpenedCorpus {
  const check = (db: DatabaseSync): void => {
    if (versionOf(db, path) === 0) throw foreignFile(path)
  }
  try {
    return { db: opened(path, options, check) }
  } catch (error) {
    if (!isNotWritable(error)) throw error
    if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw unreadLog(path)
    const state = fileState(path)
    return { db: opened(`${pathToFileURL(path).href}?immutable=1`, options, check), state }
  }
}

/** Another one if another file is at the path, or none; undefined where this user may not look. */
export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {}
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}

/** Another one after every change of the file. */
export function fileState(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {}
  return `${ino} ${size} ${mtimeNs}`
}

/** A connection that has passed a check. */
function opened(
  path: string,
  { readOnly, busyMs, allowExtension }: OpenOptions,
  check: (db: DatabaseSync) => void,
): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const db = new DatabaseSync(path, { timeout: busyMs, readOnly, allowExtension })
  try {
    check(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function checkPath(path: unknown, { readOnly }: OpenOptions): void {
  if (typeof path !== 'string' || path.trim() === '' || path.includes('\0') || path.startsWith('file:'))
    throw new HoldfastError('invalid-option', {
      message: 'A corpus needs the plain path of a file.',
      details: { option: 'path' },
    })
  if (existsSync(path) && !statSync(path).isFile())
    throw new HoldfastError('store-failed', {
      message: `${path} is no regular file. Give the path of a file.`,
      details: { path },
    })
  if (readOnly && !existsSync(path))
    throw new HoldfastError('not-found', {
      message: `There is no corpus at ${path}. Add documents first: holdfast research add FILES.`,
      details: { path },
    })
}

/** 0 for a file without tables, which is new. One statement, so one snapshot. */
function versionOf(db: DatabaseSync, path: string): number {
  const { application, version, tables } = db
    .prepare(
      'SELECT (SELECT application_id FROM pragma_application_id) AS application, (SELECT user_version FROM pragma_user_version) AS version, (SELECT count(*) FROM sqlite_schema) AS tables',
    )
    .get() as { application: number; version: number; tables: number }
  if (tables === 0 && application === 0) return 0
  if (application !== APPLICATION_ID) throw foreignFile(path)
  if (version < 1 || version > VERSION) throw otherVersion(path, version, VERSION)
  return version
}

/** Creates the tables, or the index of an older file anew. Another process may have done it meanwhile. */
function makeCurrent(db: DatabaseSync, path: string): void {
  inTransaction(db, () => {
    const version = versionOf(db, path)
    if (version === VERSION) return
    if (version === 0) db.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID}`)
    else indexAgain(db)
    db.exec(`PRAGMA user_version = ${VERSION}`)
  })
}

function indexAgain(db: DatabaseSync): void {
  db.exec(`DROP TABLE passage_text; ${INDEX}`)
  const passages = db.prepare(
    'SELECT p.id, p.text, d.title FROM passage p JOIN document d ON d.id = p.document',
  )
  const add = db.prepare('INSERT INTO passage_text (rowid, text, title) VALUES (?, ?, ?)')
  for (const { id, text, title } of passages.iterate() as Iterable<{
    id: number
    text: string
    title: string
  }>)
    add.run(id, indexText(text), indexText(title))
}

/** Holds the write lock from its start, so that its reads stay true. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  return runBetween(db, 'BEGIN IMMEDIATE', work)
}

/** All reads see one state of the file: another process may replace a passage and give its number to another one. */
export function inSnapshot<T>(db: DatabaseSync, work: () => T): T {
  return runBetween(db, 'BEGIN', work)
}

function runBetween<T>(db: DatabaseSync, begin: string, work: () => T): T {
  db.exec(begin)
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
