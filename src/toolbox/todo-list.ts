/** `write_todo_list` and `read_todo_list`: a numbered checklist, kept as an artifact of the conversation. */
import { type Json, type JsonObject, quote } from '../protocol/index.ts'
import { type Artifacts, controlTool, defineTool, jsonSchema, type Tool } from '../tool/index.ts'
import { storedContent } from './stored-content.ts'

/** The id of the artifact. Each write that changes the list makes a version. */
export const TODO_ARTIFACT = 'todo-list'

export interface TodoItem {
  readonly text: string
  readonly done: boolean
}

const MOST_ITEMS = 200

const WRITE: JsonObject = {
  type: 'object',
  properties: {
    content: {
      type: 'string',
      maxLength: 50_000,
      description:
        'The whole list, one item in each line, numbered from 1: "1. [ ] Open item" or "1. [x] Done item".',
    },
  },
  required: ['content'],
  additionalProperties: false,
}

const READ: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

export function writeTodoList(): Tool {
  return controlTool(
    defineTool({
      name: 'write_todo_list',
      description:
        'Writes the todo list of this conversation: replaces it as a whole. Write it when you have a plan, work through it in order, and write it again when an item is done or the plan changes.',
      input: jsonSchema<{ readonly content: string }>(WRITE),
      replay: 'safe',
      exclusive: true,
      run: async ({ content }, { artifacts }) => {
        const items = parseTodoList(content)
        const before = await storedItems(artifacts)
        if (JSON.stringify(before) !== JSON.stringify(items))
          await artifacts.writeData(TODO_ARTIFACT, { items: items as unknown as Json }, { name: 'Todo list' })
        return summaryOf(items)
      },
      display: ({ list }) => list,
    }),
  )
}

export function readTodoList(): Tool {
  return controlTool(
    defineTool({
      name: 'read_todo_list',
      description: 'Reads the todo list of this conversation: which items are done, and which are open.',
      input: jsonSchema<Record<string, never>>(READ),
      replay: 'safe',
      run: async (_, { artifacts }) => {
        const items = await storedItems(artifacts)
        return items === undefined
          ? {
              list: '',
              done: 0,
              open: 0,
              notice: 'There is no todo list yet. Write one with write_todo_list.',
            }
          : summaryOf(items)
      },
      display: ({ list }) => list,
    }),
  )
}

interface TodoSummary {
  /** The list as it is written. */
  readonly list: string
  readonly done: number
  readonly open: number
  readonly notice?: string
}

function summaryOf(items: readonly TodoItem[]): TodoSummary {
  const list = items.map(({ text, done }, index) => `${index + 1}. [${done ? 'x' : ' '}] ${text}`).join('\n')
  const done = items.filter((item) => item.done).length
  return { list, done, open: items.length - done }
}

const ITEM = /^(\d+)[.)] \[([ xX])\] (.+)$/

/** Throws for anything that is no numbered checklist, and names the line. An empty content is an empty list. */
function parseTodoList(content: string): readonly TodoItem[] {
  const lines = content
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (lines.length > MOST_ITEMS)
    throw new Error(`The list has ${lines.length} items, and at most ${MOST_ITEMS} are allowed. Join some.`)
  return lines.map((line, index) => {
    const expected = index + 1
    const [, number, box, text] = ITEM.exec(line) ?? []
    if (number === undefined || text === undefined)
      throw new Error(
        `Line ${expected}, ${quote(line)}, is no item. Write "${expected}. [ ] …", or "${expected}. [x] …" if it is done, one item in each line.`,
      )
    if (Number(number) !== expected)
      throw new Error(
        `Item ${expected} has the number ${number}. Number the items 1, 2, 3 … in the order of the list, without gaps.`,
      )
    return { text, done: box !== ' ' }
  })
}

async function storedItems(artifacts: Pick<Artifacts, 'read'>): Promise<readonly TodoItem[] | undefined> {
  const content = await storedContent(artifacts, TODO_ARTIFACT)
  return (content as { readonly items?: readonly TodoItem[] } | undefined)?.items
}
