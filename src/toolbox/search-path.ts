/** The path that is searched: a folder or a file of the working folder. */
import { PathError } from './path-error.ts'
import type { Located, Workspace } from './workspace.ts'

export async function searchPath(workspace: Workspace, given: string): Promise<Located> {
  const located = await workspace.locate(given)
  if (located.kind === 'missing')
    throw new PathError('missing', given, 'does not exist. Give the path of a folder or of a file.')
  if (located.kind === 'other')
    throw new PathError(
      'wrong-kind',
      given,
      'is a device, a pipe or a socket. Give the path of a folder or of a file.',
    )
  return located
}

/** A located path as it is given again: to a program never an option, to the workspace never `~` or a URL. */
export function pathArgument(path: string): string {
  return path === '.' ? './' : `./${path}`
}
