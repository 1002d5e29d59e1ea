/** Explores a folder: lists its files, reads them in batches, takes notes of each batch, and writes a report from them. */
import { relative, resolve, sep } from 'node:path'
import { agentNode } from '../../agent/index.ts'
import {
  type Channel,
  END,
  type Graph,
  type GraphOptions,
  graph,
  type ListChannel,
  list,
  type NodeContext,
  START,
  type StateOf,
  type UpdateOf,
  value,
} from '../../graph/index.ts'
import { type ModelOptions, tokenCounter } from '../../model/index.ts'
import {
  checkOptions,
  defined,
  HoldfastError,
  invalidOption,
  type JsonObject,
  type OptionSet,
  type Usage,
} from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import type { ModelChoice } from '../../turn/index.ts'
import { callFiles, fileTools, resultText, saveReport } from '../file-calls.ts'
import { fitText } from '../fit-context.ts'
import { checkLanguageModel } from '../reflex-choice.ts'
import { FLOW_OPTIONS, type FlowEnd, type FlowOptions, runFlow } from '../run-flow.ts'
import { type ExploredFile, inventoryFrom, inventoryText, notShownIn } from './inventory.ts'

/** The part of a file that is read if it is too large to be read as a whole. */
export type ExplorationPreview = { readonly bytes: number } | { readonly lines: number }

export interface ExplorationOptions extends FlowOptions {
  readonly model: ModelChoice | readonly ModelChoice[]
  readonly settings?: ModelOptions
  /** The folder. Default: the current one. */
  readonly cwd?: string
  /** The purpose of the report: it guides the notes. */
  readonly focus?: string
  /** In the folder. Default: notes/exploration_report.md. */
  readonly reportPath?: string
  /** Files up to this size are read as a whole, at most 100,000 bytes. Default: 100,000. */
  readonly fullReadBytes?: number
  /** Default: the first 50,000 bytes. */
  readonly preview?: ExplorationPreview
  /** The most files that are read; others are only listed. Default: 200. */
  readonly maxFiles?: number
  /** The most tokens of a prompt. Default: 100,000. */
  readonly maxContextTokens?: number
}

export interface ExplorationResults {
  /** The whole report; if the run ended early, the notes so far and the inventory. */
  readonly report: string
  /** Null: the report was not written. */
  readonly reportPath: string | null
  readonly files: readonly ExploredFile[]
  readonly notes: readonly string[]
  readonly ended: FlowEnd
  readonly reason: string
  readonly usage: Usage
  readonly contextId: string
}

const OPTIONS: OptionSet<ExplorationOptions> = {
  place: 'exploration()',
  options: {
    ...FLOW_OPTIONS,
    model: null,
    settings: 'an object',
    cwd: 'a text',
    focus: 'a text',
    reportPath: 'a text',
    fullReadBytes: { least: 1 },
    preview: 'an object',
    maxFiles: { least: 1 },
    maxContextTokens: { least: 1000 },
  },
  foreign: {
    output_path: 'reportPath',
    context_prompt: 'focus',
    max_file_size_bytes: 'fullReadBytes',
    preview_kb: 'preview: { bytes }',
    preview_lines: 'preview: { lines }',
  },
}

type ExplorationChannels = {
  readonly files: Channel<readonly ExploredFile[]>
  /** Entries that the listing does not show. */
  readonly notShown: Channel<string>
  /** The number of files that were read. */
  readonly read: Channel<number>
  readonly notes: ListChannel<string>
  readonly report: Channel<string | null>
  readonly isWritten: Channel<boolean>
}

type State = StateOf<ExplorationChannels>
type Update = UpdateOf<ExplorationChannels>

const DEFAULT_REPORT = 'notes/exploration_report.md'
const MOST_FULL_BYTES = 100_000
const DEFAULT_PREVIEW: ExplorationPreview = { bytes: 50_000 }
const DEFAULT_FILES = 200
const DEFAULT_CONTEXT_TOKENS = 100_000
/** The part of a prompt that contents or notes may fill. */
const VALUES_PART = 0.6
/** Tokens are estimated from bytes before a file is read. */
const BYTES_A_TOKEN = 4
const MOST_BATCH = 20

/**
 * Resolves however it ends: `ended` says how, and notes and inventory are in the results.
 *
 * @example
 * const { report } = await exploration({ model: 'openai/gpt-4.1-mini', cwd: 'data', focus: 'Which tables can be joined?' })
 */
export async function exploration(options: ExplorationOptions): Promise<ExplorationResults> {
  checkOptions(options, OPTIONS)
  if (options.model === undefined)
    throw new HoldfastError('invalid-option', { message: 'exploration() needs a model.' })
  checkLanguageModel(options.model, 'take notes of files')
  checkPreview(options.preview)
  const { cwd = '.', reportPath = DEFAULT_REPORT } = options
  const tools = await fileTools(cwd, ['list_files', 'read_file', 'write_to_file'])
  const explorer: Explorer = { ...options, tools, reportPath }
  const compile = (graphOptions: GraphOptions): Graph<ExplorationChannels> => build(explorer, graphOptions)
  const { state, ...run } = await runFlow({ compile, input: {} }, options)
  const { files, notes, report, isWritten, notShown } = state
  return {
    report: report ?? partialReport(notes, inventoryText(files, notShown)),
    reportPath: isWritten ? reportPath : null,
    files,
    notes,
    ...run,
  }
}

function checkPreview(preview: ExplorationPreview = DEFAULT_PREVIEW): void {
  const [[unit, most] = ['', 0], ...others] = Object.entries(preview)
  const isUnit = unit === 'bytes' || unit === 'lines'
  if (isUnit && others.length === 0 && Number.isSafeInteger(most) && most >= 1) return
  throw invalidOption('preview', 'must be { bytes } or { lines }, a whole number from 1 on')
}

interface Explorer extends ExplorationOptions {
  readonly tools: readonly Tool[]
  readonly reportPath: string
}

function build(explorer: Explorer, options: GraphOptions): Graph<ExplorationChannels> {
  const next = ({ files, read }: State): 'read' | 'report' =>
    read < toRead(files).length ? 'read' : 'report'
  return graph({
    name: 'exploration',
    state: {
      files: value<readonly ExploredFile[]>([]),
      notShown: value(''),
      read: value(0),
      notes: list<string>(),
      report: value<string | null>(null),
      isWritten: value(false),
    },
  })
    .addNode('list', (_, context) => listAll(explorer, context))
    .addNode('read', (state, context) => readBatch(explorer, state, context))
    .addNode('report', (state, context) => writeReport(explorer, state, context))
    .addNode('save', async ({ report }, context) => {
      await saveReport(context, { tools: explorer.tools, path: explorer.reportPath, content: report ?? '' })
      return { isWritten: true }
    })
    .addEdge(START, 'list')
    .addConditionalEdges('list', next, ['read', 'report'])
    .addConditionalEdges('read', next, ['read', 'report'])
    .addEdge('report', 'save')
    .addEdge('save', END)
    .compile(options)
}

function toRead(files: readonly ExploredFile[]): readonly ExploredFile[] {
  return files.filter(({ reading }) => reading !== 'not-read')
}

async function listAll(explorer: Explorer, context: NodeContext): Promise<Update> {
  const { maxFiles = DEFAULT_FILES, fullReadBytes = MOST_FULL_BYTES, cwd = '.' } = explorer
  const [result] = await callFiles(context, {
    tools: explorer.tools,
    calls: [{ tool: 'list_files', args: { path: '.', recursive: true } }],
  })
  const listing = resultText(result)
  // Without a listing, the report would be one of an empty folder.
  if (result?.status !== 'ok') throw new Error(`The folder cannot be listed: ${listing}`)
  const reportPath = relative(cwd, resolve(cwd, explorer.reportPath)).split(sep).join('/')
  const limits = { maxFiles, fullReadBytes: Math.min(fullReadBytes, MOST_FULL_BYTES), reportPath }
  return { files: inventoryFrom(listing, limits), notShown: notShownIn(listing) }
}

const NOTES = `You explore a folder and take notes of its files for a report. For each file: what it is for, what is in it, and
what it has to do with other files. Be brief and exact; say nothing that the contents do not show.`

/** Reads as many files as fit into a prompt, and takes notes of them. */
async function readBatch(explorer: Explorer, { files, read }: State, context: NodeContext): Promise<Update> {
  const { maxContextTokens = DEFAULT_CONTEXT_TOKENS, preview = DEFAULT_PREVIEW, focus } = explorer
  const room = Math.floor(maxContextTokens * VALUES_PART)
  const batch = batchOf(toRead(files).slice(read), { room, preview })
  const results = await callFiles(context, {
    tools: explorer.tools,
    calls: batch.map((file) => ({ tool: 'read_file', args: { path: file.path, ...rangeOf(file, preview) } })),
  })
  const counter = await tokenCounter()
  const share = Math.floor(room / batch.length)
  const contents = batch.map(
    ({ path, category }, at) =>
      `## ${path} (${category})\n${fitText(resultText(results[at]), share, counter)}`,
  )
  const notes = await ask(explorer, context, {
    system: NOTES,
    text: [about(focus), ...contents].join('\n\n'),
  })
  return { notes: [notes], read: read + batch.length }
}

function rangeOf({ reading }: ExploredFile, preview: ExplorationPreview): JsonObject {
  if (reading === 'full') return {}
  return 'lines' in preview ? { limit: preview.lines } : { limit_bytes: preview.bytes }
}

/** At least one: what is too long is shortened. */
function batchOf(
  files: readonly ExploredFile[],
  { room, preview }: { readonly room: number; readonly preview: ExplorationPreview },
): readonly ExploredFile[] {
  const most = 'bytes' in preview ? preview.bytes : MOST_FULL_BYTES
  let left = room
  const end = files.findIndex(({ bytes, reading }, at) => {
    left -= (reading === 'full' ? bytes : Math.min(bytes, most)) / BYTES_A_TOKEN
    return at > 0 && (left < 0 || at === MOST_BATCH)
  })
  return end < 0 ? files : files.slice(0, end)
}

const REPORT = `You write the report of an exploration, in Markdown: a summary, the structure of the folder, the important files and
how they belong together, and open questions. Use only the inventory and the notes.`

async function writeReport(explorer: Explorer, state: State, context: NodeContext): Promise<Update> {
  const { maxContextTokens = DEFAULT_CONTEXT_TOKENS, focus } = explorer
  const counter = await tokenCounter()
  const share = Math.floor((maxContextTokens * VALUES_PART) / 2)
  const inventory = fitText(inventoryText(state.files, state.notShown), share, counter)
  const notes = fitText(state.notes.join('\n\n'), share, counter)
  const text = [about(focus), `# Inventory\n${inventory}`, `# Notes\n${notes}`].join('\n\n')
  return { report: `${(await ask(explorer, context, { system: REPORT, text })).trim()}\n` }
}

function about(focus: string | undefined): string {
  return focus === undefined ? '# Focus\nA first overview.' : `# Focus\n${focus}`
}

interface Asked {
  readonly system: string
  readonly text: string
}

function ask({ model, settings }: Explorer, context: NodeContext, { system, text }: Asked): Promise<string> {
  const writer = agentNode({ name: context.node, model, systemPrompt: system, ...defined({ settings }) })
  return context.run('text', writer, text)
}

function partialReport(notes: readonly string[], inventory: string): string {
  const noted = notes.length === 0 ? [] : [`## Notes\n\n${notes.join('\n\n')}`]
  return `${['# Exploration, not finished', ...noted, `## Inventory\n\n${inventory}`].join('\n\n')}\n`
}
