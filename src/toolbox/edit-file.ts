/**
 * A change of one file, for the tools that write: refused unless the conversation knows the content that it replaces,
 * stored as an intent before it begins, done atomically, and found out after a crash.
 *
 * E1. The intent (hashes before and after) is durable before the file changes. So a call without an intent has not happened.
 * E2. The file changes only if its content has the hash before in a last check right before the rename. So a change is never
 *     applied twice. Check and rename are one step to other edits of this process; what another process writes to an existing
 *     file between them is overwritten.
 * E3. After a crash the temporary files of the call are removed first. So a process that was only frozen cannot finish it.
 */
import type { PreviewContext, ToolContext, VerifyResult } from '../tool/index.ts'
import { type FileEdit, isKnown, knownContent, remember } from './known-content.ts'
import { PathError } from './path-error.ts'
import { contentHash, type Workspace } from './workspace.ts'

/** The largest file that is edited, or shown as a diff. */
const MOST_BYTES = 10 * 1024 * 1024

/** The content of a file now; undefined if there is none. */
export interface CurrentContent {
  readonly bytes: Uint8Array
  readonly hash: string
}

export async function currentContent(
  workspace: Workspace,
  path: string,
): Promise<CurrentContent | undefined> {
  if ((await workspace.locate(path)).kind === 'missing') return undefined
  return workspace.withFile(path, async ({ handle, size }) => {
    if (size > MOST_BYTES)
      throw new PathError(
        'failed',
        path,
        `is larger than ${MOST_BYTES} bytes. Change it with execute_command.`,
      )
    const bytes = await handle.readFile()
    return { bytes, hash: contentHash(bytes) }
  })
}

/** Throws unless the conversation has read this content, or written it. */
export async function checkKnown(
  context: ToolContext,
  {
    workspace,
    path,
    current,
  }: { readonly workspace: Workspace; readonly path: string; readonly current: string },
): Promise<void> {
  const known = await knownContent(context, workspace, path)
  if (isKnown(known, current)) return
  const isRead = known.hash !== undefined || known.edit !== undefined
  throw new PathError(
    'changed',
    path,
    isRead
      ? 'has changed since you read it. Nothing was written. Read it again with read_file first.'
      : 'exists, and you have not read it. Nothing was written. Read it with read_file first.',
  )
}

export interface Change {
  readonly workspace: Workspace
  readonly path: string
  readonly before: string | null
  readonly content: string
  readonly result: string
}

/** Makes the change and returns its result. */
export async function changeFile(context: ToolContext, change: Change): Promise<string> {
  const { workspace, path, before, content, result } = change
  const { callId } = context
  const edit: FileEdit = { callId, before, after: contentHash(content), result }
  // The content before stays known: the change may not happen.
  const known = before === null ? { edit } : { hash: before, edit }
  await remember(context, { workspace, path, known })
  context.signal.throwIfAborted()
  await workspace.write(path, { content, id: temporaryId(context), expected: before })
  await rememberDone(context, { workspace, path, edit })
  return result
}

interface DoneEdit {
  readonly workspace: Workspace
  readonly path: string
  readonly edit: FileEdit
}

/** From now on the content before is one that others have put back. */
async function rememberDone(context: ToolContext, { workspace, path, edit }: DoneEdit): Promise<void> {
  try {
    await remember(context, { workspace, path, known: { hash: edit.after, edit } })
  } catch {
    // The change has happened, and its result says so.
  }
}

/** After a crash: whether the change of this call has happened. */
export async function verifyChange(
  context: ToolContext,
  workspace: Workspace,
  path: string,
): Promise<VerifyResult<string>> {
  await workspace.removeTemporary(path, temporaryId(context))
  const { edit } = await knownContent(context, workspace, path)
  if (edit?.callId !== context.callId) return { happened: false }
  const now = (await currentContent(workspace, path))?.hash ?? null
  if (now === edit.after) {
    await rememberDone(context, { workspace, path, edit })
    return { happened: true, output: edit.result }
  }
  return now === edit.before ? { happened: false } : { happened: 'unknown' }
}

/** Conversations of one folder must not remove the temporary files of each other. */
function temporaryId({ contextId, idempotencyKey }: ToolContext): string {
  return `${contextId}\n${idempotencyKey}`
}

/** Text for a person, or for a diff. Undefined: it is no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

export interface Preview {
  readonly path: string
  /** Undefined: there is no file. */
  readonly before: string | undefined
  readonly after: string
}

const LONGEST_PREVIEW = 40_000
/** A diff of texts that have little in common takes long. */
const MOST_MS = 2000

/** The change as a unified diff. */
export async function unifiedDiff(
  { path, before, after }: Preview,
  { signal }: PreviewContext,
): Promise<string> {
  if (before === after) return `${path} already has this content: nothing would change.`
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
  signal.throwIfAborted()
  const patch = createTwoFilesPatch(
    before === undefined ? '/dev/null' : path,
    path,
    before ?? '',
    after,
    undefined,
    undefined,
    { context: 3, timeout: MOST_MS, headerOptions: FILE_HEADERS_ONLY },
  )
  if (patch === undefined) return `${path} would change too much to be shown as a diff.`
  if (patch.length <= LONGEST_PREVIEW) return patch
  return `${patch.slice(0, LONGEST_PREVIEW).toWellFormed()}\n… ${patch.length - LONGEST_PREVIEW} more characters of the diff are not shown.`
}

/** The preview of a call that cannot succeed is the reason. */
export async function previewOrReason(
  { signal }: PreviewContext,
  preview: () => Promise<string>,
): Promise<string> {
  try {
    return await preview()
  } catch (error) {
    signal.throwIfAborted()
    return `This call would fail. ${error instanceof Error ? error.message : String(error)}`
  }
}
