/**
 * Tests lie beside their sources and, when they cross rooms, in test/.
 * Files share one module graph per worker (isolate: false): state kept at module level would leak
 * between files, which is one more reason to have none.
 * Node loads the modules itself, as it does for a user: Vite transforms none. Outsiders in src import the package by its
 * name; in tests that means its sources.
 */
import type { ViteUserConfig } from 'vitest/config'

/** The tests in a browser: `npm run test:page`. */
export const PAGE = 'test/serve/page/page.test.ts'

const config: ViteUserConfig = {
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/package/**', PAGE, '**/node_modules/**'],
    globalSetup: 'test/build/setup.ts',
    setupFiles: 'test/build/modules.ts',
    // `nodeLoader` is for mocked modules, and there are none.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
    // MB for young objects: most objects of a test die young, and a rarer collection copies fewer of them.
    execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
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
