/** A process that swaps one file or folder for a link to the outside, and back, as fast as it can, until it is killed. */
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'

export interface Swap {
  /** `file`: by renames over it, without a gap. `folder`: with the shortest gap. `link`: a link for another one. */
  readonly what: 'file' | 'folder' | 'link'
  readonly at: string
  /** The target of the link. */
  readonly to: string
  /** Of `link`: the other target, inside. */
  readonly inside?: string
}

function swapFile({ at, to }: Swap): void {
  symlinkSync(to, `${at}.next`)
  renameSync(`${at}.next`, at)
  writeFileSync(`${at}.next`, 'inside')
  renameSync(`${at}.next`, at)
}

function swapFolder({ at }: Swap): void {
  renameSync(at, `${at}.aside`)
  moveTo(`${at}.link`, at)
  renameSync(at, `${at}.link`)
  moveTo(`${at}.aside`, at)
}

/** A writer may create a folder in the gap, again and again. */
function moveTo(from: string, to: string): void {
  for (;;) {
    try {
      return renameSync(from, to)
    } catch {}
    try {
      rmSync(to, { recursive: true, force: true })
    } catch {}
  }
}

function swapLink({ at, to, inside = '' }: Swap): void {
  for (const target of [to, inside]) {
    symlinkSync(target, `${at}.next`)
    renameSync(`${at}.next`, at)
  }
}

const swap = JSON.parse(process.argv[2] ?? '{}') as Swap
if (swap.what === 'folder') symlinkSync(swap.to, `${swap.at}.link`)
const once = { file: swapFile, folder: swapFolder, link: swapLink }[swap.what]
once(swap)
process.send?.('begun')
for (;;) once(swap)
