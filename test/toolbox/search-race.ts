/** Searches while another process swaps a folder for a link that leads outside. */
import { spawn } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SearchResult } from '../../src/toolbox/search-result.ts'
import { callTool, testFolder, toolIn } from './search-kit.ts'

const INSIDE = 'needle inside'

/** `d` is by turns a folder of the working folder and a link out of it. */
const SWAP = `const { renameSync } = require('node:fs')
for (;;) {
  renameSync('d', 'e'); renameSync('link', 'd'); renameSync('d', 'link'); renameSync('e', 'd')
}`

/** The lines that were shown and are not in the working folder. */
export async function raceSearch(searches: number): Promise<readonly string[]> {
  const folder = await testFolder({ 'd/x.txt': `${INSIDE}\n` })
  await mkdir(join(folder.base, 'outside'))
  await writeFile(join(folder.base, 'outside/x.txt'), 'needle outside\n')
  await symlink('../outside', join(folder.root, 'link'))
  const swapper = spawn(process.execPath, ['--eval', SWAP], { cwd: folder.root })
  const ended = new Promise((resolve) => {
    swapper.on('close', resolve)
  })
  try {
    const tool = await toolIn(folder.root, 'search_files')
    const lines: string[] = []
    for (let search = 0; search < searches; search++) {
      const { results } = await callTool<SearchResult>(tool, { path: '.', regex: 'needle' })
      lines.push(...results.flatMap((result) => result.lines))
    }
    return lines.filter((line) => line !== `1:${INSIDE}`)
  } finally {
    swapper.kill('SIGKILL')
    await ended
    await folder.remove()
  }
}
