/**
 * Hostile commands in the sandbox: each one that reads, writes, reaches or outlives anything outside is a fault. First
 * those that can be tried without a sandbox are, and every one of them must be seen to succeed there.
 */
import { processesWith } from '../../test/toolbox/command-kit.ts'
import { type HostileCommand, hostileCommands } from '../../test/toolbox/hostile-commands.ts'
import { HostileWorld } from '../../test/toolbox/hostile-world.ts'

export interface HostileRun {
  /** How many commands, at most. */
  readonly count: number
  readonly report: (line: string) => void
}

export interface HostileFindings {
  readonly commands: number
  readonly controls: number
  /** Commands that escaped, and controls that did not. */
  readonly faults: readonly string[]
}

export async function run({ count, report }: HostileRun): Promise<HostileFindings> {
  const world = new HostileWorld()
  await world.open()
  try {
    const all = hostileCommands(world)
    const controls = await tryAll(
      world,
      spread(
        all.filter(({ control }) => control),
        count / 4,
      ),
      'off',
    )
    report(`${controls.tried} commands without a sandbox: ${controls.escaped.length} escape`)
    const confined = await tryAll(world, spread(all, count), 'required')
    report(`${confined.tried} commands in the sandbox: ${confined.escaped.length} escape`)
    const faults = [
      ...confined.escaped,
      ...controls.confined.map((command) => `Without a sandbox this found nothing: ${command}`),
    ]
    return { commands: confined.tried, controls: controls.tried, faults }
  } finally {
    await world.close()
  }
}

/** So many of them, from all over the list. */
function spread<T>(list: readonly T[], count: number): readonly T[] {
  const step = Math.max(1, list.length / count)
  return list.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
}

interface Tried {
  readonly tried: number
  readonly escaped: readonly string[]
  readonly confined: readonly string[]
}

async function tryAll(
  world: HostileWorld,
  commands: readonly HostileCommand[],
  sandbox: 'required' | 'off',
): Promise<Tried> {
  const escaped: string[] = []
  const confined: string[] = []
  await world.folder.load({ sandbox })
  const add = ({ command }: HostileCommand, found: readonly string[]): void => {
    if (found.length > 0) escaped.push(`${command}: ${found.join(', ')}`)
    else confined.push(command)
  }
  // In turn: what is found outside belongs to the command before it. Survivors are told apart by their marks.
  for (const each of commands) if (each.mark === undefined) add(each, await escapesOf(world, each.command))
  const survivors = commands.filter(({ mark }) => mark !== undefined)
  await Promise.all(survivors.map(async (each) => add(each, await survivalOf(world, each, sandbox))))
  return { tried: commands.length, escaped, confined }
}

async function escapesOf(world: HostileWorld, command: string): Promise<readonly string[]> {
  const { stdout, stderr } = await world.folder.run(command)
  return world.escapes(stdout + stderr)
}

/** The least time that some of them get. One that needs more is killed too early to be dangerous, which is no fault. */
const SURVIVE_MS = 1000
const PATIENCE_MS = 60_000

async function survivalOf(
  world: HostileWorld,
  { command, mark = '' }: HostileCommand,
  sandbox: 'required' | 'off',
): Promise<readonly string[]> {
  await world.folder.run(command, sandbox === 'off' ? {} : { timeout_ms: SURVIVE_MS })
  // The kernel takes a moment to end a namespace.
  const until = performance.now() + (sandbox === 'off' ? 0 : PATIENCE_MS)
  while (processesWith(mark).length > 0 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20))
  const left = processesWith(mark)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  return left.length > 0 ? ['left a process'] : []
}
