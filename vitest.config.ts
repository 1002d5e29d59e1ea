/**
 * Tests lie beside their sources and, when they cross rooms, in test/.
 * Files share one module graph per worker (isolate: false): state kept at module level would leak
 * between files, which is one more reason to have none.
 * Outsiders in src import the package by its name; in tests that means its sources.
 */
import { resolve } from 'node:path'
import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  resolve: {
    alias: [
      { find: /^holdfast$/, replacement: resolve('src/index.ts') },
      { find: /^holdfast\/graph$/, replacement: resolve('src/graph/index.ts') },
      { find: /^holdfast\/reflex$/, replacement: resolve('src/reflex/index.ts') },
      { find: /^holdfast\/config$/, replacement: resolve('src/cli/config/define-config.ts') },
      { find: /^holdfast\/terminal$/, replacement: resolve('src/terminal/index.ts') },
      { find: /^holdfast\/testing$/, replacement: resolve('src/testing/index.ts') },
      { find: /^holdfast\/sqlite$/, replacement: resolve('src/store/sqlite/index.ts') },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/package/**', '**/node_modules/**'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    // Ceilings for what hangs, not measures of speed: the machine may be busy with other things.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
  },
}

export default config
