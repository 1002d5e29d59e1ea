/**
 * Separates pasted text from typed keys by the marks that terminals put around a paste, so that its line breaks are not
 * taken for the Enter key. Node's own key parser knows the marks, too, but a paste that ends in a broken escape sequence
 * would hide the end mark from it.
 */

const START = '\x1b[200~'
const END = '\x1b[201~'
/** An escape alone is a key; from this length on it can only be the beginning of a mark. */
const SHORTEST_START = 3

export interface PasteFilterOptions {
  readonly onKeys: (text: string) => void
  readonly onPaste: (text: string) => void
}

/** Takes the input in chunks of any size: a mark may be cut anywhere. */
export function pasteFilter({ onKeys, onPaste }: PasteFilterOptions): (chunk: string) => void {
  let held = ''
  let pasted: string | undefined
  return (chunk) => {
    let text = held + chunk
    for (;;) {
      const mark = pasted === undefined ? START : END
      const at = text.indexOf(mark)
      const end = at < 0 ? text.length - partialMark(text, mark) : at
      if (pasted !== undefined) pasted += text.slice(0, end)
      else if (end > 0) onKeys(text.slice(0, end))
      held = at < 0 ? text.slice(end) : ''
      if (at < 0) return
      if (pasted !== undefined) onPaste(pasted)
      pasted = pasted === undefined ? '' : undefined
      text = text.slice(at + mark.length)
    }
  }
}

/** How many characters at the end of the text may be the first part of a mark. */
function partialMark(text: string, mark: string): number {
  const least = mark === START ? SHORTEST_START : 1
  for (let length = mark.length - 1; length >= least; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}
