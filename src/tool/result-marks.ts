/** The symbols that mark the special return values of a tool. No external data can carry them. */
export const RESULT: unique symbol = Symbol.for('holdfast.tool-result')
export const ASK: unique symbol = Symbol.for('holdfast.ask')
export const USED: unique symbol = Symbol.for('holdfast.ask.usage')
