/** Before each test file: Node loads its modules by these hooks, which are registered once in each worker. */
await import('../../scripts/from-source.ts')
await import('./built-modules.ts')
