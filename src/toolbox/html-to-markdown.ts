/** HTML as Markdown, in a worker thread with a limit of time and memory: a small page can take hours or gigabytes. */
import { Worker } from 'node:worker_threads'
import { systemTimer, type Timer } from '../base/index.ts'
import type { Conversion, HtmlPage } from './markdown-worker.ts'

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
const MEMORY_MB = 512
const STACK_MB = 1

const PROBLEMS = {
  'no-turndown': 'HTML cannot be read without the package turndown. Install turndown: npm install turndown',
  'too-deep': 'The page cannot be read: its elements are nested too deeply.',
}

/** Rejects with a sentence for the model, or with the reason of the signal. */
export async function htmlToMarkdown(
  page: HtmlPage,
  { signal, timer = systemTimer }: ConvertOptions = {},
): Promise<MarkdownPage> {
  signal?.throwIfAborted()
  const worker = new Worker(new URL('./markdown-worker.ts', import.meta.url), {
    workerData: page,
    // The time of nested elements grows with the square of their depth: a small stack ends it early.
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, stackSizeMb: STACK_MB },
    env: {},
    execArgv: [],
  })
  const { promise, resolve, reject } = Promise.withResolvers<Conversion>()
  const cancel = (): void => reject(signal?.reason as Error)
  const stop = timer.after(TIMEOUT_MS, () => reject(unreadable(`it took more than ${TIMEOUT_MS} ms`)))
  signal?.addEventListener('abort', cancel)
  worker.on('message', resolve)
  worker.on('error', (error: Error) => reject(unreadable(error.message)))
  worker.on('exit', () => reject(unreadable('its conversion has ended early')))
  try {
    const conversion = await promise
    if ('problem' in conversion) throw new Error(PROBLEMS[conversion.problem])
    return conversion
  } finally {
    stop()
    signal?.removeEventListener('abort', cancel)
    await worker.terminate()
  }
}

function unreadable(why: string): Error {
  return new Error(`The page cannot be read as Markdown: ${why}.`)
}
