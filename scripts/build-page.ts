/** Builds the page of `studio` into dist/page, where the server reads it. */
import { build } from 'vite'

export async function buildPage(): Promise<void> {
  await build({ configFile: 'studio/vite.config.ts', logLevel: 'warn' })
}
