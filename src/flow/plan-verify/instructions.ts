/** Instructions that a tool brings for the prompts of nodes: built-in tools, those of MCP servers, and your own alike. */

import { HoldfastError, quote } from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import { PROMPT_NODES, type PromptNode } from './prompts.ts'

export type ToolInstructions = Partial<Readonly<Record<PromptNode, string>>>

/** A tool with instructions for the prompts of some nodes. */
export type InstructedTool = Tool & { readonly instructions: ToolInstructions }

/**
 * The same tool; the named nodes' prompts contain the instructions.
 *
 * @example
 * withInstructions(search, { planner: 'Plan at most three searches.', verifier: 'Check that each claim was searched.' })
 */
export function withInstructions(tool: Tool, instructions: ToolInstructions): InstructedTool {
  for (const [node, text] of Object.entries(instructions))
    if (!(PROMPT_NODES as readonly string[]).includes(node) || typeof text !== 'string')
      throw new HoldfastError('invalid-option', {
        message: `Instructions of ${tool.name} for ${quote(node)}: give a text for planner, agent, verifier or replan.`,
      })
  return Object.freeze({ ...tool, instructions: { ...instructionsOf(tool), ...instructions } })
}

/** The part of a node's prompt that its tools bring: the tools by name for planners, then the instructions. */
export function instructionsFor(node: PromptNode, tools: readonly Tool[]): string {
  const given = tools.flatMap((tool) => {
    const text = instructionsOf(tool)[node]?.trim()
    return text ? [`- ${tool.name}: ${text}`] : []
  })
  // The node `agent` gets the tools themselves, with their descriptions.
  const names = node === 'planner' || node === 'replan' ? tools.map(listed) : []
  const parts = [
    ...(names.length === 0 ? [] : [`# Tools\n${names.join('\n')}`]),
    ...(given.length === 0 ? [] : [`# Instructions for tools\n${given.join('\n')}`]),
  ]
  return parts.join('\n\n')
}

function instructionsOf(tool: Tool): ToolInstructions {
  return (tool as Partial<InstructedTool>).instructions ?? {}
}

function listed({ name, description }: Tool): string {
  const [first = ''] = description.split(/(?<=[.!?])\s/)
  return `- ${name}: ${first}`
}
