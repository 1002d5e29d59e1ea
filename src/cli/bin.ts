#!/usr/bin/env node
/**
 * The launcher. It uses only what very old versions of Node understand, so that they can say which one is needed; the
 * rest is loaded when the version is known to be right. Until then there is no gate, so it prints nothing but ASCII.
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

function complain(message: string): void {
  process.stderr.write(`${message.replace(/[^ -~]/g, '?')}\n`)
}

if (isOld) {
  complain(
    `holdfast needs Node ${NEEDED.join('.')} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
  )
  process.exitCode = UNUSABLE
} else {
  import('./main.ts').then(
    (loaded) => loaded.start(),
    (error: unknown) => {
      complain(`holdfast could not be loaded: ${String(error)}`)
      process.exitCode = 1
    },
  )
}
