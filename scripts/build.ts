/** `npm run build`: bundles src and its declarations to a fresh dist, so that nothing deleted from src stays published. */
import { rmSync } from 'node:fs'
import { buildPage } from './build-page.ts'
import { bundle } from './bundle.ts'
import { runStep } from './step.ts'

rmSync('dist', { recursive: true, force: true })
const declarations = await runStep(
  { name: 'declarations', command: ['tsc', '-p', 'tsconfig.build.json'] },
  'loud',
)
if (declarations.ok) {
  await bundle()
  await buildPage()
} else process.exitCode = 1
