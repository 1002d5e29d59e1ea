/** What is run under the rules of tools without being one that a model knows: a node, an effect. */
import { jsonSchema, type Tool } from '../tool/index.ts'

const ANYTHING = jsonSchema({ type: 'object' })

export function plainTool(tool: Pick<Tool, 'name' | 'replay' | 'timeoutMs' | 'verify' | 'run'>): Tool {
  return {
    ...tool,
    description: tool.name,
    parameters: {},
    input: ANYTHING,
    exclusive: false,
    maxResultBytes: Number.POSITIVE_INFINITY,
    approve: 'never',
  }
}
