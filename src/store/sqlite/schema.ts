/**
 * The schema of the database file, and the migrations of older files. A migration is one transaction; a newer file, or
 * one of another application, is left untouched.
 */
import { HoldfastError } from '../../protocol/index.ts'
import { DatabaseSync } from './node-sqlite.ts'

/** "HDFT": the application id of our files. */
const APPLICATION_ID = 0x48444654

export interface Migration {
  /** Runs inside a transaction and migrates the file from the previous version. */
  readonly up: string
}

/** One per version, the first one from an empty file. Released migrations are never edited. */
export const MIGRATIONS: readonly Migration[] = [
  {
    up: `
      CREATE TABLE context (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, actor TEXT NOT NULL, name TEXT NOT NULL,
        seq INTEGER NOT NULL, at INTEGER NOT NULL, turn INTEGER NOT NULL,
        status TEXT NOT NULL, outcome TEXT,
        epoch INTEGER NOT NULL, driver TEXT, renewed_at INTEGER, lease_ms INTEGER, claims INTEGER NOT NULL,
        wake_at INTEGER, pending INTEGER NOT NULL, base INTEGER NOT NULL,
        parent INTEGER, parent_kind TEXT, forked_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL, active_at INTEGER NOT NULL,
        derived_seq INTEGER NOT NULL, derived_by TEXT NOT NULL, crc INTEGER NOT NULL,
        UNIQUE (tenant, actor, name)
      ) STRICT;
      CREATE INDEX context_by_name ON context (name, actor, tenant);
      CREATE INDEX context_by_activity ON context (tenant, actor, active_at, id);
      CREATE INDEX context_by_status ON context (status, tenant, actor, active_at, id) WHERE status <> 'idle';
      CREATE INDEX context_by_parent ON context (parent, active_at, id) WHERE parent IS NOT NULL;
      CREATE INDEX context_pending ON context (active_at) WHERE pending > 0;
      CREATE INDEX context_wake ON context (wake_at) WHERE wake_at IS NOT NULL;

      CREATE TABLE entry (
        context INTEGER NOT NULL, seq INTEGER NOT NULL,
        turn INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL, v INTEGER NOT NULL,
        data TEXT NOT NULL, extra TEXT, crc INTEGER NOT NULL, append TEXT,
        PRIMARY KEY (context, seq)
      ) STRICT;

      CREATE TABLE inbox (
        context INTEGER NOT NULL, key TEXT NOT NULL,
        seq INTEGER NOT NULL, taken INTEGER NOT NULL, digest TEXT NOT NULL, crc INTEGER NOT NULL,
        PRIMARY KEY (context, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX inbox_pending ON inbox (context, seq) WHERE taken = 0;

      CREATE TABLE base (
        context INTEGER NOT NULL, up_to INTEGER NOT NULL, seq INTEGER NOT NULL, kept INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (context, up_to)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE blob (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, actor TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL,
        UNIQUE (tenant, actor, hash)
      ) STRICT;
      CREATE TABLE blob_use (
        context INTEGER NOT NULL, seq INTEGER NOT NULL, blob INTEGER NOT NULL,
        PRIMARY KEY (context, seq, blob)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX blob_use_by_blob ON blob_use (blob);

      CREATE TABLE derived (
        context INTEGER NOT NULL, idx TEXT NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, value TEXT NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (context, idx, key, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE snapshot (
        context INTEGER NOT NULL, seq INTEGER NOT NULL, format INTEGER NOT NULL, state TEXT NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (context, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE derived_upto (
        context INTEGER NOT NULL, idx TEXT NOT NULL, seq INTEGER NOT NULL, crc INTEGER NOT NULL,
        PRIMARY KEY (context, idx)
      ) STRICT, WITHOUT ROWID;
    `,
  },
]

export interface FileState {
  readonly version: number
  readonly empty: boolean
}

/** Reads without changes. Throws if the file is not ours to use. */
export function inspectFile(
  db: DatabaseSync,
  path: string,
  supported: number = MIGRATIONS.length,
): FileState {
  // One statement, so one snapshot: another process may be creating the file.
  const look =
    'SELECT (SELECT application_id FROM pragma_application_id) AS application, (SELECT user_version FROM pragma_user_version) AS version, NOT EXISTS (SELECT 1 FROM sqlite_schema) AS empty'
  const found = db.prepare(look).get() as { application: number; version: number; empty: number }
  const { application, version } = found
  const empty = found.empty === 1
  if (empty && application === 0) return { version: 0, empty }
  if (application !== APPLICATION_ID) throw foreign(path)
  if (version > supported) throw newer(path, version, supported)
  if (version < 1 || empty) throw damaged(path)
  return { version, empty }
}

/** Each of our tables and indexes must be unchanged; other ones are ignored. */
export function checkSchema(
  db: DatabaseSync,
  path: string,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const model = new DatabaseSync(':memory:')
  for (const { up } of migrations) model.exec(up)
  const [expected, found] = [schemaOf(model), new Set(schemaOf(db))]
  model.close()
  if (!expected.every((line) => found.has(line))) throw damaged(path)
}

/** Migrates the file to the newest version in one transaction. Safe for concurrent processes. */
export function migrate(db: DatabaseSync, path: string, migrations: readonly Migration[] = MIGRATIONS): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const { version } = inspectFile(db, path, migrations.length)
    for (const { up } of migrations.slice(version)) db.exec(up)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function schemaOf(db: DatabaseSync): string[] {
  const rows = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all()
  return rows.map((row) => JSON.stringify(Object.values(row)))
}

function damaged(path: string): HoldfastError {
  return new HoldfastError('store-corrupt', {
    message: `${path} is damaged: its tables are not those of its file format. It was left as it is: restore a backup, or copy what is intact into a new file with salvageSqlite() from holdfast/sqlite/repair.`,
    details: { path },
  })
}

function foreign(path: string): HoldfastError {
  return new HoldfastError('store-foreign', {
    message: `${path} is a SQLite database, but not one of Holdfast's. It was left as it is; choose another path.`,
    details: { path },
  })
}

function newer(path: string, version: number, supported: number): HoldfastError {
  return new HoldfastError('store-newer', {
    message: `${path} was written by a newer Holdfast (file format ${version}; this version knows up to ${supported}). It was left as it is; upgrade the holdfast package.`,
    details: { path, version, supported },
  })
}
