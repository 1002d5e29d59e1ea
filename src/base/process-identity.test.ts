/** Liveness of the process behind an identity: `dead` only when that is certain (R1). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { processIdentity, processLiveness } from './process-identity.ts'

const onLinux = existsSync('/proc/self/stat')
const module = new URL('./process-identity.ts', import.meta.url).href
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A process that prints its identity and lives until it is killed. */
async function neighbour(): Promise<{ child: ChildProcess; identity: string }> {
  const program = `import { processIdentity } from ${JSON.stringify(module)}; console.log(processIdentity()); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [output] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, identity: output.toString().trim() }
}

function parts(identity: string): [string, string, string] {
  return identity.split('/') as [string, string, string]
}

describe('an identity', () => {
  it('is machine, pid and start, and stays the same', () => {
    const [machine, pid, start] = parts(processIdentity())
    expect(machine).toMatch(/^[\w:.-]+$/)
    expect(pid).toBe(String(process.pid))
    expect(start).toMatch(onLinux ? /^\d+$/ : /^-$/)
    expect(processIdentity()).toBe(processIdentity())
  })

  it('is unlike that of another process on the same machine', async () => {
    const { identity } = await neighbour()
    expect(identity).not.toBe(processIdentity())
    expect(parts(identity)[0]).toBe(parts(processIdentity())[0])
  })
})

describe('liveness', () => {
  it('of the own process is alive, whatever follows a #', () => {
    expect(processLiveness(processIdentity())).toBe('alive')
    expect(processLiveness(`${processIdentity()}#agent/7`)).toBe('alive')
  })

  it('of a neighbour is alive while it runs and dead after', async () => {
    const { child, identity } = await neighbour()
    expect(processLiveness(identity)).toBe('alive')
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(processLiveness(identity)).toBe('dead')
    expect(processLiveness(`${identity}#agent`)).toBe('dead')
  })

  it.runIf(onLinux)('of a process that has a used pid but began at another time is dead', () => {
    const [machine, pid, start] = parts(processIdentity())
    expect(processLiveness(`${machine}/${pid}/${Number(start) - 1}`)).toBe('dead')
  })

  it('of a process whose start is not known is alive while its pid is', () => {
    const [machine, pid] = parts(processIdentity())
    expect(processLiveness(`${machine}/${pid}/-`)).toBe('alive')
  })

  it('of somebody on another machine, or of another boot, is unknown', () => {
    const [machine, pid, start] = parts(processIdentity())
    expect(processLiveness(`x${machine}/${pid}/${start}`)).toBe('unknown')
    expect(processLiveness(`${machine}x/${pid}/${start}`)).toBe('unknown')
    expect(processLiveness(`other:boot:pid/999999999/1`)).toBe('unknown')
  })

  it.each(['', '/', '#', 'worker-7', 'a/b/c', '//'])('of "%s" is unknown', (identity) => {
    expect(processLiveness(identity)).toBe('unknown')
  })

  it('of an identity that is cut off or has no pid is unknown', () => {
    const [machine, pid] = parts(processIdentity())
    expect(processLiveness(`${machine}/${pid}`)).toBe('unknown')
    expect(processLiveness(`${machine}/-5/1`)).toBe('unknown')
    expect(processLiveness(`${machine}/1e3/1`)).toBe('unknown')
    expect(processLiveness(machine)).toBe('unknown')
  })

  it('of a pid that no system has is dead', () => {
    expect(processLiveness(`${parts(processIdentity())[0]}/99999999999/1`)).toBe('dead')
  })

  it.runIf(onLinux)('of a zombie is dead: it does nothing any more', async () => {
    // A shell that execs a sleep never reaps its earlier child.
    const child = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const [output] = (await once(child.stdout, 'data')) as [Buffer]
    const pid = Number(output.toString())
    const stat = await zombieStat(pid)
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    const identity = `${parts(processIdentity())[0]}/${pid}/${start}`
    expect(() => process.kill(pid, 0)).not.toThrow()
    expect(processLiveness(identity)).toBe('dead')
  })
})

async function zombieStat(pid: number): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) return stat
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`${pid} did not become a zombie`)
}
