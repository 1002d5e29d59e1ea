/** Calls of tools as an editor shows them: a title, a kind, the files, and changes of files as diffs. */
import { resolve } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import type { Json, JsonObject } from '../../protocol/index.ts'

/** Kinds of the toolbox; tools of others are `other`. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  list_code_definition_names: 'read',
  analyze_image: 'read',
  search_files: 'search',
  write_to_file: 'edit',
  replace_in_file: 'edit',
  execute_command: 'execute',
  web_fetch: 'fetch',
  write_todo_list: 'think',
  read_todo_list: 'think',
}

export function kindOf(tool: string): ToolKind {
  return (Object.hasOwn(KINDS, tool) ? KINDS[tool] : undefined) ?? 'other'
}

export interface ShownCall {
  readonly title: string
  readonly name: string
  readonly kind: ToolKind
  readonly rawInput: Json
  readonly locations: ToolCallLocation[]
  readonly content: ToolCallContent[]
}

const LONGEST_TITLE = 120

export function shownCall(tool: string, args: Json, cwd: string): ShownCall {
  const { path, command, pattern, url } = fieldsOf(args)
  const about = [path, command, pattern, url].find((each) => typeof each === 'string')
  const title = about === undefined ? tool : `${tool} ${about.replaceAll(/\s+/g, ' ')}`
  return {
    title: title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE).toWellFormed()}…` : title,
    name: tool,
    kind: kindOf(tool),
    rawInput: args,
    locations: typeof path === 'string' ? [{ path: resolve(cwd, path) }] : [],
    content: diffsOf(tool, args, cwd),
  }
}

/** The change that the arguments describe. A file that is written whole shows its old text in the approval only. */
function diffsOf(tool: string, args: Json, cwd: string): ToolCallContent[] {
  const { path, content, diff } = fieldsOf(args)
  if (typeof path !== 'string') return []
  if (tool === 'write_to_file' && typeof content === 'string')
    return [{ type: 'diff', path: resolve(cwd, path), newText: content }]
  if (tool !== 'replace_in_file' || typeof diff !== 'string') return []
  return [...diff.matchAll(BLOCK)].map(([, oldText = '', newText = '']) => ({
    type: 'diff',
    path: resolve(cwd, path),
    oldText,
    newText,
  }))
}

const BLOCK = /^[-<]{7} SEARCH\r?\n([\s\S]*?)\r?\n={7}\r?\n(?:([\s\S]*?)\r?\n)?[+>]{7} REPLACE/gm

/** The preview of an approval, in place of the content of its call, which stays if there is none or it failed. */
export function previewContent(
  about: JsonObject | undefined,
  { content, cwd }: { readonly content: readonly ToolCallContent[]; readonly cwd: string },
): ToolCallContent[] {
  const { text, error, cut } = fieldsOf(about?.['preview'] ?? null)
  const { path } = fieldsOf(about?.['args'] ?? null)
  if (typeof error === 'string') return [textContent(error), ...content]
  if (typeof text !== 'string') return [...content]
  const rest = cut === true ? [textContent('The rest of the preview is too long to be shown.')] : []
  return [...contentIn(text, typeof path === 'string' ? resolve(cwd, path) : undefined), ...rest]
}

/** A unified diff of one file as diffs of its parts, anything else as text. */
function contentIn(text: string, path: string | undefined): ToolCallContent[] {
  const [head = '', ...hunks] = text.split(/^@@ .*\n/m)
  const isDiff = /^--- .*\n\+\+\+ .*\n/m.test(head) && hunks.length > 0
  if (!isDiff || path === undefined) return [textContent(text)]
  const isNew = head.includes('--- /dev/null')
  return hunks.map((hunk) => ({
    type: 'diff',
    path,
    oldText: isNew ? null : sideOf(hunk, '-'),
    newText: sideOf(hunk, '+'),
  }))
}

function sideOf(hunk: string, mark: '-' | '+'): string {
  const lines = hunk.split('\n').filter((line) => line.startsWith(mark) || line.startsWith(' '))
  return lines.map((line) => `${line.slice(1)}\n`).join('')
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

export function fieldsOf(value: Json): Readonly<Record<string, Json | undefined>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}
