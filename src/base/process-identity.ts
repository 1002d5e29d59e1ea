/**
 * Names the running process so that another one on the same machine can check its liveness. A process is `dead` only
 * when that is certain; in another machine or container it is `unknown`.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export type Liveness = 'alive' | 'dead' | 'unknown'

/** `machine/pid/start`, stable for the life of the process. */
export function processIdentity(): string {
  own ??= [machine(), process.pid, startTime(process.pid)?.start ?? '-'].join('/')
  return own
}

/** Judges an identity made by `processIdentity` in any process; ignores everything from a `#` on. */
export function processLiveness(identity: string): Liveness {
  const [process = ''] = identity.split('#')
  if (process === processIdentity()) return 'alive'
  const [where, pid, start] = process.split('/')
  if (where !== machine() || pid === undefined || start === undefined || !/^\d+$/.test(pid)) return 'unknown'
  if (!exists(Number(pid))) return 'dead'
  const seen = startTime(Number(pid))
  if (seen === undefined || start === '-') return 'alive'
  return seen.zombie || seen.start !== start ? 'dead' : 'alive'
}

let own: string | undefined
let here: string | undefined

/** Identifies one boot of one machine as seen from one container; short, because it is written often. */
function machine(): string {
  here ??= createHash('sha256')
    .update([hostname(), bootId(), pidNamespace()].join('\n'))
    .digest('hex')
    .slice(0, 12)
  return here
}

function bootId(): string {
  return tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')) ?? ''
}

function pidNamespace(): string {
  return tryRead(() => readlinkSync('/proc/self/ns/pid')) ?? ''
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** On Linux, the kernel's start time distinguishes a process from a later one with the same pid. */
function startTime(pid: number): { start: string; zombie: boolean } | undefined {
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const start = fields[19]
  return start === undefined ? undefined : { start, zombie: fields[0] === 'Z' }
}

function tryRead(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
