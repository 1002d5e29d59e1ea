/** The folders of a PATH in which programs are looked for: none that a tool of the working folder could write to. */
import { realpathSync } from 'node:fs'
import { delimiter, isAbsolute } from 'node:path'

/** The folders that exist outside of the working folder, whose real path is `root`. */
export function foldersOutside(root: string, path: string): readonly string[] {
  const below = root.endsWith('/') ? root : `${root}/`
  return path.split(delimiter).filter((folder) => {
    if (!isAbsolute(folder)) return false
    try {
      return !`${realpathSync(folder)}/`.startsWith(below)
    } catch {
      return false
    }
  })
}
