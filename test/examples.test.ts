/** The examples as a reader copies them: README.md names every package that they need beside Holdfast. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('README.md says which packages the examples need', () => {
  const [, said = ''] =
    /To run one from the\sinstalled package,([\s\S]+?)\n\n/.exec(readFileSync('README.md', 'utf8')) ?? []
  const needed = globSync('examples/**/*.ts').flatMap((file) =>
    Array.from(readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g), ([, name = '']) => name),
  )
  const foreign = new Set(needed.filter((name) => !/^(?:\.|node:|holdfast(?:\/|$))/.test(name)))
  expect([...foreign].filter((name) => !said.includes(`\`${name}\``))).toEqual([])
  expect(foreign).toContain('zod')
})
