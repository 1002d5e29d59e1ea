/**
 * The sandbox of commands: bubblewrap on Linux. Finds out whether it works here, and makes the arguments that confine a
 * command to its folder. Runs no command of a model.
 */
import { execFile } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from './path-error.ts'
import { JOURNALS } from './workspace-walk.ts'

/** `auto` uses a sandbox where there is one, `required` refuses to load without it, `off` uses none. */
export type SandboxMode = 'auto' | 'required' | 'off'

/** `why`: one clause, for people and models. */
export type Sandbox = Bubblewrap | { readonly kind: 'none'; readonly why: string }

export interface Bubblewrap {
  readonly kind: 'bwrap'
  /** The path of bwrap. */
  readonly file: string
  /**
   * Everything before the command; the folder to start in is a path inside the sandbox. Throws if the journals in the root
   * cannot be hidden.
   */
  args(start: string): readonly string[]
}

export interface SandboxOptions {
  /** The real path of the folder, the only one outside of the sandbox that a command may write. */
  readonly root: string
  readonly network: boolean
  /** More paths that a command may read. */
  readonly readable: readonly string[]
  /** Paths at which bwrap is looked for. Never PATH, which may lead into the folder. */
  readonly candidates?: readonly string[]
}

const CANDIDATES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap']

/** Looks for bwrap and starts it once with the real arguments: it may be installed and forbidden. */
export async function findSandbox(options: SandboxOptions): Promise<Sandbox> {
  if (process.platform !== 'linux') return none(`there is none for ${process.platform}`)
  const { root, candidates = CANDIDATES } = options
  const file = candidates.find((path) => existsSync(path))
  if (file === undefined) return none('bwrap is not installed (Debian: apt-get install bubblewrap)')
  const hidden = SYSTEM.find((path) => path === root || path.startsWith(root === '/' ? '/' : `${root}/`))
  if (hidden !== undefined) return none(`the working folder ${root} contains ${hidden} of the system`)
  const mounts = await systemMounts(options)
  let why = ''
  // Before 0.8, bwrap knows neither sizes nor --disable-userns.
  for (const isNew of [true, false]) {
    const before = confinement(options, mounts, isNew)
    try {
      await promisify(execFile)(
        file,
        [...before, ...REST_READ_ONLY, '--chdir', root, '--', '/bin/sh', '-c', ':'],
        {
          env: {},
          timeout: PROBE_MS,
          killSignal: 'SIGKILL',
        },
      )
      return {
        kind: 'bwrap',
        file,
        args: (start) => [...before, ...hideJournals(root), ...REST_READ_ONLY, '--chdir', start, '--'],
      }
    } catch (error) {
      if (why === '') why = errorLine(error)
    }
  }
  return none(`${file} does not work here: ${why}`)
}

const PROBE_MS = 60_000

function none(why: string): Sandbox {
  return { kind: 'none', why }
}

/** A folder that contains one of these cannot be writable while they are not. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc', '/proc', '/dev', '/sys']

/** Folders of programs and libraries. On most systems all but the first are links into it. */
const PROGRAMS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** The parts of /etc that programs need to start, to name users, and to check certificates. No private key is in them. */
const SETTINGS = [
  'alternatives',
  'ca-certificates',
  'group',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'passwd',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
]

async function systemMounts({ network }: SandboxOptions): Promise<readonly string[]> {
  const mounts: string[] = []
  for (const path of PROGRAMS) {
    const stats = await lstat(path).catch(() => undefined)
    if (stats?.isSymbolicLink()) mounts.push('--symlink', await readlink(path), path)
    else if (stats !== undefined) mounts.push('--ro-bind', path, path)
  }
  for (const name of network ? [...SETTINGS, 'resolv.conf'] : SETTINGS)
    mounts.push('--ro-bind-try', `/etc/${name}`, `/etc/${name}`)
  return mounts
}

const SHM_BYTES = 256 * 1024 * 1024
const TMP_BYTES = 2 * 1024 * 1024 * 1024

function confinement(
  { root, network, readable }: SandboxOptions,
  mounts: readonly string[],
  isNew: boolean,
): readonly string[] {
  const size = (bytes: number) => (isNew ? ['--size', String(bytes)] : [])
  return [
    ...['--unshare-user', ...(isNew ? ['--disable-userns'] : [])],
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...(network ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...mounts,
    // Files under /proc/sys belong to root, and root outside is root here: without this, root could write them.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...size(SHM_BYTES), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...[...size(TMP_BYTES), '--tmpfs', '/tmp'],
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', root, root],
  ]
}

/**
 * The folder of journals is hidden, which would show other conversations, and in which a command could write. Where it is
 * missing it is created, or a command could create it. It stays: a mount point that is removed takes the mount with it.
 */
function hideJournals(root: string): readonly string[] {
  const journals = join(root, JOURNALS)
  try {
    mkdirSync(journals, { mode: 0o700 })
  } catch (error) {
    // A folder that this user cannot write is none in which a command could create it.
    if (!['EEXIST', 'EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) throw error
  }
  const stats = lstatSync(journals, { throwIfNoEntry: false })
  if (stats === undefined) return []
  if (!stats.isDirectory()) throw new Error(`${journals} is no folder. Nothing was run. Remove it first.`)
  return ['--tmpfs', journals, '--remount-ro', journals]
}

const REST_READ_ONLY = ['--remount-ro', '/']

/** The last line that a process wrote to standard error, or the message of its failure. */
function errorLine(error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: unknown; readonly message?: string }
  const text = typeof stderr === 'string' && stderr.trim() !== '' ? stderr : (message ?? String(error))
  return (text.trim().split('\n').at(-1) ?? '').slice(0, 300)
}
