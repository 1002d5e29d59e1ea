/** Patterns of tool names, of paths relative to a folder, and of hosts. */
import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import { foldedName } from '../tool/index.ts'

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

/** A path below the folder, in parts as they were written. Undefined for one that no file system takes. */
export function judgedPath(folder: string, ...parts: readonly string[]): JudgedPath | undefined {
  if (parts.some((part) => /\p{Cc}/u.test(part))) return undefined
  const base = resolve(folder)
  const around = writtenPath(base, parts.slice(0, -1))
  const [real, realFolder] = [realPath(writtenPath(around, parts.slice(-1)), around), realPath(base, base)]
  if (real === undefined || realFolder === undefined) return undefined
  return { lexical: resolve(folder, ...parts), real, folder: base, realFolder }
}

function writtenPath(folder: string, parts: readonly string[]): string {
  return parts.reduce((path, part) => (isAbsolute(part) ? part : `${path}${sep}${part}`), folder)
}

const SEPARATORS = sep === '/' ? '/' : /[\\/]/
/** As many as Linux follows. */
const MOST_LINKS = 40
/** A link to the folder of the process that will follow it, and not of this one. */
const PROCESS_FOLDER = /^\/proc\/\d+\/(?:task\/\d+\/)?cwd$/

/**
 * The end of an absolute path, name by name as the kernel goes: a link is followed before a `..` after it, and one whose
 * target is missing leads there as well. Undefined for links in a circle. `folder`: of the process that opens the path.
 */
function realPath(path: string, folder: string): string | undefined {
  let at = parse(path).root
  let names = namesIn(path)
  for (let links = 0; names.length > 0; ) {
    const [name = '', ...rest] = names
    names = rest
    if (name === '' || name === '.') continue
    const next = name === '..' ? dirname(at) : join(at, name)
    const target = name === '..' ? undefined : PROCESS_FOLDER.test(next) ? folder : linkTarget(next)
    if (target === undefined) {
      at = next
      continue
    }
    links += 1
    if (links > MOST_LINKS) return undefined
    at = parse(target).root || at
    names = [...namesIn(target), ...names]
  }
  return at
}

function namesIn(path: string): readonly string[] {
  return path.slice(parse(path).root.length).split(SEPARATORS)
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined
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

/** True if any form of the path fits, as it is and folded: some file systems find it so. */
export function concernsPath(pattern: string, path: JudgedPath): boolean {
  const glob = broadGlob(pattern)
  const forms = [inside(path.folder, path.lexical), inside(path.realFolder, path.real)]
  // `**/x` is about every x, also outside of the folder.
  const whole = [path.lexical, path.real].flatMap((file) => [file, file.slice(1)])
  return [...forms, ...whole].some(glob)
}

/** The same for one name of a path. */
export function nameMatches(glob: string, name: string): boolean {
  return broadGlob(glob)(name)
}

function broadGlob(pattern: string): (text: string) => boolean {
  const [plain, folded] = [globOf(pattern.normalize('NFC'), 'iu'), globOf(foldedName(pattern), 'iu')]
  return (text) => plain.test(text.normalize('NFC')) || folded.test(foldedName(text))
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

/** A web address that every program reads alike: with both slashes, and no backslash, user or encoded host. */
const PLAIN_ADDRESS = /^https?:\/\/[^/?#\\@%]+(?:[/?#][^\\]*)?$/i

/** The host of an address, with its port if it is not the usual one; undefined if it is no plain web address. */
export function hostOf(url: string): string | undefined {
  if (/[^\x21-\x7e]/.test(url) || !PLAIN_ADDRESS.test(url) || !URL.canParse(url)) return undefined
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/\.$/, '')
  return port === '' ? host : `${host}:${port}`
}

/** A pattern of hosts in the form of `hostOf`; undefined for one that is none. */
export function hostForm(pattern: string): string | undefined {
  const [, start = '', name = ''] = /^(\*\.)?([^\s*/@]+)$/.exec(pattern) ?? []
  if (name === '' || !URL.canParse(`https://${name}`)) return undefined
  const { hostname, port } = new URL(`https://${name}`)
  const host = hostname.replace(/\.$/, '')
  return `${start}${host}${['', '80'].includes(port) ? '' : `:${port}`}`
}

/** The same for warnings: whichever the port. */
export function concernsHost(pattern: string, host: string): boolean {
  return isHost(pattern, host) || isHost(pattern, host.replace(/:\d+$/, ''))
}

/** `*.example.com`: every host below. */
export function isHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.')
    ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1
    : host === pattern
}
