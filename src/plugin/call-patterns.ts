/** Patterns of tool names, of paths relative to a folder, and of hosts. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'

/** A name, or its beginning with `*` at the end. */
export function isTool(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool
}

/** The forms of one path: as written, and where its links lead. */
export interface JudgedPath {
  readonly lexical: string
  readonly real: string
  readonly folder: string
  /** The real folder. */
  readonly realFolder: string
}

/** Undefined for a path that no file system takes. */
export function judgedPath(folder: string, path: string): JudgedPath | undefined {
  if (/\p{Cc}/u.test(path)) return undefined
  const lexical = resolve(folder, path)
  return { lexical, real: realPath(lexical), folder: resolve(folder), realFolder: realPath(resolve(folder)) }
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}

/** True if the path fits both as written and where its links lead. */
export function allowsPath(pattern: string, path: JudgedPath): boolean {
  const glob = globOf(pattern, '')
  return [
    [path.folder, path.lexical],
    [path.realFolder, path.real],
  ].every(([folder = '', file = '']) => glob.test(pattern.startsWith('/') ? file : inside(folder, file)))
}

/** True if the pattern is about everything in this folder: `secrets/**` about `secrets`. */
export function concernsFolder(pattern: string, path: JudgedPath): boolean {
  const [lexical, real] = [join(path.lexical, 'x'), join(path.real, 'x')]
  return pattern.endsWith('**') && concernsPath(pattern, { ...path, lexical, real })
}

/** True if any form of the path fits, in any case of letters. */
export function concernsPath(pattern: string, path: JudgedPath): boolean {
  const glob = globOf(pattern, 'i')
  const forms = [inside(path.folder, path.lexical), inside(path.realFolder, path.real)]
  // `**/x` is about every x, also outside of the folder.
  const whole = [path.lexical, path.real].flatMap((file) => [file, file.slice(1)])
  return [...forms, ...whole].some((form) => glob.test(form))
}

/** True if one name of a path fits its glob, in any case of letters. */
export function nameMatches(glob: string, name: string): boolean {
  return globOf(glob, 'i').test(name)
}

/** Relative to the folder, `.` for the folder itself; a path outside begins with `..`. */
export function inside(folder: string, path: string): string {
  return relative(folder, path).split(sep).join('/') || '.'
}

/** `**`: any folders; `*`: within a name; `?`: one character. */
function globOf(pattern: string, flags: string): RegExp {
  if (pattern === '**') return /^(?!\.\.(?:\/|$))(?!\/)/
  const source = pattern.replace(/\*\*\/|\/\*\*$|\*\*|[*?]|[.+^${}()|[\]\\]/g, (part) => {
    if (part === '**/') return '(?:[^/]+/)*'
    if (part === '/**') return '/.+'
    if (part === '**') return '.*'
    if (part === '*') return '[^/]*'
    return part === '?' ? '[^/]' : `\\${part}`
  })
  return new RegExp(`^(?!\\.\\.(?:/|$))${source}$`, `s${flags}`)
}

/** The host of an address, with its port if it is not the usual one; undefined if it is no plain web address. */
export function hostOf(url: string): string | undefined {
  if (/[^\x21-\x7e]/.test(url) || !URL.canParse(url)) return undefined
  const { protocol, hostname, port, username, password } = new URL(url)
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return undefined
  const host = hostname.replace(/\.$/, '')
  return port === '' ? host : `${host}:${port}`
}

/** The same for warnings: whichever the port. */
export function concernsHost(pattern: string, host: string): boolean {
  return isHost(pattern, host) || isHost(pattern, host.replace(/:\d+$/, ''))
}

/** `*.example.com`: every host below. */
export function isHost(pattern: string, host: string): boolean {
  const wanted = pattern.toLowerCase()
  return wanted.startsWith('*.')
    ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
    : host === wanted
}
