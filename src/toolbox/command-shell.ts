/**
 * The shell of commands: how it is started, and its environment, which is an allow-list and the values that the program
 * gives, never that of this process.
 */
import { existsSync } from 'node:fs'
import { foldersOutside } from './program-folders.ts'
import { LIFELINE } from './run-process.ts'

/** Names that carry settings of the machine and no secret. */
const PASSED = /^(LANG|LANGUAGE|LC_[A-Z]+|TZ)$/
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'

export interface CommandPlace {
  /** The real path of the working folder. */
  readonly root: string
  /** An empty private folder, also for temporary files. */
  readonly home: string
}

export function commandEnvironment(
  given: Readonly<Record<string, string>>,
  { root, home }: CommandPlace,
): Readonly<Record<string, string>> {
  const passed = Object.entries(process.env).filter(([name]) => PASSED.test(name)) as [string, string][]
  return {
    LANG: 'C.UTF-8',
    ...Object.fromEntries(passed),
    PATH: pathOutside(root, process.env['PATH'] ?? ''),
    TERM: 'dumb',
    HOME: home,
    TMPDIR: home,
    ...given,
  }
}

/** In a folder of PATH inside of the working folder, a command could leave a program for later ones. */
function pathOutside(root: string, path: string): string {
  const folders = foldersOutside(root, path)
  return folders.length === 0 ? USUAL_PATH : folders.join(':')
}

/**
 * The shell with a command, after a guard has been started: a process that waits for the end of the lifeline, which is the
 * end of this process, and then kills. In the sandbox that is everything, else the process group.
 */
export function shellCommand(command: string, isSandboxed: boolean): readonly [file: string, ...string[]] {
  const shell =
    ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh'
  const script = isSandboxed ? `${guard('-1')}; ${LIMITS}; ${RUN}` : `${guard('0')}; ${RUN}`
  return [shell, '-c', script, shell, shell, '-c', command]
}

/** A child of nobody: programs that wait for all of their children must not wait for it. */
function guard(target: string): string {
  return `( (trap '' HUP INT TERM; read -r _ <&${LIFELINE}; kill -9 ${target}) >/dev/null 2>&1 & )`
}

/**
 * Bounds a fork bomb of a normal user, who is counted per sandbox; root is not counted. No core dumps: a handler of the
 * system would take them outside. dash calls -u -p.
 */
const LIMITS = 'ulimit -c 0; ulimit -u 4096 2>/dev/null || ulimit -p 4096 2>/dev/null'
const RUN = `exec "$@" ${LIFELINE}<&-`
