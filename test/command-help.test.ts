/** Long commands of the project say how they are used, before they begin. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('prints the help and does nothing else', () => {
  const output = execFileSync(process.execPath, ['scripts/properties.ts', '-h'], { encoding: 'utf8' })
  expect(output).toMatch(/^Usage: npm run properties -- \[RUNS\]\n/)
  expect(output).toMatch(/Examples:\n {2}npm run properties .*\n.*\n.*seed\n$/)
})

it.each(['explore', 'many', 'kill', 'properties', 'flood', 'shuffle', 'documents'])(
  'npm run %s has a help with every option',
  (name) => {
    const text = readFileSync(`scripts/${name}.ts`, 'utf8')
    const help = /`(Usage: [^`]*)`/.exec(text)?.[1] ?? ''
    const parsed = /parseArgs\(\{\s+options: \{([^]*?)\n {2}\},/.exec(text)?.[1] ?? ''
    const options = [...parsed.matchAll(/^ {4}(\w+): \{/gm)].map(([, option = '']) => `  --${option} `)
    expect(text).toMatch(/helpIfAsked\(/)
    expect(help.startsWith(`Usage: npm run ${name} -- `)).toBe(true)
    expect(
      [...options, '  --help\n', `Examples:\n  npm run ${name} `].filter((part) => !help.includes(part)),
    ).toEqual([])
  },
)
