/** Runs a node with an input of its own: one task per item, side by side. */
import type { Json } from '../protocol/index.ts'

export class Send<Name extends string = string, Input = Json> {
  readonly node: Name
  readonly input: Input

  /** `input` arrives in the node's `context.input`, checked by the node's schema if it has one. It must be JSON. */
  constructor(node: Name, input: Input) {
    this.node = node
    this.input = input
  }
}
