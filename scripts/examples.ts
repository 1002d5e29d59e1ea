/**
 * `npm run examples`: runs every examples/*.ts, and every documented snippet that says it runs, on the
 * built package. A snippet is a ```ts block right after the comment `<!-- runs: name.ts -->`; snippets are
 * type-checked too. All import the package by its name, as a reader would; run the build first.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { runStep, type Step, summary } from './step.ts'

const snippetFolder = '.tmp/snippets'
const snippetPattern = /<!-- runs: ([\w-]+\.ts) -->\s*```ts\n([\s\S]*?)\n```/g

function writeSnippets(): string[] {
  rmSync(snippetFolder, { recursive: true, force: true })
  const origins = new Map<string, string>()
  for (const page of globSync(['README.md', 'docs/guide/*.md']).toSorted()) {
    for (const [, name = '', code = ''] of readFileSync(page, 'utf8').matchAll(snippetPattern)) {
      const earlier = origins.get(name)
      if (earlier) throw new Error(`Snippet ${name} is in ${earlier} and in ${page}; rename one`)
      origins.set(name, page)
      mkdirSync(snippetFolder, { recursive: true })
      writeFileSync(join(snippetFolder, name), `${code}\n`)
    }
  }
  return [...origins.keys()].map((name) => join(snippetFolder, name))
}

function typeCheckOf(snippets: readonly string[]): Step[] {
  if (snippets.length === 0) return []
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: { noUnusedLocals: false, isolatedDeclarations: false },
    include: ['*.ts'],
  }
  writeFileSync(join(snippetFolder, 'tsconfig.json'), JSON.stringify(config))
  return [{ name: 'snippet types', command: ['tsc', '--noEmit', '-p', snippetFolder] }]
}

const snippets = writeSnippets()
/** Programs leave their files here, so that each starts in an empty folder. */
function emptyFolderFor(file: string): string {
  const folder = join('.tmp', 'runs', basename(file))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return folder
}

const programs = [...globSync('examples/*.ts').toSorted(), ...snippets]
const steps: Step[] = [
  ...typeCheckOf(snippets),
  ...programs.map(
    (file): Step => ({ name: basename(file), command: ['node', resolve(file)], cwd: emptyFolderFor(file) }),
  ),
]
for (const step of steps) {
  const result = await runStep(step, 'quiet')
  console.log(result.ok ? summary(result) : `${summary(result)}\n${result.output.trimEnd()}`)
  if (!result.ok) process.exitCode = 1
}
console.log(`${programs.length} programs (${snippets.length} from the documentation)`)
rmSync(snippetFolder, { recursive: true, force: true })
