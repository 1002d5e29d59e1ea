/** The page in a browser, for `npm run test:page`: the rules of the other tests, and its file alone. */
import type { ViteUserConfig } from 'vitest/config'
import tests, { PAGE } from './vitest.config.ts'

const config: ViteUserConfig = {
  ...tests,
  test: { ...tests.test, include: [PAGE], exclude: ['**/node_modules/**'] },
}

export default config
