/** A real pseudo-terminal to type into and to look at, by tmux. */
import { execFileSync, spawnSync } from 'node:child_process'
import { PATIENCE_MS } from '../patience.ts'
import { cleanEnv, FIXTURE, LAUNCH } from './kit.ts'

/** Why the tests that need tmux cannot run here; empty if they can. */
export const noTmux: string =
  spawnSync('tmux', ['-V']).status === 0 ? '' : ' (NOT RUN: tmux is not installed here)'

export interface TerminalOptions {
  readonly cwd: string
  readonly args?: readonly string[]
  /** The config; that of the fixture unless said otherwise. */
  readonly config?: string
  /** Arguments of Node, instead of those of the chat. */
  readonly command?: readonly string[]
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
}

let count = 0

/** `holdfast chat` with the agents of the fixture. */
export class TestTerminal {
  readonly #socket = `holdfast-${process.pid}-${++count}`

  constructor(options: TerminalOptions) {
    const { cwd, args = [], config = FIXTURE, columns = 80, rows = 30, env = {} } = options
    const { command: words = [...LAUNCH, 'chat', '--config', config, ...args] } = options
    const command = [process.execPath, ...words].map(quoted).join(' ')
    // The screen stays when the chat is over, to be read.
    const script = `${command}; echo "left with $?"; sleep 60`
    execFileSync(
      'tmux',
      [
        '-f',
        '/dev/null',
        '-u',
        '-L',
        this.#socket,
        'new-session',
        '-d',
        '-x',
        `${columns}`,
        '-y',
        `${rows}`,
        '-c',
        cwd,
        script,
      ],
      {
        env: cleanEnv({
          HOLDFAST_HOME: `${cwd}/data`,
          TERM: 'xterm-256color',
          SHELL: '/bin/sh',
          LC_ALL: 'C.UTF-8',
          ...env,
        }),
      },
    )
  }

  type(text: string): void {
    this.#tmux(['send-keys', '-l', text])
  }

  /** Keys as tmux names them: Enter, Tab, C-c, Up. */
  press(...keys: readonly string[]): void {
    this.#tmux(['send-keys', ...keys])
  }

  say(text: string): void {
    this.type(text)
    this.press('Enter')
  }

  /** Says something, and sees all this come in its turn; the screen is the last one. */
  async ask(text: string, ...wanted: readonly (string | RegExp)[]): Promise<string> {
    this.say(text)
    let screen = ''
    for (const each of wanted) screen = await this.until(each)
    return screen
  }

  /** Ctrl-D, and it is over well. */
  async leave(): Promise<void> {
    this.press('C-d')
    await this.until('left with 0')
  }

  paste(text: string): void {
    execFileSync('tmux', ['-L', this.#socket, 'load-buffer', '-'], { input: text })
    this.#tmux(['paste-buffer', '-p'])
  }

  /** What is on the screen, without empty lines at the end. */
  screen(...options: readonly string[]): string {
    return this.#tmux(['capture-pane', '-p', ...options]).trimEnd()
  }

  /** The title that the program has given to its terminal. */
  title(): string {
    return this.#tmux(['display-message', '-p', '#{pane_title}']).trim()
  }

  get hasCursor(): boolean {
    return this.#tmux(['display-message', '-p', '#{cursor_flag}']).trim() === '1'
  }

  /** The screen as soon as it shows this. */
  async until(wanted: string | RegExp): Promise<string> {
    const started = Date.now()
    for (;;) {
      const screen = this.screen()
      if (typeof wanted === 'string' ? screen.includes(wanted) : wanted.test(screen)) return screen
      if (Date.now() - started > PATIENCE_MS)
        throw new Error(`The screen never showed ${wanted}. It shows:\n${screen}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** The programs in it have got their hangup then. */
  close(): void {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server'])
    while (spawnSync('tmux', ['-L', this.#socket, 'has-session']).status === 0);
  }

  #tmux(args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8' })
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
