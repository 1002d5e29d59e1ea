/** The system prompts of the agents: files of the package, with version and label, or the user's own. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { HoldfastError } from '../../protocol/index.ts'
import { type PromptFile, promptFile } from '../../turn/index.ts'

export type PromptName = 'orchestrator' | 'clarification' | 'research' | 'synthesis' | 'support'

/** From the sources, and from the built package. */
const FOLDERS = ['../../../prompts/research/', '../../prompts/research/', '../prompts/research/']

const shipped = new Map<PromptName, PromptFile>()

export function shippedPrompt(name: PromptName): PromptFile {
  const known = shipped.get(name)
  if (known !== undefined) return known
  const url = FOLDERS.map((folder) => new URL(`${folder}${name}.md`, import.meta.url)).find((each) =>
    existsSync(each),
  )
  if (url === undefined)
    throw new HoldfastError('not-found', {
      message: `The prompt ${name}.md of the package is missing. Reinstall holdfast, or set a prompt of your own.`,
    })
  const file = promptFile(fileURLToPath(url))
  shipped.set(name, file)
  return file
}
