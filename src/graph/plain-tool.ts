/** Code that runs under the rules of tools and that no model sees: a node, an effect. */
import { jsonSchema, type Tool } from '../tool/index.ts'

const ANYTHING = jsonSchema({ type: 'object' })

type Plain = Pick<Tool, '~kind' | 'name' | 'replay' | 'timeoutMs' | 'verify' | 'run'> &
  Partial<Pick<Tool, 'maxResultBytes'>>

export function plainTool(tool: Plain): Tool {
  return {
    maxResultBytes: Number.POSITIVE_INFINITY,
    ...tool,
    description: tool.name,
    parameters: {},
    input: ANYTHING,
    exclusive: false,
    approve: 'never',
  }
}
