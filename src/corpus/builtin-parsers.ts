/** The parsers that are built in, by the endings of file names. */
import type { DocumentFile, Parser } from './parser.ts'
import { parseMarkdown, parseText } from './plain-text.ts'
import type { DocumentProcess } from './process-parser.ts'

/** Text and Markdown are read here: their cost is that of their size. */
export function builtinParsers(reader: DocumentProcess): readonly Parser[] {
  return [
    {
      id: 'pdf-1',
      extensions: ['pdf'],
      parse: (file) => reader.parse('pdf', file),
    },
    { id: 'docx-2', extensions: ['docx'], parse: (file) => reader.parse('docx', file) },
    { id: 'html-3', extensions: ['html', 'htm', 'xhtml'], parse: (file) => reader.parse('html', file) },
    {
      id: 'markdown-3',
      extensions: ['md', 'markdown'],
      parse: async ({ bytes }: DocumentFile) => parseMarkdown(bytes),
    },
    { id: 'text-2', extensions: ['txt', 'text'], parse: async ({ bytes }: DocumentFile) => parseText(bytes) },
  ]
}
