/**
 * Tests lie beside their sources and, when they cross rooms, in test/.
 * Files share one module graph per worker (isolate: false): state kept at module level would leak
 * between files, which is one more reason to have none.
 * Outsiders in src import the package by its name; in tests that means its sources.
 */
import { resolve } from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import { readEntries } from './scripts/entries.ts'
import { builtModules } from './test/build/built-modules.ts'

/** The tests in a browser: `npm run test:page`. */
export const PAGE = 'test/serve/page/page.test.ts'

const config: ViteUserConfig = {
  plugins: [builtModules],
  resolve: {
    alias: readEntries(new URL('./', import.meta.url)).map(({ specifier, path }) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: resolve(`src/${path}.ts`),
    })),
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/package/**', PAGE, '**/node_modules/**'],
    globalSetup: 'test/build/setup.ts',
    pool: 'forks',
    isolate: false,
    // More than cores: several files wait for processes most of their time.
    maxWorkers: 4,
    // Ceilings for what hangs, not measures of speed: the machine may be busy with other things.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
  },
}

export default config
