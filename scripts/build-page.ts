/** Builds the page of `studio` into dist/page, where the server reads it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** In a process of its own: Vite takes the mode from NODE_ENV, and a test has another. */
export async function buildPage(): Promise<void> {
  const vite = [
    'node_modules/vite/bin/vite.js',
    'build',
    '--config',
    'studio/vite.config.ts',
    '--logLevel',
    'warn',
  ]
  await promisify(execFile)(process.execPath, vite, { env: { ...process.env, NODE_ENV: 'production' } })
}
