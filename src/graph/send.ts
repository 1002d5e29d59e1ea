/** Runs a node with an input of its own: one task per item, side by side. */
import type { Json } from '../protocol/index.ts'

export class Send<Name extends string = string> {
  readonly node: Name
  readonly input: Json

  /** `input` arrives in the node's `context.input`. */
  constructor(node: Name, input: Json) {
    this.node = node
    this.input = input
  }
}
