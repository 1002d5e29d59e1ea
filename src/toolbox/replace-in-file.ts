/** The tool `replace_in_file`: changes parts of a file of the working folder by SEARCH/REPLACE blocks. */
import type { JsonObject } from '../protocol/index.ts'
import { defineTool, jsonSchema, type PreviewContext, type Tool, type ToolContext } from '../tool/index.ts'
import {
  changeFile,
  checkKnown,
  currentContent,
  previewOrReason,
  textOf,
  unifiedDiff,
  verifyChange,
} from './edit-file.ts'
import { PathError } from './path-error.ts'
import { applyBlocks, MOST_COUNTED, parseBlocks, type Replaced } from './search-replace.ts'
import { counted } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import type { Workspace } from './workspace.ts'

interface ReplaceInput {
  readonly path: string
  readonly diff: string
}

const INPUT: JsonObject = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The path of the file, from the working folder.' },
    diff: {
      type: 'string',
      description: `One or more blocks, in the order of the file, each marker alone on its line:
------- SEARCH
the exact text to find
=======
the text to replace it with
+++++++ REPLACE
SEARCH must match exactly, with all spaces; the first occurrence is replaced. An empty REPLACE deletes the text.`,
    },
  },
  required: ['path', 'diff'],
  additionalProperties: false,
}

export function replaceInFile({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'replace_in_file',
    description:
      'Changes parts of a file by SEARCH/REPLACE blocks. All blocks apply, or none. Read the file with read_file first.',
    input: jsonSchema<ReplaceInput>(INPUT),
    replay: 'never',
    exclusive: true,
    approve: 'always',
    preview: (input, context) => previewReplace(workspace, input, context),
    verify: ({ path }, context) => verifyChange(context, workspace, path),
    run: (input, context) => replace(workspace, input, context),
  })
}

interface Replacement extends Replaced {
  readonly before: string
  readonly hash: string
}

async function replacement(workspace: Workspace, { path, diff }: ReplaceInput): Promise<Replacement> {
  const blocks = parseBlocks(diff.toWellFormed())
  const current = await currentContent(workspace, path)
  if (current === undefined)
    throw new PathError(
      'missing',
      path,
      'does not exist. Create it with write_to_file, or give another path.',
    )
  const before = textOf(current.bytes)
  if (before === undefined)
    throw new PathError(
      'wrong-kind',
      path,
      'is no text in UTF-8, so it cannot be edited. Nothing was written.',
    )
  return { ...applyBlocks(before, blocks), before, hash: current.hash }
}

async function replace(workspace: Workspace, input: ReplaceInput, context: ToolContext): Promise<string> {
  const { path } = input
  const { before, content, hash, occurrences } = await replacement(workspace, input)
  await checkKnown(context, { workspace, path, current: hash })
  if (content === before) return `The blocks change nothing in ${path}. Nothing was written.`
  const more = occurrences.flatMap((count, index) =>
    count > 1
      ? [
          ` Block ${index + 1} replaced the first of ${count < MOST_COUNTED ? '' : 'at least '}${count} occurrences.`,
        ]
      : [],
  )
  const result = `Updated ${path}: ${counted(occurrences.length, 'block')} replaced, now ${counted(Buffer.byteLength(content), 'byte')}.${more.join('')}`
  return changeFile(context, { workspace, path, before: hash, content, result })
}

async function previewReplace(
  workspace: Workspace,
  input: ReplaceInput,
  context: PreviewContext,
): Promise<string> {
  return previewOrReason(context, async () => {
    const { before, content } = await replacement(workspace, input)
    return unifiedDiff({ path: input.path, before, after: content }, context)
  })
}
