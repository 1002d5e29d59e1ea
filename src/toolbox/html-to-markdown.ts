/** HTML as Markdown, in a process with a limit of time and memory: a small page can take hours or gigabytes. */
import { runInProcess, type Timer } from '../base/index.ts'
import type { Conversion, HtmlPage } from './markdown-process.ts'

export interface ConvertOptions {
  readonly signal?: AbortSignal
  readonly timer?: Timer
}

export interface MarkdownPage {
  readonly markdown: string
  /** Empty if the page has none. */
  readonly title: string
}

const TIMEOUT_MS = 30_000
const MEGABYTES = 512

const PROBLEMS = {
  'no-turndown': 'HTML cannot be read without the package turndown. Install turndown: npm install turndown',
  'too-deep': 'The page cannot be read: its elements are nested too deeply.',
}

/** Rejects with a sentence for the model, or with the reason of the signal. */
export async function htmlToMarkdown(page: HtmlPage, options: ConvertOptions = {}): Promise<MarkdownPage> {
  const conversion = await converted(page, options)
  if ('problem' in conversion) throw new Error(PROBLEMS[conversion.problem])
  return conversion
}

async function converted(page: HtmlPage, { signal, timer }: ConvertOptions): Promise<Conversion> {
  try {
    return await runInProcess<Conversion>(page, {
      module: new URL('./markdown-process.ts', import.meta.url),
      timeoutMs: TIMEOUT_MS,
      megabytes: MEGABYTES,
      signal,
      timer,
    })
  } catch (error) {
    throw signal?.aborted ? error : unreadable((error as Error).message)
  }
}

function unreadable(why: string): Error {
  return new Error(`The page cannot be read as Markdown: ${why}.`)
}
