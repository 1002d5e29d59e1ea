#!/usr/bin/env node
/**
 * The launcher: checks the version of Node, then loads the rest. Its syntax runs on very old versions, so that they can
 * name the one that is needed. No gate is loaded yet, so it prints ASCII only.
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

function hasWorkingFolder(): boolean {
  try {
    return process.cwd() !== ''
  } catch {
    return false
  }
}

if (isOld) {
  complain(
    `holdfast needs Node ${NEEDED.join('.')} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
  )
  process.exitCode = UNUSABLE
} else if (!hasWorkingFolder()) {
  complain('holdfast: The working folder was removed. Change to one that exists, and type the command again.')
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
