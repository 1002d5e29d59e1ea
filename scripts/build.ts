/** `npm run build`: compiles src to a fresh dist, so that nothing deleted from src stays published. */
import { rmSync } from 'node:fs'
import { runStep } from './step.ts'

rmSync('dist', { recursive: true, force: true })
const result = await runStep({ name: 'build', command: ['tsc', '-p', 'tsconfig.build.json'] }, 'loud')
if (!result.ok) process.exitCode = 1
