/** Everything that the tools of one working folder share. Knows no tool. */
import type { Tool } from '../tool/index.ts'
import type { DescribeImage } from './describe-image.ts'
import type { CommandSettings } from './execute-command.ts'
import type { WebOptions } from './web-access.ts'
import type { Workspace } from './workspace.ts'

export interface ToolboxContext {
  /** The working folder, for every path that a model gives. */
  readonly workspace: Workspace
  readonly web?: WebOptions
  readonly describeImage?: DescribeImage
  /** The sandbox and the environment of commands. */
  readonly commands: CommandSettings
}

export type ToolFactory = (context: ToolboxContext) => Tool
