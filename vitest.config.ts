/**
 * Tests lie beside their sources and, when they cross rooms, in test/.
 * Files share one module graph per worker (isolate: false): state kept at module level would leak
 * between files, which is one more reason to have none.
 */
import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/package/**', '**/node_modules/**'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
  },
}

export default config
