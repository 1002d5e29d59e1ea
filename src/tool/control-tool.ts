/** The runtime's own tools that act on their conversation alone: completion, todo list, questions to the person. */
import type { Tool } from './tool.ts'

/** By identity: neither a name nor an option nor a copy makes a tool of a program one of them. */
const CONTROL_TOOLS = new WeakSet<Tool>()

/** Marks a tool without an effect outside of its conversation: an approval policy decides about it only by a rule that names it. */
export function controlTool<T extends Tool>(tool: T): T {
  CONTROL_TOOLS.add(tool)
  return tool
}

export function isControlTool(tool: Tool): boolean {
  return CONTROL_TOOLS.has(tool)
}
