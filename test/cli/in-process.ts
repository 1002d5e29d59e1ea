/** The terminal in this process: the same `main`, for commands that no signal, pipe or end of a process is part of. */
import { Readable } from 'node:stream'
import { openOutputs } from '../../src/cli/gate/outputs.ts'
import { type CommandEnvironment, main } from '../../src/cli/main.ts'
import { Recorder } from './gate/world.ts'
import { cleanEnv, type Finished } from './kit.ts'

export async function inProcess(args: readonly string[], cwd: string): Promise<Finished> {
  const both = { text: '' }
  const [stdout, stderr] = [new Recorder(false, both), new Recorder(false, both)]
  const env = cleanEnv()
  const stdin = Readable.from([]) as unknown as CommandEnvironment['stdin']
  const code = await main(args, { ...openOutputs({ stdout, stderr }, { env }), cwd, env, stdin })
  return { code, stdout: stdout.text, stderr: stderr.text }
}
