/** Folders and calls for tests of the tools that search. */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fakeToolContext } from '../../src/testing/index.ts'
import type { Tool } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'

/** Contents by path. */
export type Files = Readonly<Record<string, string | Uint8Array>>

export interface TestFolder {
  /** The folder around the working folder: outside of it. */
  readonly base: string
  readonly root: string
  readonly add: (files: Files) => Promise<void>
  readonly remove: () => Promise<void>
}

export async function testFolder(files: Files = {}): Promise<TestFolder> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'search-')))
  const root = join(base, 'root')
  await mkdir(root)
  const add = async (more: Files): Promise<void> => {
    for (const [path, content] of Object.entries(more)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    }
  }
  await add(files)
  return { base, root, add, remove: () => rm(base, { recursive: true, force: true }) }
}

export async function toolIn(root: string, id: string): Promise<Tool> {
  const [tool] = await loadTools({ cwd: root, toolIds: [id] })
  if (tool === undefined) throw new Error(`There is no tool ${id}`)
  return tool
}

/** A call as the runtime makes it: checked arguments, then the effect. */
export async function callTool<Out>(
  tool: Tool,
  args: object,
  signal: AbortSignal = new AbortController().signal,
): Promise<Out> {
  const checked = await tool.input['~standard'].validate(args)
  if (checked.issues !== undefined) throw new Error(checked.issues.map(({ message }) => message).join('; '))
  return (await tool.run(checked.value, fakeToolContext({ signal }))) as Out
}

/** True if a process of this program runs with this text among its arguments. */
export function isRunning(text: string): boolean {
  return execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .some((line) => line.includes(text))
}
