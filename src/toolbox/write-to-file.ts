/** The tool `write_to_file`: creates a file of the working folder, or replaces the whole content of one. */
import type { JsonObject } from '../protocol/index.ts'
import { defineTool, jsonSchema, type PreviewContext, type Tool, type ToolContext } from '../tool/index.ts'
import { changeFile, checkKnown, currentContent, textOf, unifiedDiff, verifyChange } from './edit-file.ts'
import { counted, linesIn } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import { contentHash, type Workspace } from './workspace.ts'

interface WriteInput {
  readonly path: string
  readonly content: string
}

const INPUT: JsonObject = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The path of the file, from the working folder.' },
    content: { type: 'string', description: 'The complete content of the file, with nothing left out.' },
  },
  required: ['path', 'content'],
  additionalProperties: false,
}

export function writeToFile({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'write_to_file',
    description:
      'Creates a file with this content, or replaces the whole content of a file. Missing folders are created. Read an existing file with read_file first; for a small change use replace_in_file.',
    input: jsonSchema<WriteInput>(INPUT),
    replay: 'never',
    exclusive: true,
    approve: 'always',
    preview: (input, context) => previewWrite(workspace, input, context),
    verify: ({ path }, context) => verifyChange(context, workspace, path),
    run: (input, context) => write(workspace, input, context),
  })
}

async function write(
  workspace: Workspace,
  { path, content: given }: WriteInput,
  context: ToolContext,
): Promise<string> {
  const content = given.toWellFormed()
  const current = await currentContent(workspace, path)
  if (current?.hash === contentHash(content))
    return `${path} already has exactly this content. Nothing was written.`
  if (current !== undefined) await checkKnown(context, { workspace, path, current: current.hash })
  const bytes = Buffer.from(content)
  const size = `${counted(linesIn(bytes), 'line')}, ${counted(bytes.length, 'byte')}`
  const result = `${current === undefined ? 'Created' : 'Updated'} ${path}: ${size}.`
  return changeFile(context, { workspace, path, before: current?.hash ?? null, content, result })
}

async function previewWrite(
  workspace: Workspace,
  { path, content }: WriteInput,
  context: PreviewContext,
): Promise<string> {
  const current = await currentContent(workspace, path)
  const before = current === undefined ? undefined : textOf(current.bytes)
  if (current !== undefined && before === undefined)
    return `${path} is a binary file of ${counted(current.bytes.length, 'byte')}. It would be replaced by a text of ${counted(Buffer.byteLength(content), 'byte')}.`
  return unifiedDiff({ path, before, after: content.toWellFormed() }, context)
}
