#!/usr/bin/env node
// The command of the package. In a clone, what it starts has to be built first.
import { existsSync } from 'node:fs'

const launcher = new URL('../dist/cli/bin.js', import.meta.url)

if (existsSync(launcher)) await import(launcher.href)
else {
  process.stderr.write(
    'holdfast is not built in this clone. Run: npm run build (the chat of npm start needs no build)\n',
  )
  process.exitCode = 3
}
