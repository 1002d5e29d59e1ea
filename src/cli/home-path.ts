/** A path that begins with `~`, as the person means it: shells expand it in a word, but not in quotes or after `=`. */
import { homedir } from 'node:os'
import { join } from 'node:path'

export function homePath(path: string): string {
  return path === '~' || /^~[/\\]/.test(path) ? join(homedir(), path.slice(1)) : path
}
