/** More sets of tools, in other domains than those of `sets.ts`: tickets, mail, files, and things to do. */
import { z } from 'zod'
import { defineTool } from '../../../src/index.ts'
import type { WordingSet } from './wording-set.ts'

const text = (description: string) => z.string().describe(description)

export function tickets(): WordingSet {
  const all = [
    { id: 'T-310', title: 'Printer on fire', status: 'open', priority: 'high', assignee: 'Lena' },
    { id: 'T-311', title: 'Slow VPN', status: 'open', priority: 'normal', assignee: null },
    { id: 'T-312', title: 'New badge for Omar', status: 'closed', priority: 'low', assignee: 'Lena' },
    { id: 'T-313', title: 'Broken screen', status: 'open', priority: 'normal', assignee: 'Omar' },
  ]
  const ticketId = text('The id of the ticket')
  const priority = z.enum(['low', 'normal', 'high'])
  return {
    looks: ['list_tickets', 'get_ticket'],
    tools: [
      defineTool({
        name: 'list_tickets',
        description: 'Lists the support tickets.',
        input: z.object({ status: z.enum(['open', 'closed']).optional(), priority: priority.optional() }),
        run: () => all,
      }),
      defineTool({
        name: 'get_ticket',
        description: 'Gets one ticket with its comments.',
        input: z.object({ ticketId }),
        run: ({ ticketId: id }) => all.find((ticket) => ticket.id === id) ?? null,
      }),
      defineTool({
        name: 'create_ticket',
        description: 'Opens a new ticket.',
        input: z.object({ title: text('What is wrong'), priority: priority.optional() }),
        run: (given) => given,
      }),
      defineTool({
        name: 'close_ticket',
        description: 'Closes a ticket.',
        input: z.object({ ticketId }),
        run: ({ ticketId: id }) => ({ closed: id }),
      }),
      defineTool({
        name: 'assign_ticket',
        description: 'Assigns a ticket to a person.',
        input: z.object({ ticketId, assignee: text('Who works on it') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'add_comment',
        description: 'Adds a comment to a ticket.',
        input: z.object({ ticketId, comment: text('The text of the comment') }),
        run: (given) => given,
      }),
    ],
  }
}

export function mail(): WordingSet {
  const messages = [
    { id: 501, from: 'Julie', subject: 'Quarterly report', unread: true },
    { id: 502, from: 'Marc', subject: 'Dinner on Sunday', unread: false },
    { id: 503, from: 'Newsletter', subject: 'Spring sale', unread: true },
  ]
  const messageId = z.number().int().describe('The id of the message')
  return {
    looks: ['list_messages', 'search_messages', 'read_message'],
    tools: [
      defineTool({
        name: 'list_messages',
        description: 'Lists the messages of the inbox.',
        input: z.object({ unreadOnly: z.boolean().describe('Only those that are not read yet').optional() }),
        run: () => messages,
      }),
      defineTool({
        name: 'search_messages',
        description: 'Searches messages by words.',
        input: z.object({ query: text('The words to look for') }),
        run: ({ query }) =>
          messages.filter(({ subject }) => subject.toLowerCase().includes(query.toLowerCase())),
      }),
      defineTool({
        name: 'read_message',
        description: 'Shows a message.',
        input: z.object({ messageId }),
        run: ({ messageId: id }) => messages.find((message) => message.id === id) ?? null,
      }),
      defineTool({
        name: 'reply_to_message',
        description: 'Replies to a message.',
        input: z.object({ messageId, body: text('The text of the reply') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'archive_message',
        description: 'Archives a message.',
        input: z.object({ messageId }),
        run: ({ messageId: id }) => ({ archived: id }),
      }),
      defineTool({
        name: 'delete_message',
        description: 'Deletes a message for good.',
        input: z.object({ messageId }),
        run: ({ messageId: id }) => ({ deleted: id }),
      }),
    ],
  }
}

export function files(): WordingSet {
  const all = ['report.pdf', 'budget.xlsx', 'holiday.jpg']
  const name = text('The name of the file')
  return {
    looks: ['list_files', 'read_file'],
    tools: [
      defineTool({
        name: 'list_files',
        description: 'Lists the files.',
        input: z.object({}),
        run: () => ({ files: all }),
      }),
      defineTool({
        name: 'read_file',
        description: 'Shows what a file contains.',
        input: z.object({ name }),
        run: (given) => given,
      }),
      defineTool({
        name: 'rename_file',
        description: 'Renames a file.',
        input: z.object({ name, newName: text('The new name') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'copy_file',
        description: 'Copies a file.',
        input: z.object({ name, copyName: text('The name of the copy') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'delete_file',
        description: 'Deletes a file.',
        input: z.object({ name }),
        run: (given) => given,
      }),
      defineTool({
        name: 'create_folder',
        description: 'Makes a new folder.',
        input: z.object({ folder: text('The name of the folder') }),
        run: (given) => given,
      }),
    ],
  }
}

export function todo(): WordingSet {
  const items = [
    { id: 1, title: 'Buy paint', done: false },
    { id: 2, title: 'Call the plumber', done: false },
    { id: 3, title: 'Pay the rent', done: true },
  ]
  const todoId = z.number().int().describe('The id of the todo')
  return {
    looks: ['list_todos', 'count_todos'],
    tools: [
      defineTool({
        name: 'list_todos',
        description: 'Lists what there is to do.',
        input: z.object({}),
        run: () => items,
      }),
      defineTool({
        name: 'count_todos',
        description: 'Counts the todos that are left.',
        input: z.object({}),
        run: () => ({ count: 2 }),
      }),
      defineTool({
        name: 'add_todo',
        description: 'Adds a todo.',
        input: z.object({ title: text('What to do'), due: z.iso.date().describe('Until when').optional() }),
        run: (given) => given,
      }),
      defineTool({
        name: 'complete_todo',
        description: 'Marks a todo as done.',
        input: z.object({ todoId }),
        run: (given) => given,
      }),
      defineTool({
        name: 'delete_todo',
        description: 'Deletes a todo.',
        input: z.object({ todoId }),
        run: (given) => given,
      }),
    ],
  }
}
