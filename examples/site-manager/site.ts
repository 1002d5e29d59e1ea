/**
 * The tools of a building firm's agent: list, find, choose and change. Ids of projects, tasks and documents are marked,
 * so that only ids that a tool has shown or a person has chosen reach the database.
 */
import { defineTool, type Tool } from 'holdfast'
import { type Entity, entity, lookupTool } from 'holdfast/grounding'
import { z } from 'zod'
import { type SiteDatabase, STATUSES } from './database.ts'

const project = entity('project', {
  ttl: '7h',
  scope: 'actor',
  pattern: /prj-[a-z0-9]{4}/,
  called: { fr: { one: 'projet', many: 'projets' } },
})
const task = entity('task', {
  parent: project,
  scope: 'actor',
  pattern: /tsk-[a-z0-9]{4}/,
  called: { fr: { one: 'tâche', many: 'tâches' } },
})
const document = entity('document', { parent: project, scope: 'actor', pattern: /doc-[a-z0-9]{4}/ })

export const entities: readonly Entity[] = [project, task, document]

const projectId = z.string().meta(project.id({ description: 'The id of the project' }))
const taskId = z.string().meta(task.id({ description: 'The id of the task' }))
const status = z.enum(STATUSES)

export function siteTools(db: SiteDatabase): readonly Tool[] {
  return [...projectTools(db), ...taskTools(db)] as readonly Tool[]
}

function projectTools(db: SiteDatabase): readonly unknown[] {
  const listProjects = defineTool({
    name: 'list_projects',
    description: 'Lists all projects of the firm.',
    input: z.object({}),
    replay: 'safe',
    run: () => db.projects(),
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name', detail: 'town' }),
    display: (rows) => numbered(rows.map(({ name, town }) => `${name} (${town})`)),
  })
  const findProject = lookupTool(project, () => db.projects(), {
    fields: { id: 'id', label: 'name', detail: 'town' },
  })
  const selectProject = defineTool({
    name: 'select_project',
    description: 'Selects the project that the following requests are about.',
    input: z.object({ projectId }),
    run: ({ projectId: id }) => known(db.project(id), id),
    selects: ({ id, name }) => [project.select(id, { label: name, by: 'person' })],
    display: ({ name, town }) => `${name} (${town})`,
  })
  const listDocuments = defineTool({
    name: 'list_documents',
    description: 'Lists the documents of a project.',
    input: z.object({ projectId }),
    replay: 'safe',
    run: ({ projectId: id }) => db.documents(id),
    returns: (rows) => document.rows(rows, { id: 'id', label: 'title', parent: 'projectId' }),
    display: (rows) => numbered(rows.map(({ title }) => title)),
  })
  return [listProjects, findProject, selectProject, listDocuments]
}

function taskTools(db: SiteDatabase): readonly unknown[] {
  const listTasks = defineTool({
    name: 'list_tasks',
    description: 'Lists the tasks of a project, all of them or those of one status.',
    input: z.object({ projectId, status: status.optional() }),
    replay: 'safe',
    run: ({ projectId: id, status: wanted }) => db.tasks(id, wanted),
    returns: (rows) => task.rows(rows, { id: 'id', label: 'title', parent: 'projectId' }),
    display: (rows) => numbered(rows.map((row) => `${row.title} · ${row.status}`)),
  })
  const selectTask = defineTool({
    name: 'select_task',
    description: 'Selects the task that the following requests are about.',
    input: z.object({ taskId }),
    run: ({ taskId: id }) => known(db.task(id), id),
    selects: (row) => [task.select(row.id, { label: row.title, parent: row.projectId, by: 'person' })],
    display: ({ title }) => title,
  })
  const updateTask = defineTool({
    name: 'update_task',
    description: 'Updates the status of a task.',
    input: z.object({ taskId, status }),
    replay: 'safe',
    run: ({ taskId: id, status: next }) => {
      db.setStatus(id, next)
      return known(db.task(id), id)
    },
    returns: (row) => task.rows([row], { id: 'id', label: 'title', parent: 'projectId' }),
    display: (row) => `${row.title} · ${row.status}`,
  })
  return [listTasks, selectTask, updateTask]
}

function numbered(lines: readonly string[]): string {
  return lines.length === 0 ? '—' : lines.map((line, at) => `${at + 1}. ${line}`).join('\n')
}

function known<Row>(row: Row | undefined, id: string): Row {
  if (row === undefined) throw new Error(`There is no ${id}.`)
  return row
}
