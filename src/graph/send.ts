/** Runs a node with an input of its own: one for each thing that is to be done side by side. */
import type { Json } from '../protocol/index.ts'

export class Send<Name extends string = string> {
  readonly node: Name
  readonly input: Json

  /** `input` is found in `context.input` of the node. */
  constructor(node: Name, input: Json) {
    this.node = node
    this.input = input
  }
}
