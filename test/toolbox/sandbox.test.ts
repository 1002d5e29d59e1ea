/** The sandbox of commands: nothing outside of the folder is read, written, reached or outlived. */
import { spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { run } from '../../scripts/toolbox/command.ts'
import { shellCommand } from '../../src/toolbox/command-shell.ts'
import { runProcess } from '../../src/toolbox/run-process.ts'
import { findSandbox } from '../../src/toolbox/sandbox.ts'
import { CommandFolder, whyNoSandbox } from './command-kit.ts'
import { HostileWorld } from './hostile-world.ts'

const missing = await whyNoSandbox()

beforeEach((context) => context.skip(missing !== undefined, missing))

it('hostile commands that escape without a sandbox do not escape from it', async () => {
  const { commands, controls, faults } = await run({ count: 16, report: () => {} })
  expect(faults).toEqual([])
  expect([commands, controls]).toEqual([16, 4])
})

it('a command that is cancelled before its sandbox is ready does nothing', async () => {
  const folder = new CommandFolder()
  const sandbox = await findSandbox({ root: folder.path, network: false, readable: [] })
  if (sandbox.kind === 'none') throw new Error(sandbox.why)
  const [shell, ...command] = shellCommand('sleep 0.2; touch ran', true)
  const end = await runProcess({
    file: sandbox.file,
    args: [...sandbox.args(folder.path), shell, ...command],
    cwd: '/',
    env: {},
    timeoutMs: 60_000,
    signal: AbortSignal.abort(),
    keepsLeader: true,
    onOutput: () => undefined,
  })
  expect(end).toMatchObject({ stopped: 'cancelled', isHeld: false })
  expect(folder.has('ran')).toBe(false)
  folder.remove()
})

it('only the folder, /tmp and /dev/shm can be written', async () => {
  const folder = new CommandFolder()
  await folder.load({ sandbox: 'required' })
  const { stdout } = await folder.run(
    // Of /dev, the devices and their folder pts are left out.
    'find / -maxdepth 2 ( -path "/proc/*" -o -path "/dev/*" ! -path /dev/shm ) -prune -o -writable ! -type l -print; find /proc/sys /proc/1 -writable ! -type l 2>/dev/null; find . -writable'.replaceAll(
      /[()]/g,
      String.raw`\$&`,
    ),
  )
  expect(stdout.trim().split('\n')).toEqual([
    '/tmp',
    ...(dirname(folder.path) === '/tmp' ? [folder.path] : []),
    '/dev/shm',
    '.',
  ])
  folder.remove()
})

it('the journals of the terminal in the folder are hidden', async () => {
  const folder = new CommandFolder()
  mkdirSync(join(folder.path, '.holdfast'))
  writeFileSync(join(folder.path, '.holdfast/holdfast.db'), 'journal')
  await folder.load({ sandbox: 'required' })
  await folder.run(
    'cat .holdfast/*; ls -A .holdfast; echo x > .holdfast/holdfast.db; rm -rf .holdfast; mv .holdfast x',
  )
  expect(folder.read('.holdfast/holdfast.db')).toBe('journal')
  expect((await folder.run('cat .holdfast/holdfast.db')).stdout).toBe('')
  folder.remove()
})

it('a command cannot make journals where there are none', async () => {
  const folder = new CommandFolder()
  await folder.load({ sandbox: 'required' })
  const { status } = await folder.run('mkdir -p .holdfast/logs || ln -s /tmp .holdfast/logs')
  expect(status).toBe('error')
  await folder.run('rm -rf .holdfast; mv .holdfast x; ln -sfn /tmp .holdfast')
  const made = lstatSync(join(folder.path, '.holdfast'))
  expect([made.isDirectory(), made.mode & 0o777]).toEqual([true, 0o700])
  expect(readdirSync(join(folder.path, '.holdfast'))).toEqual([])
  expect(folder.has('x')).toBe(false)
  folder.remove()
})

it('no command runs while the name of the journals is a link', async () => {
  const folder = new CommandFolder()
  await folder.load({ sandbox: 'required' })
  symlinkSync('/tmp', join(folder.path, '.holdfast'))
  expect((await folder.run('echo ran > ran')).text).toContain('.holdfast is no folder')
  expect(folder.has('ran')).toBe(false)
  folder.remove()
})

it('with network: true a command reaches the network, and files outside as little as before', async () => {
  const world = new HostileWorld()
  await world.open()
  await world.folder.load({ sandbox: 'required', network: true })
  const { stdout } = await world.folder.run(`exec 3<>/dev/tcp/127.0.0.1/${world.port} && cat <&3`)
  expect(stdout).toBe(world.secret)
  expect(world.escapes('')).toEqual(['reached a listener'])
  const read = await world.folder.run(`cat ${world.outside[0]}/secret; cat ${world.socket}`)
  expect(world.escapes(read.stdout + read.stderr)).toEqual([])
  await world.close()
})

it('a command has a loopback of its own', async () => {
  const folder = new CommandFolder()
  await folder.load({ sandbox: 'required' })
  expect((await folder.run('exec 3<>/dev/tcp/127.0.0.1/9')).stderr).toContain('Connection refused')
  folder.remove()
})

it.runIf(process.getuid?.() === 0)('works for a normal user, too', async () => {
  const folder = new CommandFolder()
  chmodSync(folder.path, 0o777)
  const sandbox = await findSandbox({ root: folder.path, network: false, readable: [] })
  if (sandbox.kind === 'none') throw new Error(sandbox.why)
  const args = [...sandbox.args(folder.path), '/bin/sh', '-c', 'id -u; echo made > made; echo x > /usr/x']
  const nobody = { uid: 65_534, gid: 65_534 }
  const { stdout, stderr } = spawnSync(sandbox.file, args, { ...nobody, env: {}, encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['65534\n', expect.stringContaining('Read-only file system')])
  expect(folder.read('made')).toBe('made\n')
  folder.remove()
})
