/** The parsers that are built in, by the endings of file names. */
import type { DocumentFile, Parser } from './parser.ts'
import { parseMarkdown, parseText } from './plain-text.ts'
import type { DocumentWorker } from './worker-parser.ts'

/** Text and Markdown are read here: their cost is that of their size. */
export function builtinParsers(worker: DocumentWorker): readonly Parser[] {
  return [
    {
      id: 'pdf-1',
      extensions: ['pdf'],
      parse: (file) => worker.parse('pdf', file),
    },
    { id: 'docx-1', extensions: ['docx'], parse: (file) => worker.parse('docx', file) },
    { id: 'html-1', extensions: ['html', 'htm', 'xhtml'], parse: (file) => worker.parse('html', file) },
    {
      id: 'markdown-1',
      extensions: ['md', 'markdown'],
      parse: async ({ bytes }: DocumentFile) => parseMarkdown(bytes),
    },
    { id: 'text-1', extensions: ['txt', 'text'], parse: async ({ bytes }: DocumentFile) => parseText(bytes) },
  ]
}
