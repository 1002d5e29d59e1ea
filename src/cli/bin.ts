#!/usr/bin/env node
/**
 * The launcher. It uses only what very old versions of Node understand, so that they can say which one is needed; the
 * rest is loaded when the version is known to be right.
 */
const NEEDED = [22, 18]
const UNUSABLE = 3

const found = process.versions.node.split('.').map(Number)
const [major, minor] = found
const isOld =
  major === undefined ||
  minor === undefined ||
  major < Number(NEEDED[0]) ||
  (major === NEEDED[0] && minor < Number(NEEDED[1]))

if (isOld) {
  process.stderr.write(
    `holdfast needs Node ${NEEDED.join('.')} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org\n`,
  )
  process.exitCode = UNUSABLE
} else {
  import('./main.ts').then(
    (loaded) => loaded.start(),
    (error: unknown) => {
      process.stderr.write(`holdfast could not be loaded: ${String(error)}\n`)
      process.exitCode = 1
    },
  )
}
