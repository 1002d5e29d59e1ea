/** A working folder for a test, with its tools, and the artifacts of one conversation. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { fakeToolContext, memoryArtifacts } from '../../src/testing/tool-context.ts'
import { artifacts, type Tool, type ToolContext } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { memoryFolder } from '../memory-folder.ts'
import { type Call, callerOf } from './caller.ts'

export interface Box {
  /** Holds the working folder, and whatever is outside of it. */
  readonly base: string
  readonly root: string
  readonly context: ToolContext
  readonly tool: (name: string) => Tool
  readonly call: Call
}

/** Removed when the test has finished. */
export async function box(): Promise<Box> {
  const base = memoryFolder('holdfast-toolbox-')
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'root')
  mkdirSync(root)
  const tools = await loadTools({ cwd: root })
  const context = fakeToolContext({ artifacts: artifacts(memoryArtifacts()) })
  const tool = (name: string): Tool => tools.find((each) => each.name === name) as Tool
  return { base, root, context, tool, call: await callerOf(root, context) }
}
