/**
 * The database of a building firm: projects, their tasks and documents, in one SQLite file. An empty file is filled with
 * sample data on first use, the same every time.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface ProjectRow {
  readonly id: string
  readonly name: string
  readonly town: string
}

export interface TaskRow {
  readonly id: string
  readonly projectId: string
  readonly title: string
  readonly status: string
}

export interface DocumentRow {
  readonly id: string
  readonly projectId: string
  readonly title: string
}

export const STATUSES = ['open', 'in progress', 'done'] as const
export type Status = (typeof STATUSES)[number]

export interface SiteDatabase {
  readonly projects: () => ProjectRow[]
  readonly project: (id: string) => ProjectRow | undefined
  readonly tasks: (projectId: string, status?: Status) => TaskRow[]
  readonly task: (id: string) => TaskRow | undefined
  readonly setStatus: (taskId: string, status: Status) => void
  readonly documents: (projectId: string) => DocumentRow[]
  readonly close: () => void
}

/** `:memory:` is a database that ends with the process. */
export function openSite(path: string): SiteDatabase {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec(SCHEMA)
  fill(db)
  return {
    projects: () => rows<ProjectRow>(db, 'SELECT id, name, town FROM project ORDER BY place'),
    project: (id) => rows<ProjectRow>(db, 'SELECT id, name, town FROM project WHERE id = ?', id)[0],
    tasks: (projectId, status) =>
      rows<TaskRow>(db, `${TASKS} WHERE projectId = ? ORDER BY place`, projectId).filter(
        (task) => status === undefined || task.status === status,
      ),
    task: (id) => rows<TaskRow>(db, `${TASKS} WHERE id = ?`, id)[0],
    setStatus: (taskId, status) => {
      db.prepare('UPDATE task SET status = ? WHERE id = ?').run(status, taskId)
    },
    documents: (projectId) =>
      rows<DocumentRow>(
        db,
        'SELECT id, projectId, title FROM document WHERE projectId = ? ORDER BY place',
        projectId,
      ),
    close: () => db.close(),
  }
}

const TASKS = 'SELECT id, projectId, title, status FROM task'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS project (id TEXT PRIMARY KEY, place INTEGER, name TEXT, town TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS task
    (id TEXT PRIMARY KEY, place INTEGER, projectId TEXT REFERENCES project, title TEXT, status TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS document
    (id TEXT PRIMARY KEY, place INTEGER, projectId TEXT REFERENCES project, title TEXT) STRICT;`

function rows<Row>(db: DatabaseSync, sql: string, ...values: readonly string[]): Row[] {
  return db.prepare(sql).all(...values) as unknown as Row[]
}

interface Sample {
  readonly project: ProjectRow
  readonly tasks: readonly (readonly [id: string, title: string, status: Status])[]
  readonly documents: readonly (readonly [id: string, title: string])[]
}

/** Two projects have the same name and differ in their town. */
const SAMPLES: readonly Sample[] = [
  {
    project: { id: 'prj-7k2d', name: 'Champigny', town: 'Champigny-sur-Marne' },
    tasks: [
      ['tsk-81qa', 'Installation électrique', 'in progress'],
      ['tsk-p40x', 'Peinture', 'open'],
      ['tsk-3vn9', 'Pose des fenêtres', 'open'],
      ['tsk-m6ts', 'Fondations', 'done'],
    ],
    documents: [
      ['doc-c1f8', 'Permis de construire'],
      ['doc-w92k', 'Plan électrique'],
    ],
  },
  {
    project: { id: 'prj-b3m9', name: 'Bureau', town: 'Lyon' },
    tasks: [
      ['tsk-6hd2', 'Cloisons', 'open'],
      ['tsk-z5r7', 'Climatisation', 'in progress'],
    ],
    documents: [['doc-e44p', 'Devis des cloisons']],
  },
  {
    project: { id: 'prj-x8c4', name: 'Levallois', town: 'Levallois-Perret' },
    tasks: [
      ['tsk-1gf6', 'Toiture', 'open'],
      ['tsk-u7w3', 'Ravalement', 'open'],
    ],
    documents: [['doc-j05s', 'Rapport de visite']],
  },
  {
    project: { id: 'prj-f51t', name: 'Les Tilleuls', town: 'Lyon' },
    tasks: [
      ['tsk-q2e8', 'Terrassement', 'done'],
      ['tsk-y9b1', 'Charpente', 'open'],
    ],
    documents: [],
  },
  {
    project: { id: 'prj-n06w', name: 'Les Tilleuls', town: 'Nantes' },
    tasks: [['tsk-k3a5', 'Plomberie', 'in progress']],
    documents: [['doc-r7d2', 'Plan du jardin']],
  },
]

function fill(db: DatabaseSync): void {
  const project = db.prepare('INSERT OR IGNORE INTO project VALUES (?, ?, ?, ?)')
  const task = db.prepare('INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?, ?)')
  const document = db.prepare('INSERT OR IGNORE INTO document VALUES (?, ?, ?, ?)')
  // Two processes may open a new file at once: the second finds the rows of the first.
  db.exec('BEGIN IMMEDIATE')
  for (const [place, sample] of SAMPLES.entries()) {
    const { id, name, town } = sample.project
    project.run(id, place, name, town)
    for (const [at, [taskId, title, status]] of sample.tasks.entries())
      task.run(taskId, at, id, title, status)
    for (const [at, [documentId, title]] of sample.documents.entries())
      document.run(documentId, at, id, title)
  }
  db.exec('COMMIT')
}
