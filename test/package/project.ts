/**
 * A consumer's project in a temporary folder: the packed tarball installed without a network, plus the
 * probe and a file that names every export. It knows nothing about what the package should contain.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const node22 = resolve('test/package/node22')

export interface Packed {
  readonly tarball: string
  /** Paths inside the package. */
  readonly files: readonly string[]
}

export interface Probe {
  /** The names that exist when the module runs: no types. */
  readonly names: readonly string[]
  /** The address of every module loaded by the import. */
  readonly loaded: readonly string[]
  /** What the import has changed around it, and the warnings that it caused. */
  readonly effects: readonly string[]
}

export function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'holdfast-package-'))
}

export function pack(folder: string): Packed {
  const output = run('npm', ['pack', '--json', '--pack-destination', folder], '.')
  const [packed] = JSON.parse(output) as { filename: string; files: { path: string }[] }[]
  if (!packed) throw new Error(`npm pack reported nothing: ${output}`)
  return { tarball: join(folder, packed.filename), files: packed.files.map((file) => file.path) }
}

export function install(folder: string, tarball: string): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball], folder)
  for (const file of ['probe.ts', 'contract.ts', 'agent.ts', 'entries.ts'])
    cpSync(join('test/package/consumer', file), join(folder, file))
  // Under its own name only there: here it would hide the project's, and with it where `holdfast` is found.
  cpSync('test/package/consumer/tsconfig.consumer.json', join(folder, 'tsconfig.json'))
}

/** Imports an entry in a fresh process of the given Node. */
export function probe(folder: string, node: string, entry: string): Probe {
  return JSON.parse(run(node, ['--no-warnings', 'probe.ts', entry], folder)) as Probe
}

/** One of the consumer's programs on the installed package; returns what it says. */
export function play(folder: string, node: string, program: 'contract.ts' | 'agent.ts'): string {
  rmSync(join(folder, 'agent.db'), { force: true })
  return run(node, ['--no-warnings', program], folder).trim()
}

/** Adds one import of every name to the project. */
export function nameAll(folder: string, namesOf: ReadonlyMap<string, readonly string[]>): void {
  const lines = [...namesOf].map(([entry, names], index) => {
    const renamed = names.map((name) => `${name} as ${name}${index}`)
    return `export type { ${renamed.join(', ')} } from '${entry}'`
  })
  writeFileSync(join(folder, 'names.ts'), `${lines.join('\n')}\n`)
  symlinkSync(resolve('node_modules/@types'), join(folder, 'node_modules/@types'))
}

/** The oldest supported Node; installed from its own lock file when it is not there yet. */
export function oldestNode(): string {
  const binary = join(node22, 'node_modules/node/bin/node')
  const manifest = JSON.parse(readFileSync(join(node22, 'package.json'), 'utf8')) as {
    devDependencies: { node: string }
  }
  const wanted = `v${manifest.devDependencies.node}`
  if (!existsSync(binary) || run(binary, ['--version'], '.').trim() !== wanted) run('npm', ['ci'], node22)
  return binary
}

/** Runs a command and returns what it printed; what it printed is in the error too when it fails. */
export function run(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${[command, ...args].join(' ')} failed\n${stdout}${stderr}`, { cause: error })
  }
}
