/** The environment of commands: an allow-list, and the values that the program gives. Never the whole of this process. */
import { existsSync } from 'node:fs'

/** Names that carry settings of the machine and no secret. */
const PASSED = /^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ)$/
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'

/** `home` is an empty private folder, also for temporary files. */
export function commandEnvironment(
  given: Readonly<Record<string, string>>,
  home: string,
): Readonly<Record<string, string>> {
  const passed = Object.entries(process.env).filter(([name]) => PASSED.test(name)) as [string, string][]
  return {
    PATH: USUAL_PATH,
    LANG: 'C.UTF-8',
    ...Object.fromEntries(passed),
    TERM: 'dumb',
    HOME: home,
    TMPDIR: home,
    ...given,
  }
}

/** bash where it is installed, else sh. */
export function shellPath(): string {
  return ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh'
}
