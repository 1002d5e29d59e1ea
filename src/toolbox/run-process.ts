/**
 * One child process and everything that it starts, from spawn to its last output. Knows nothing of tools, sandboxes or
 * shells.
 *
 * 1. The process leads a group of its own. The group ends with its leader: what is left is killed.
 * 2. Stopping sends SIGTERM to the group, and SIGKILL after a grace time. With `keepsLeader`, SIGTERM spares the leader and
 *    its helpers; if there is no other process yet, all are killed at once, or the command would begin unstopped.
 * 3. The run ends soon after the leader, also if a process outside of the group keeps the pipes open.
 * 4. Input is empty, and no descriptor of this process is inherited.
 * 5. Descriptor LIFELINE is a pipe that is never written to. Its end is the end of this process, however that comes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { systemTimer } from '../base/index.ts'
import { type OnOutput, type WriteEnds, withPipes } from './process-pipes.ts'

export interface ProcessRun {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** The leader is a monitor whose death kills the rest at once, so that SIGTERM would leave them no time. */
  readonly keepsLeader: boolean
  readonly onOutput: OnOutput
}

export interface ProcessEnd {
  readonly exitCode: number | null
  readonly signal: string | null
  /** Set if the process was stopped from here. */
  readonly stopped?: 'timeout' | 'cancelled'
  /** A process outside of the group still held the pipes when the run ended. */
  readonly isHeld: boolean
}

export const LIFELINE = 3

/** Below the 5 seconds that a cancelled call may take. */
const GRACE_MS = 2000

/** Rejects only if the process cannot be started. */
export async function runProcess(run: ProcessRun): Promise<ProcessEnd> {
  const { output, started } = await withPipes(run.onOutput, (pipes) => start(run, pipes))
  const { child } = started
  const { end, stopped } = await supervised(run, started)
  if ('error' in end) throw end.error
  signalGroup(child, 'SIGKILL')
  const isHeld = await output.end()
  return { ...end, isHeld, ...(stopped === undefined ? {} : { stopped }) }
}

/** Stops the process at its time limit and when the signal aborts, until it has exited. */
async function supervised(
  { timeoutMs, signal, keepsLeader }: ProcessRun,
  { child, exited }: Started,
): Promise<{ readonly end: Awaited<Started['exited']>; readonly stopped: ProcessEnd['stopped'] }> {
  let stopped: ProcessEnd['stopped']
  let kill = (): void => {}
  const stop = (why: ProcessEnd['stopped']): void => {
    if (stopped !== undefined) return
    stopped = why
    if (keepsLeader) terminateBelow(child)
    else signalGroup(child, 'SIGTERM')
    kill = systemTimer.after(GRACE_MS, () => signalGroup(child, 'SIGKILL'))
  }
  const cancel = (): void => stop('cancelled')
  const timeout = systemTimer.after(timeoutMs, () => stop('timeout'))
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  const end = await exited
  timeout()
  kill()
  signal.removeEventListener('abort', cancel)
  return { end, stopped }
}

interface Started {
  readonly child: ChildProcess
  readonly exited: Promise<Exit | { readonly error: Error }>
}

type Exit = Pick<ProcessEnd, 'exitCode' | 'signal'>

/** Listens from the beginning: a process may end before anything else is done. */
function exitOf(child: ChildProcess): Started['exited'] {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }))
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
  })
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) signalTo(-pid, signal)
}

function signalTo(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // It has ended.
  }
}

function terminateBelow(leader: ChildProcess): void {
  const { pid = 0 } = leader
  const own = statOf(String(pid))?.name
  const begun = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((each) => ({ pid: Number(each), stat: statOf(each) }))
    .filter(({ stat }) => stat?.group === pid && stat.name !== own)
  for (const each of begun) signalTo(each.pid, 'SIGTERM')
  if (begun.length === 0) signalGroup(leader, 'SIGKILL')
}

interface ProcessStat {
  /** Of its program. */
  readonly name: string
  readonly group: number
}

function statOf(pid: string): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may contain anything.
    const end = stat.lastIndexOf(')')
    const group = Number(stat.slice(end + 2).split(' ')[2])
    return { name: stat.slice(stat.indexOf('(') + 1, end), group }
  } catch {
    return undefined
  }
}

/**
 * Empty input, the pipes, and /dev/null in place of every descriptor that this process itself has inherited: Node
 * closes its own ones in a child, and not those.
 */
async function start(run: ProcessRun, pipes: WriteEnds): Promise<Started> {
  const { file, args, cwd, env } = run
  const nothing = await open('/dev/null', 'r+')
  try {
    const stdio: (number | 'ignore' | 'pipe')[] = ['ignore', pipes.stdout, pipes.stderr, 'pipe']
    for (const fd of inheritedDescriptors()) {
      while (stdio.length < fd) stdio.push('ignore')
      stdio[fd] = nothing.fd
    }
    const child = spawn(file, args, { cwd, env, detached: true, stdio })
    const lifeline = child.stdio[LIFELINE] as Readable | null
    lifeline?.on('error', () => {})
    child.once('exit', () => lifeline?.destroy())
    return { child, exited: exitOf(child) }
  } finally {
    await nothing.close()
  }
}

const O_CLOEXEC = 0o2000000

function inheritedDescriptors(): readonly number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > LIFELINE && !isClosedOnExec(fd))
    .sort((a, b) => a - b)
}

function isClosedOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return flags === undefined || (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0
  } catch {
    return true
  }
}
