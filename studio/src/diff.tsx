/** A preview for the person who approves; the lines of a diff are marked by their signs and by colour. */
import { visible } from './visible-text.ts'

export function Diff({ text }: { readonly text: string }) {
  const lines = visible(text).trimEnd().split('\n')
  const isDiff = lines.some((line) => /^(@@ |--- |\+\+\+ )/.test(line))
  return (
    // Keyboards can scroll it.
    <pre className="code diff" tabIndex={0} aria-label="Preview">
      {lines.map((line, at) => (
        <span key={at} className={isDiff ? kindOf(line) : ''}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

function kindOf(line: string): string {
  if (/^(\+\+\+|---) /.test(line) || line.startsWith('@@')) return 'place'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : ''
}
