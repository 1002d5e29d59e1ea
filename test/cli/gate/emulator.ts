/** A real terminal emulator, and what can be seen of it. */
import xterm from '@xterm/headless'

export interface Seen {
  /** All lines, those that were scrolled away included, without blanks at the end. */
  readonly lines: readonly string[]
  /** Text that the terminal holds and does not show. */
  readonly hidden: boolean
  readonly title: string
  readonly clipboard: string
  readonly buffer: string
  readonly bells: number
  /** What the terminal would have typed by itself: answers to reports. */
  readonly typed: string
}

export const COLUMNS = 80
export const ROWS = 24

/** What a person sees when all this was printed. The first line was there before. */
export async function emulate(output: string): Promise<Seen> {
  const terminal = new xterm.Terminal({
    cols: COLUMNS,
    rows: ROWS,
    scrollback: 5000,
    allowProposedApi: true,
    // A terminal driver turns a line break into a new line.
    convertEol: true,
  })
  let title = ''
  let clipboard = ''
  let bells = 0
  let typed = ''
  terminal.onTitleChange((text) => {
    title = text
  })
  terminal.onBell(() => {
    bells += 1
  })
  terminal.onData((text) => {
    typed += text
  })
  terminal.parser.registerOscHandler(52, (data) => {
    clipboard = data
    return true
  })
  await new Promise<void>((done) => terminal.write(`before\n${output}`, done))
  const { active } = terminal.buffer
  const lines: string[] = []
  let hidden = false
  for (let row = 0; row < active.length; row++) {
    const line = active.getLine(row)
    lines.push(line?.translateToString(true) ?? '')
    for (let column = 0; column < COLUMNS && !hidden; column++)
      hidden = (line?.getCell(column)?.isInvisible() ?? 0) !== 0
  }
  while (lines.at(-1) === '') lines.pop()
  const seen = { lines, hidden, title, clipboard, buffer: active.type, bells, typed }
  terminal.dispose()
  return seen
}
