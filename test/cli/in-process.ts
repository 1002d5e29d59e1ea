/** The terminal in this process: the same `main`, for commands that no signal, pipe or end of a process is part of. */
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { openOutputs } from '../../src/cli/gate/outputs.ts'
import { type CommandEnvironment, main } from '../../src/cli/main.ts'
import { Recorder } from './gate/world.ts'
import { cleanEnv, FIXTURE, type Finished, type Launch } from './kit.ts'

export async function inProcess(
  args: readonly string[],
  { cwd, input, env: more }: Omit<Launch, 'meanwhile'>,
): Promise<Finished> {
  const both = { text: '' }
  const [stdout, stderr] = [new Recorder(false, both), new Recorder(false, both)]
  const env = cleanEnv(more)
  const chunks = input === undefined ? [] : [Buffer.from(input)]
  const stdin = Readable.from(chunks) as unknown as CommandEnvironment['stdin']
  const off = args.includes('--no-color')
  const code = await main(args, { ...openOutputs({ stdout, stderr }, { env, off }), cwd, env, stdin })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

/** With the agents of the fixture, and conversations in the working folder. */
export function siteInProcess(
  args: readonly string[],
  { cwd, env, ...rest }: Omit<Launch, 'meanwhile'>,
): Promise<Finished> {
  const [command = '', ...words] = args
  const home = { HOLDFAST_HOME: join(cwd, 'data'), ...env }
  return inProcess([command, '--config', FIXTURE, ...words], { cwd, env: home, ...rest })
}
