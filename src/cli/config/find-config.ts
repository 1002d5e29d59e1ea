/** Finds the config file in this folder or one above it. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { unusable } from '../refusal.ts'

export const CONFIG_NAMES: readonly string[] = [
  'holdfast.config.ts',
  'holdfast.config.mts',
  'holdfast.config.js',
  'holdfast.config.mjs',
]

/** The path of `--config`, or the nearest file upward; undefined if there is none. */
export function findConfig(cwd: string, option?: string): string | undefined {
  if (option !== undefined) {
    const path = resolve(cwd, option)
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
    throw unusable(
      `The config ${path} does not exist. Check --config, or leave it out to look for ${CONFIG_NAMES[0]}.`,
    )
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const name = CONFIG_NAMES.find((each) => existsSync(join(folder, each)))
    if (name !== undefined) return join(folder, name)
    if (folder === dirname(folder)) return undefined
  }
}
