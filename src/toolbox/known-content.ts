/**
 * The contents of files that a conversation knows: hashes of what it has read and of what it has written, one data
 * artifact a file. So they survive a restart, and belong to this conversation alone. Knows nothing of handles.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { ToolContext } from '../tool/index.ts'
import { storedContent } from './stored-content.ts'
import { contentHash, type Workspace } from './workspace.ts'

/** A change of a file, stored before it begins. */
export interface FileEdit {
  readonly callId: string
  /** Hashes of the content before and after it. Null: no file. */
  readonly before: string | null
  readonly after: string
  /** The result of the call, if the change happens. */
  readonly result: string
}

export interface KnownContent {
  /** Of the content that was read or written last. */
  readonly hash?: string
  /** The change that was begun last, whether or not it has happened. */
  readonly edit?: FileEdit
}

/** A path as an id: without links, so that a link that changes does not lead to what is known of another file. */
function artifactId(workspace: Workspace, path: string): { readonly id: string; readonly name: string } {
  const name = workspace.nameOf(path)
  return { id: `toolbox.file.${contentHash(name).slice(0, 24)}`, name }
}

export async function knownContent(
  { artifacts }: Pick<ToolContext, 'artifacts'>,
  workspace: Workspace,
  path: string,
): Promise<KnownContent> {
  return (await storedContent(artifacts, artifactId(workspace, path).id)) ?? {}
}

/** Whether the conversation knows this content: it has read it, or has written it itself. */
export function isKnown({ hash, edit }: KnownContent, current: string): boolean {
  return current === hash || current === edit?.after
}

export interface Remembered {
  readonly workspace: Workspace
  readonly path: string
  readonly known: KnownContent
}

/** Durable when it resolves. */
export async function remember(
  { artifacts }: Pick<ToolContext, 'artifacts'>,
  { workspace, path, known }: Remembered,
): Promise<void> {
  const { id, name } = artifactId(workspace, path)
  await artifacts.writeData(id, { ...known } as unknown as JsonObject, { name })
}
