/** The table of vendors, and its copies: the guide, the optional packages, the prices. */
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parseName } from './name.ts'
import { PRICES } from './prices.ts'
import { OPENAI_COMPATIBLE, VENDORS } from './vendors.ts'

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as Record<string, object>

describe('vendors', () => {
  it.each(VENDORS)('$name has an example of its own, which means it', (vendor) => {
    const { example, bare, bareNames } = vendor
    expect(parseName(example)?.vendor).toBe(vendor)
    expect(bareNames === undefined).toBe(bare === undefined)
  })

  it.each(VENDORS)('$name needs a package that is an optional peer', async (vendor) => {
    const { peerDependencies = {}, peerDependenciesMeta = {} } = await readJson('package.json')
    expect(Object.keys(peerDependencies)).toContain(vendor.package)
    expect(peerDependenciesMeta).toHaveProperty([vendor.package], { optional: true })
  })

  it('that only the caller can place are one', () => {
    expect(VENDORS.filter(({ needsBaseURL }) => needsBaseURL)).toEqual([OPENAI_COMPATIBLE])
  })

  it('that run at home cost nothing', () => {
    for (const { name, local } of VENDORS)
      expect([name, PRICES[`${name}/`]]).toEqual([name, local ? { input: 0, output: 0 } : undefined])
  })

  it('have their rows in the guide, in the order of the table', async () => {
    const guide = await readFile('docs/guide/models.md', 'utf8')
    const list = guide.slice(guide.indexOf('| name | package | key |'))
    const rows = list.slice(0, list.indexOf('\n\n')).split('\n').slice(2)
    const expected = VENDORS.map((vendor) => {
      const { name, package: packageName, keyVariable, bareNames = [], needsBaseURL } = vendor
      const names = [`${name}/…`, ...bareNames].map((form) => `\`${form}\``).join(', ')
      const others = needsBaseURL ? ', any other with `baseURL`' : ''
      return `| ${names}${others} | \`${packageName}\` | ${keyVariable === undefined ? '' : `\`${keyVariable}\` |`}`
    })
    expect(rows.map((row, at) => row.slice(0, expected[at]?.length))).toEqual(expected)
  })
})
