/** The text of a paper as blocks: a title, a line with the author and the date, headings, paragraphs and tables. */

export type Block =
  | { readonly kind: 'heading' | 'paragraph'; readonly text: string }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }

export interface Paper {
  readonly title: string
  readonly byline: string
  readonly blocks: readonly Block[]
}

/** `# title` and the byline in the first two lines; then blocks with empty lines between them, `##` for headings. */
export function parsePaper(text: string): Paper {
  const [title = '', byline = '', ...rest] = text.split('\n')
  const blocks = rest
    .join('\n')
    .trim()
    .split(/\n{2,}/)
  return { title: title.replace('# ', ''), byline, blocks: blocks.map(blockOf) }
}

function blockOf(text: string): Block {
  if (text.startsWith('## ')) return { kind: 'heading', text: text.slice(3) }
  if (!text.startsWith('|')) return { kind: 'paragraph', text: text.replaceAll('\n', ' ') }
  const rows = text.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  return { kind: 'table', rows }
}
