/** The built-in agent, for use without a config: a few harmless tools. */
import { askUser, defineTool, type JsonObject, jsonSchema, type Tool } from 'holdfast'
import type { AgentDefinition } from '../config/define-config.ts'
import { calculate } from './calculate.ts'
import { Notes } from './notes.ts'

export function builtinAgent(notesFolder: () => string): AgentDefinition {
  const notes = new Notes(notesFolder)
  return {
    systemPrompt: 'You are a helpful assistant in a terminal. Be brief. Use your tools where they help.',
    tools: [calculator, clock, ...noteTools(notes), askUser()],
  }
}

const text = (description: string): JsonObject => ({ type: 'string', minLength: 1, description })

function object<T>(
  properties: Record<string, JsonObject>,
  required = Object.keys(properties),
): ReturnType<typeof jsonSchema<T>> {
  return jsonSchema<T>({ type: 'object', properties, required, additionalProperties: false })
}

const calculator = defineTool({
  name: 'calculate',
  description: 'Calculates the value of an arithmetic expression with + - * / % ^ and brackets.',
  input: object<{ expression: string }>({ expression: text('Such as (2 + 3) * 4') }),
  replay: 'safe',
  run: ({ expression }) => ({ expression, value: calculate(expression) }),
  display: ({ value }) => String(value),
})

const clock = defineTool({
  name: 'current_time',
  description: 'Tells the current date and time, here or in a time zone.',
  input: object<{ timeZone?: string }>({ timeZone: text('Such as Europe/Paris; here if left out') }, []),
  replay: 'safe',
  run: ({ timeZone }) => {
    const now = new Date()
    const options = {
      dateStyle: 'full',
      timeStyle: 'short',
      ...(timeZone === undefined ? {} : { timeZone }),
    } as const
    return { iso: now.toISOString(), time: new Intl.DateTimeFormat('en-GB', options).format(now) }
  },
  display: ({ time }) => time,
})

function noteTools(notes: Notes): Tool[] {
  return [
    defineTool({
      name: 'list_notes',
      description: 'Lists the names of all notes.',
      input: object<JsonObject>({}),
      replay: 'safe',
      run: async () => ({ notes: await notes.list() }),
      display: ({ notes: names }) => names.join(', ') || 'no notes',
    }),
    defineTool({
      name: 'read_note',
      description: 'Reads a note.',
      input: object<{ name: string }>({ name: text('The name of the note') }),
      replay: 'safe',
      run: async ({ name }) => ({ name, text: await notes.read(name) }),
      display: ({ text: content }) => content,
    }),
    defineTool({
      name: 'write_note',
      description: 'Writes a note and keeps it. A note of the same name is replaced.',
      input: object<{ name: string; text: string }>({
        name: text('The name of the note'),
        text: text('What it says'),
      }),
      replay: 'safe',
      run: async ({ name, text: content }) => {
        await notes.write(name, content)
        return { name, written: true }
      },
      display: ({ name }) => `${name} is kept`,
    }),
    defineTool({
      name: 'remove_note',
      description: 'Removes a note for good.',
      input: object<{ name: string }>({ name: text('The name of the note') }),
      approve: ({ input }) => `Remove the note "${input.name}"?`,
      run: async ({ name }) => {
        await notes.remove(name)
        return { name, removed: true }
      },
      display: ({ name }) => `${name} is gone`,
    }),
  ]
}
